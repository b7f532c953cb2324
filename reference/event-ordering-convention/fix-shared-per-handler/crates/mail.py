"""Mails to customers."""

from typing import Any

from crates.repeats import first_time, forget


class MailHandler:
    def __init__(self, mailer: Any) -> None:
        self._mailer = mailer

    def __call__(self, event: dict[str, Any]) -> None:
        if not first_time(event, "mail"):
            return
        try:
            self._mailer.send(
                event["email"],
                "Your vegetables are on their way",
                f"Crate {event['crate']} was packed for you today.",
            )
        except Exception:
            forget(event, "mail")
            raise
