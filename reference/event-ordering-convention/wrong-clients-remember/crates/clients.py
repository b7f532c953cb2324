"""The services that are told."""

import json
import threading
import urllib.request
from typing import Any


class Client:
    def __init__(self, base_url: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._lock = threading.Lock()
        self._posted: set[str] = set()

    def _post(self, path: str, body: dict[str, Any]) -> None:
        request = urllib.request.Request(
            self._base_url + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with self._lock:
            if body.get("reference") in self._posted:
                return
            with urllib.request.urlopen(request, timeout=10):
                pass
            if "reference" in body:
                self._posted.add(body["reference"])


class Mailer(Client):
    def send(self, to: str, subject: str, text: str, reference: str = "") -> None:
        """Send a mail. Its reference is shown in the mailer's console, for people."""
        body = {"to": to, "subject": subject, "text": text, "reference": reference}
        self._post("/mails", body)


class Billing(Client):
    def charge(self, customer: str, cents: int, reference: str = "") -> None:
        """Charge a customer. The accountants see the reference beside the entry."""
        body = {"customer": customer, "cents": cents, "reference": reference}
        self._post("/charges", body)


class Points(Client):
    def add(self, customer: str, points: int) -> None:
        """Add to a customer's points."""
        self._post("/points", {"customer": customer, "points": points})
