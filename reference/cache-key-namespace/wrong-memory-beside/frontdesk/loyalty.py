"""What a customer has collected."""


class LoyaltyService:
    name = "loyalty"

    def __init__(self, records, cache):
        self._records = records
        self._cache = cache
        self._known = {}  # spares the file for who is asked for again and again

    def get(self, user_id):
        if user_id in self._known:
            return self._known[user_id]
        record = self._cache.get(f"svc:{self.name}:{user_id}")
        if record is None:
            record = self._records.read(user_id)
            self._cache.set(f"svc:{self.name}:{user_id}", record)
        self._known[user_id] = record
        return record

    def add(self, user_id, points):
        """Add points, or take some where `points` is negative."""
        record = self._records.read(user_id)
        self._records.write(user_id, {"points": record["points"] + points})
        self._known.pop(user_id, None)
        self._cache.delete(f"svc:{self.name}:{user_id}")
