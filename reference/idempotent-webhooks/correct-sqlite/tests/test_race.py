"""Bursts of deliveries against a service in a process of its own."""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

from devtools.acquirer import StandIn

ROOT = Path(__file__).resolve().parent.parent


class Burst(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.acquirer = StandIn()
        threading.Thread(target=self.acquirer.serve_forever, args=(0.02,)).start()
        self.addCleanup(self.acquirer.server_close)
        self.addCleanup(self.acquirer.shutdown)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        env = {
            **os.environ,
            "PORT": str(self.port),
            "DATA_FILE": str(Path(folder.name, "data")),
            "ACQUIRER_URL": self.acquirer.url,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "payhook"],
            cwd=ROOT,
            env=env,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.02)

    def post(self, path: str, body: object) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", path, json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def test_a_burst_of_one_delivery(self) -> None:
        self.post("/orders", {"order_id": "B", "amount_cents": 1})
        delivery = {"delivery_id": "evt", "order_id": "B", "amount_cents": 1}
        seen: list[str] = []
        threads = [
            threading.Thread(
                target=lambda: seen.append(self.post("/deliveries", delivery)["status"])
            )
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({"processed": 1, "duplicate": 19}, Counter(seen))
        self.assertEqual(1, len(self.acquirer.captures))


if __name__ == "__main__":
    unittest.main()
