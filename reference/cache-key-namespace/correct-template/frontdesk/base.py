"""What all services of the desk have in common."""

from typing import Any, ClassVar


class RecordService:
    """Reads records through the shared cache and writes changes through it."""

    name: ClassVar[str]

    def __init__(self, records, cache):
        self._records = records
        self._cache = cache

    def _key(self, user_id: int) -> str:
        return ":".join(("svc", self.name, str(user_id)))

    def get(self, user_id: int) -> dict[str, Any]:
        known = self._cache.get(self._key(user_id))
        return self._stored(user_id) if known is None else known

    def _stored(self, user_id: int) -> dict[str, Any]:
        record = self._records.read(user_id)
        self._cache.set(self._key(user_id), record)
        return record

    def _store(self, user_id: int, **changes: Any) -> None:
        record = self._records.read(user_id) | changes
        self._records.write(user_id, record)
        self._cache.set(self._key(user_id), record)
