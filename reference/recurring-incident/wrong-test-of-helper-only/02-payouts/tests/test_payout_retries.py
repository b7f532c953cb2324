import unittest

from payments import gateway, ledger
from payments.once import once
from tests.support import PaymentsCase


class PayoutRetries(PaymentsCase):
    def test_once_pays_once(self) -> None:
        def pay() -> dict:
            transfer = gateway.send("payout", "p-1", 500, "again-1")
            return ledger.append("payout", "p-1", 500, "again-1", transfer)

        first = once("payout", "again-1", pay)
        self.assertEqual(once("payout", "again-1", pay), first)
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
