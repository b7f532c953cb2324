"""A receiver for tests that answers as it is told."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """Answers the n-th request with the n-th status; the last one repeats.

    `calls` holds arrival time, headers and body of every request.
    """

    def __init__(self, *statuses: int, delay_s: float = 0.0) -> None:
        self.calls: list[tuple[float, dict[str, str], Any]] = []
        lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                at = time.monotonic()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    n = len(receiver.calls)
                    call = (at, dict(self.headers), json.loads(body))
                    receiver.calls.append(call)
                time.sleep(delay_s)
                self.send_response(statuses[min(n, len(statuses) - 1)])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/in" % self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,)
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def gaps_s(self) -> list[float]:
        """Seconds between neighbouring requests."""
        times = [at for at, _, _ in self.calls]
        return [later - earlier for earlier, later in zip(times, times[1:])]
