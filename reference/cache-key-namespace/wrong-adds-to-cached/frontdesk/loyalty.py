"""What a customer has collected."""


class LoyaltyService:
    name = "loyalty"

    def __init__(self, records, cache):
        self._records = records
        self._cache = cache

    def get(self, user_id):
        record = self._cache.get(f"svc:{self.name}:{user_id}")
        if record is None:
            record = self._records.read(user_id)
            self._cache.set(f"svc:{self.name}:{user_id}", record)
        return record

    def add(self, user_id, points):
        """Add points, or take some where `points` is negative."""
        record = self.get(user_id)
        self._records.write(user_id, {"points": record["points"] + points})
        self._cache.delete(f"svc:{self.name}:{user_id}")
