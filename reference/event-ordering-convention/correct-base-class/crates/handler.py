"""A handler that tells one service."""

import hashlib
import logging
from typing import Any

log = logging.getLogger(__name__)


class Handler:
    __slots__ = ("service",)

    def __init__(self, service: Any) -> None:
        self.service = service

    def __call__(self, event: dict[str, Any]) -> None:
        digest = hashlib.sha256(event["id"].encode()).hexdigest()
        log.debug("%s for %s", type(self).__name__, event["id"])
        try:
            self.tell(event, digest)
        except Exception:
            log.warning("%s failed for %s", type(self).__name__, event["id"])
            raise

    def tell(self, event: dict[str, Any], reference: str) -> None:
        raise NotImplementedError
