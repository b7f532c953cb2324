import unittest

from payments.payouts import payout
from payments.refunds import refund
from tests.support import PaymentsCase


class PayoutRetries(PaymentsCase):
    def test_a_retry_gets_the_receipt(self) -> None:
        first = payout("m-1", 7000, "run-1")
        self.assertEqual(payout("m-1", 7000, "run-1"), first)
        self.assertEqual(len(self.transfers()), 1)

    def test_a_refund_may_have_the_same_request_id(self) -> None:
        payout("m-1", 7000, "7")
        refund("o-1", 7000, "7")
        self.assertEqual(len(self.transfers()), 2)


if __name__ == "__main__":
    unittest.main()
