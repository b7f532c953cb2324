"""What is left after a restart."""

import os
import signal
import socket
import subprocess
import sys
import time
from unittest import mock

from tests.support import ServiceCase


class RestartTest(ServiceCase):
    def test_links_survive(self) -> None:
        kept, deleted = self.create("https://example.com/?q=1"), self.create()
        self.assertEqual(204, self.send("DELETE", f"/links/{deleted}").status)
        self.start()
        reply = self.send("GET", f"/{kept}")
        self.assertEqual(302, reply.status)
        self.assertEqual("https://example.com/?q=1", reply.headers["Location"])
        self.assertEqual(404, self.send("GET", f"/{deleted}").status)

    def test_expiry_survives(self) -> None:
        early, late = self.create(ttl_seconds=10), self.create(ttl_seconds=20)
        self.now_s += 10
        self.start()
        self.assertEqual(410, self.send("GET", f"/{early}").status)
        self.assertEqual(302, self.send("GET", f"/{late}").status)
        self.now_s += 10
        self.assertEqual(410, self.send("GET", f"/{late}").status)

    def test_a_deletion_of_nothing_writes_nothing(self) -> None:
        self.assertEqual(404, self.send("DELETE", "/links/nothing").status)
        self.assertFalse(self.file.exists())

    def test_a_damaged_file_is_kept_aside(self) -> None:
        for damaged in (b"no JSON", b"\xff\xfe", b"{}", b"[1]", b'[{"a": 1}]', b"[" * 9999):
            with self.subTest(damaged=damaged[:20]):
                self.file.write_bytes(damaged)
                before = set(self.file.parent.iterdir())
                with self.assertLogs("hop.store", "ERROR"):
                    self.start()
                code = self.create()
                [aside] = set(self.file.parent.iterdir()) - before
                self.assertEqual(damaged, aside.read_bytes())
                self.assertTrue(aside.name.startswith(self.file.name))
                self.start()
                self.assertEqual(302, self.send("GET", f"/{code}").status)

    def test_a_write_that_fails_loses_nothing(self) -> None:
        code = self.create()
        with (
            mock.patch("os.replace", side_effect=OSError("no space")),
            self.assertLogs("hop.routes", "ERROR"),
        ):
            reply = self.send("POST", "/links", {"url": "http://example.com"})
            self.assert_refused(500, "internal", reply)
            reply = self.send("DELETE", f"/links/{code}")
            self.assert_refused(500, "internal", reply)
        self.assertEqual(302, self.send("GET", f"/{code}").status)
        self.start()
        self.assertEqual(302, self.send("GET", f"/{code}").status)


class ProcessTest(ServiceCase):
    def test_links_survive_a_kill(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.server.server_port = port
        self.run_service(port)
        code = self.create()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.run_service(port)
        self.assertEqual(302, self.send("GET", f"/{code}").status)

    def run_service(self, port: int) -> None:
        env = {**os.environ, "PORT": str(port), "DATA_FILE": str(self.file)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hop"], env=env, stderr=subprocess.DEVNULL
        )
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.01)
        self.fail("the service did not start")
