"""INC-241: the settlement run was started twice."""

import os
import unittest
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

from payments.payouts import payout
from tests.support import PaymentsCase


class Inc241(PaymentsCase):
    def test_two_runs_at_once(self) -> None:
        with (
            mock.patch.dict(os.environ, {"BANK_LATENCY_MS": "100"}),
            ProcessPoolExecutor(2) as runs,
        ):
            asked = [runs.submit(payout, "m-241", 5000, "2026-11/m") for _ in range(4)]
        self.assertEqual(len({run.result()["transfer"] for run in asked}), 1)
        self.assertEqual(len(self.transfers()), 1)


if __name__ == "__main__":
    unittest.main()
