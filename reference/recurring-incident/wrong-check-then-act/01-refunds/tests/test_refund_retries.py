import os
import subprocess
import sys
import unittest
from unittest import mock

from payments import ledger
from payments.gateway import Declined
from payments.refunds import refund
from tests.support import PaymentsCase


class RefundRetries(PaymentsCase):
    def test_a_retry_gets_the_receipt(self) -> None:
        first = refund("o-1", 700, "again-1")
        self.assertEqual(refund("o-1", 700, "again-1"), first)
        self.assertEqual(len(self.transfers()), 1)
        self.assertEqual(list(ledger.entries()), [first])

    def test_a_retry_after_a_restart_gets_the_receipt(self) -> None:
        command = [sys.executable, "-m", "payments", "refund", "o-1", "700", "again-2"]
        subprocess.run(command, check=True, capture_output=True)
        refund("o-1", 700, "again-2")
        self.assertEqual(len(self.transfers()), 1)

    def test_a_declined_refund_can_be_tried_again(self) -> None:
        with (
            mock.patch.dict(os.environ, {"BANK_LIMIT_CENTS": "1"}),
            self.assertRaises(Declined),
        ):
            refund("o-1", 700, "again-4")
        refund("o-1", 700, "again-4")
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
