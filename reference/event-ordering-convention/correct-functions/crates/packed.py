"""What happens when a crate was packed."""

from collections.abc import Callable
from typing import Any

Event = dict[str, Any]


def reference(event: Event) -> str:
    """What the services know an event by."""
    return f"crates/{event['kind']}/{event['id']}"


def charge(billing: Any, event: Event) -> None:
    """Charge a crate."""
    billing.charge(cents=event["cents"], customer=event["customer"], reference=reference(event))


def announcer(mailer: Any) -> Callable[[Event], None]:
    """A handler that mails."""

    def announce(event: Event) -> None:
        text = f"Crate {event['crate']} was packed for you today."
        mailer.send(event["email"], "Your vegetables are on their way", text, reference=reference(event))

    return announce
