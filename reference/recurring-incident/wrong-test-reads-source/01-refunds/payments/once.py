"""A payment that is asked for again moves no more money.

The ledger says what was paid. Between a look at it and its new entry lies the call to
the bank, so that whoever asks for a payment has its turn alone: among threads and
processes, by a lock on a file in the data directory. Requests share 256 such files.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from payments import ledger


def once(kind: str, request_id: str, pay: Callable[[], dict]) -> dict:
    """Return the receipt of a payment, which is made if there is none yet."""
    with _turn(f"{kind} {request_id}"):
        for entry in ledger.entries():
            if entry["kind"] == kind and entry["request_id"] == request_id:
                return entry
        return pay()


@contextmanager
def _turn(key: str) -> Iterator[None]:
    folder = ledger.path().parent / "turns"
    os.makedirs(folder, exist_ok=True)
    with (folder / hashlib.sha256(key.encode()).hexdigest()[:2]).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
