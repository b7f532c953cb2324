"""Charges for crates."""

from crates.handler import Handler


class BillingHandler(Handler):
    __slots__ = ()

    def tell(self, event, reference):
        self.service.charge(event["customer"], event["cents"], reference)
