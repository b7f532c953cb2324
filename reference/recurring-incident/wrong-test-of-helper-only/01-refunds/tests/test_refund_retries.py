import unittest

from payments import gateway, ledger
from payments.once import once
from tests.support import PaymentsCase


class RefundRetries(PaymentsCase):
    def test_once_pays_once(self) -> None:
        def pay() -> dict:
            transfer = gateway.send("refund", "p-1", 500, "again-1")
            return ledger.append("refund", "p-1", 500, "again-1", transfer)

        first = once("refund", "again-1", pay)
        self.assertEqual(once("refund", "again-1", pay), first)
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
