"""Claims: a payment is made by whoever creates the file of its request."""

import hashlib
import json
import os
import time
from pathlib import Path

from payments import gateway, ledger

POLL_S = 0.01


def pay_once(kind: str, party: str, cents: int, request_id: str) -> dict:
    """Pay a request, or wait for the receipt of who is paying it."""
    folder = ledger.path().parent / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(json.dumps([kind, request_id]).encode()).hexdigest()
    claim, receipt = folder / name, folder / f"{name}.receipt"
    while True:
        try:
            with claim.open("x"):
                pass
        except FileExistsError:
            found = _receipt_of(claim, receipt)
            if found is not None:
                return found
        else:
            return _pay(claim, receipt, kind, party, cents, request_id)


def _receipt_of(claim: Path, receipt: Path) -> dict | None:
    """The receipt once it is there; None where the one who claimed it has failed."""
    while claim.exists():
        if receipt.exists():
            return json.loads(receipt.read_text())
        time.sleep(POLL_S)
    return None


def _pay(
    claim: Path, receipt: Path, kind: str, party: str, cents: int, request_id: str
) -> dict:
    try:
        transfer = gateway.send(kind, party, cents, request_id)
    except gateway.Declined:
        claim.unlink()
        raise
    entry = ledger.append(kind, party, cents, request_id, transfer)
    draft = receipt.with_suffix(".draft")
    draft.write_text(json.dumps(entry))
    os.replace(draft, receipt)
    return entry
