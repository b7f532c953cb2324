"""What a customer owes."""


class BillingService:
    name = "billing"

    def __init__(self, records, cache):
        self._records = records
        self._cache = cache

    def get(self, user_id):
        cached = self._cache.get(f"svc:{self.name}:{user_id}")
        if cached is not None:
            return cached
        state = self._records.read(user_id)
        self._cache.set(f"svc:{self.name}:{user_id}", state)
        return state

    def settle(self, user_id):
        """The customer has paid all that was open."""
        state = self._records.read(user_id)
        self._records.write(user_id, {**state, "balance_cents": 0})
        self._cache.delete(f"svc:{self.name}:{user_id}")
