"""Mails to customers."""

from typing import Any


class MailHandler:
    def __init__(self, mailer: Any) -> None:
        self._mailer = mailer

    def __call__(self, event: dict[str, Any]) -> None:
        self._mailer.send(
            event["email"],
            "Your vegetables are on their way",
            f"Crate {event['crate']} was packed for you today.",
            event["id"],
        )
