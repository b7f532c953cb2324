"""The ledger: `ledger.jsonl` in the data directory. Copied in from reporting.

Lines are added at the end and never changed.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def path() -> Path:
    """Where the ledger is."""
    return Path(os.environ.get("PAYMENTS_DATA", "data")) / "ledger.jsonl"


def append(kind: str, party: str, cents: int, request_id: str, transfer: str) -> dict:
    """Enter a payment that the bank has made, and return its entry."""
    entry = {
        "transfer": transfer,
        "kind": kind,
        "party": party,
        "cents": cents,
        "request_id": request_id,
    }
    path().parent.mkdir(parents=True, exist_ok=True)
    with path().open("ab", buffering=0) as file:
        file.write(json.dumps(entry).encode() + b"\n")
        os.fsync(file.fileno())
    return entry


def entries() -> Iterator[dict]:
    """All entries, oldest first."""
    if path().exists():
        with path().open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)


def once(kind: str, request_id: str, pay: Callable[[], dict]) -> dict:
    """Return the receipt of a payment, which is made if there is none yet."""
    with _turn(f"{kind} {request_id}"):
        for entry in entries():
            if entry["kind"] == kind and entry["request_id"] == request_id:
                return entry
        return pay()


@contextmanager
def _turn(key: str) -> Iterator[None]:
    folder = path().parent / "turns"
    os.makedirs(folder, exist_ok=True)
    with (folder / hashlib.sha256(key.encode()).hexdigest()[:2]).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
