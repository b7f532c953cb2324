"""Mails to customers."""

from typing import Any


class MailHandler:
    def __init__(self, mailer: Any) -> None:
        self._mailer = mailer
        self._done: set[str] = set()

    def __call__(self, event: dict[str, Any]) -> None:
        if event["id"] not in self._done:
            self._mailer.send(
                event["email"],
                "Your vegetables are on their way",
                f"Crate {event['crate']} was packed for you today.",
            )
            self._done.add(event["id"])
