"""A payment that is asked for again moves no more money: we remember receipts."""

import threading
from collections.abc import Callable

_turn = threading.Lock()
_receipts: dict[tuple[str, str], dict] = {}


def once(kind: str, request_id: str, pay: Callable[[], dict]) -> dict:
    """Return the receipt of a payment, which is made if there is none yet."""
    with _turn:
        if (kind, request_id) not in _receipts:
            _receipts[kind, request_id] = pay()
        return _receipts[kind, request_id]
