"""What a customer owes."""

from frontdesk.base import RecordService


class BillingService(RecordService):
    name = "billing"

    def settle(self, user_id):
        """The customer has paid all that was open."""
        self._store(user_id, balance_cents=0)
