import unittest

from payments.once import AlreadyPaid
from payments.refunds import refund
from tests.support import PaymentsCase


class RefundRetries(PaymentsCase):
    def test_a_retry_pays_nothing(self) -> None:
        refund("o-1", 700, "again-1")
        try:
            refund("o-1", 700, "again-1")
        except AlreadyPaid:
            pass
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
