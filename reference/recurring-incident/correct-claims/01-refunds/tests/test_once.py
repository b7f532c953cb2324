import unittest

from payments.payouts import payout
from payments.refunds import refund
from tests.support import PaymentsCase


class Once(PaymentsCase):
    def test_a_retry_pays_nothing(self) -> None:
        for pay in (refund, payout):
            with self.subTest(pay=pay.__name__):
                self.assertEqual(pay("p-1", 900, "x"), pay("p-1", 900, "x"))
        self.assertEqual(len(self.transfers()), 2)


if __name__ == "__main__":
    unittest.main()
