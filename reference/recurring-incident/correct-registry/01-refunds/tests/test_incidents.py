"""One test for every incident that must not come back."""

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from unittest import mock

from payments.refunds import refund
from tests.support import PaymentsCase


class Inc227(PaymentsCase):
    """Refunds were paid once more after workers had been restarted."""

    def test_worker_restarted(self) -> None:
        receipts = []
        for _ in range(2):
            with ProcessPoolExecutor(1) as worker:
                asked = worker.submit(refund, "o-227", 1999, "job/227")
                receipts.append(asked.result())
        self.assertEqual(receipts[0], receipts[1])
        self.assertEqual(len(self.transfers()), 1)

    def test_retry_overtakes(self) -> None:
        with (
            mock.patch.dict(os.environ, {"BANK_LATENCY_MS": "50"}),
            ThreadPoolExecutor(4) as worker,
        ):
            asked = [worker.submit(refund, "o-227", 1999, "job/228") for _ in range(4)]
        self.assertEqual(len({job.result()["transfer"] for job in asked}), 1)
        self.assertEqual(len(self.transfers()), 1)

    def test_equal_refunds_that_are_both_meant(self) -> None:
        refund("o-227", 1999, "job/229")
        refund("o-227", 1999, "job/230")
        self.assertEqual(len(self.transfers()), 2)
