import os
import subprocess
import sys
import unittest
from unittest import mock

from payments.payouts import payout
from payments.refunds import refund
from tests.support import PaymentsCase


class PayoutRetries(PaymentsCase):
    def test_a_retry_gets_the_receipt(self) -> None:
        first = payout("m-1", 7000, "run-1")
        self.assertEqual(payout("m-1", 7000, "run-1"), first)
        self.assertEqual(len(self.transfers()), 1)

    def test_two_runs_at_the_same_time_pay_once(self) -> None:
        command = [sys.executable, "-m", "payments", "payout", "m-1", "7000", "run-2"]
        with mock.patch.dict(os.environ, {"BANK_LATENCY_MS": "200"}):
            runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in "123"]
        self.assertEqual([run.wait() for run in runs], [0, 0, 0])
        self.assertEqual(len(self.transfers()), 1)

    def test_a_refund_may_have_the_same_request_id(self) -> None:
        payout("m-1", 7000, "7")
        refund("o-1", 7000, "7")
        self.assertEqual(len(self.transfers()), 2)


if __name__ == "__main__":
    unittest.main()
