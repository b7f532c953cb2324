import unittest

from payments.once import AlreadyPaid
from payments.payouts import payout
from tests.support import PaymentsCase


class PayoutRetries(PaymentsCase):
    def test_a_retry_pays_nothing(self) -> None:
        payout("m-1", 700, "again-1")
        try:
            payout("m-1", 700, "again-1")
        except AlreadyPaid:
            pass
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
