"""Delivery as the README describes it."""

import time
import unittest
from typing import Any

from tests.receiver import Receiver
from tests.support import ServerCase


class DeliveryTest(ServerCase):
    def receiver(self, *statuses: int, delay_s: float = 0.0) -> Receiver:
        receiver = Receiver(*statuses, delay_s=delay_s)
        self.addCleanup(receiver.close)
        return receiver

    def post(self, url: str, payload: Any = None) -> str:
        status, body = self.request("POST", "/hooks", {"url": url, "payload": payload})
        self.assertEqual(202, status)
        return body["id"]

    def settled(self, hook_id: str, within_s: float = 10.0) -> dict[str, Any]:
        """The hook once it is no longer pending."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            _, hook = self.request("GET", f"/hooks/{hook_id}")
            if hook["status"] != "pending":
                return hook
            time.sleep(0.01)
        self.fail(f"still pending after {within_s} s: {hook}")

    def test_the_payload_is_posted_as_json(self) -> None:
        receiver = self.receiver(200)
        payload = {"order": 17, "note": "gr\u00fcn", "items": [1, None]}
        hook = self.settled(self.post(receiver.url, payload))
        self.assertEqual(("delivered", 1), (hook["status"], hook["attempts"]))
        self.assertIsNone(hook["last_error"])
        [(_, headers, body)] = receiver.calls
        self.assertEqual(payload, body)
        self.assertEqual("application/json", headers["Content-Type"])

    def test_any_2xx_is_a_success(self) -> None:
        for status in (201, 202, 204):
            with self.subTest(status=status):
                receiver = self.receiver(status)
                hook = self.settled(self.post(receiver.url))
                self.assertEqual("delivered", hook["status"])
                self.assertEqual(1, len(receiver.calls))

    def test_failures_of_any_kind_are_tried_again(self) -> None:
        receiver = self.receiver(404, 500, 429, 200)
        hook = self.settled(self.post(receiver.url))
        self.assertEqual(("delivered", 4), (hook["status"], hook["attempts"]))
        self.assertEqual(4, len(receiver.calls))
        self.assertIn("429", hook["last_error"])

    def test_a_hook_is_dead_after_five_attempts_with_doubling_gaps(self) -> None:
        receiver = self.receiver(503)
        hook = self.settled(self.post(receiver.url))
        self.assertEqual(("dead", 5), (hook["status"], hook["attempts"]))
        self.assertIn("503", hook["last_error"])
        self.assertEqual(5, len(receiver.calls))
        for wanted, gap in zip((0.1, 0.2, 0.4, 0.8), receiver.gaps_s(), strict=True):
            self.assertGreaterEqual(gap, wanted)

    def test_a_refused_connection_is_a_failed_attempt(self) -> None:
        hook = self.settled(self.post("http://127.0.0.1:9/in"))
        self.assertEqual(("dead", 5), (hook["status"], hook["attempts"]))
        self.assertTrue(hook["last_error"])

    def test_an_attempt_without_a_reply_in_time_has_failed(self) -> None:
        receiver = self.receiver(200, delay_s=2.5)
        hook_id = self.post(receiver.url)
        deadline = time.monotonic() + 10
        while not (hook := self.request("GET", f"/hooks/{hook_id}")[1])["attempts"]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(("pending", 1), (hook["status"], hook["attempts"]))
        self.assertTrue(hook["last_error"])

    def test_slow_and_failing_receivers_hold_up_nobody(self) -> None:
        failing = self.receiver(500)
        slow = self.receiver(200, delay_s=1.0)
        dead = self.post(failing.url)
        hooks = [self.post(slow.url, n) for n in range(16)]
        for hook_id in hooks:
            self.assertEqual("delivered", self.settled(hook_id)["status"])
        self.assertEqual("dead", self.settled(dead)["status"])
        self.assertCountEqual(range(16), [body for _, _, body in slow.calls])
        times = [at for at, _, _ in slow.calls]
        self.assertLess(max(times) - min(times), 1.0)


if __name__ == "__main__":
    unittest.main()
