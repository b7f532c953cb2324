"""What a customer has collected."""

from frontdesk.base import RecordService


class LoyaltyService(RecordService):
    name = "loyalty"

    def add(self, user_id, points):
        """Add points, or take some where `points` is negative."""
        self._store(user_id, points=self._stored(user_id)["points"] + points)
