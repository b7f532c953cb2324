"""Mails to customers."""

from typing import Any

from crates.repeats import Repeats


class MailHandler:
    def __init__(self, mailer: Any) -> None:
        self._mailer = mailer
        self._repeats = Repeats(set())

    def __call__(self, event: dict[str, Any]) -> None:
        if not self._repeats.known(event):
            self._mailer.send(
                event["email"],
                "Your vegetables are on their way",
                f"Crate {event['crate']} was packed for you today.",
            )
            self._repeats.keep(event)
