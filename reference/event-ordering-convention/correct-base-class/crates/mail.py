"""Mails to customers."""

from crates.handler import Handler


class MailHandler(Handler):
    __slots__ = ()

    def tell(self, event, reference):
        self.service.send(
            event["email"],
            "Your vegetables are on their way",
            f"Crate {event['crate']} was packed for you today.",
            reference,
        )
