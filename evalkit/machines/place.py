"""What a worker of another machine does: look whether all is as registered, and carry out.

Runs in that machine's own process. Its credential comes from its own environment; what
is shipped holds none.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from distributed import get_worker

from evalkit import files, process, sandbox
from evalkit.agents import reach
from evalkit.errors import (
    DriftError,
    EvalkitError,
    InfrastructureError,
    StoppedEarlyError,
)
from evalkit.evidence import MAX_BYTES, Evidence
from evalkit.gateway.notes import FILE as NOTES
from evalkit.gateway.recording import FOLDER as RECORDINGS
from evalkit.inputs import Inputs, open_registered
from evalkit.ledger import open_ledger
from evalkit.machines import bundle as bundles
from evalkit.machines.terms import (
    Answers,
    Carried,
    Fault,
    Missing,
    Order,
    Ready,
    Refused,
    encode,
    read_order,
)
from evalkit.registration import check_drift
from evalkit.trial import run_trial

END_AGAIN_S = 0.1
FAULTS = {
    DriftError: Fault.DRIFT,
    InfrastructureError: Fault.INFRASTRUCTURE,
    StoppedEarlyError: Fault.STOPPED,
}


_laid_out: dict[str, bundles.Bundle] = {}
_opened: dict[str, Inputs] = {}
_under_way: Counter[str] = Counter()
_lock = threading.Lock()


def install(packed: bytes) -> None:
    """Lay a bundle out, where it is not yet."""
    digest = files.sha256(packed)
    with _lock:
        if digest not in _laid_out:
            bundle = bundles.unpack(packed)
            bundles.lay_out(bundle, _root_of(digest))
            _laid_out[digest] = bundle


def examine(digest: str) -> bytes:
    """Whether all is here as registered, and a credential where one is needed."""
    return encode(_told(lambda: _examined(digest)))


def carry(data: bytes, worker: str) -> bytes:
    """Carry out an order, on the worker that it was given to and no other.

    Args:
        data: The order's bytes.
        worker: The worker's own id, which no later one has, at the same address even.
    """
    if get_worker().id != worker:
        return encode(Refused(Fault.STOPPED, "another worker has taken its place"))
    order = read_order(data)
    return encode(_told(lambda: _carried(order)))


def stop(run: str) -> None:
    """End what is under way for a run, now and until there is none."""

    def end() -> None:
        while _under_way[run]:
            process.end_all()
            time.sleep(END_AGAIN_S)

    threading.Thread(target=end, daemon=True).start()


def _told(work: Callable[[], Answers]) -> Answers:
    try:
        return work()
    except EvalkitError as error:
        found = (fault for kind, fault in FAULTS.items() if isinstance(error, kind))
        return Refused(next(found, Fault.OTHER), str(error))


def _examined(digest: str) -> Answers:
    inputs = _open(digest)
    if inputs is None:
        return Missing()
    if inputs.agent.vendor is not None:
        reach.find_credential(inputs.plan, inputs.agent.vendor)
    return Ready(get_worker().id)


def _carried(order: Order) -> Answers:
    inputs = _open(order.bundle)
    if inputs is None:
        return Missing()
    with _counted(order.run), files.private_folder() as run:
        return _in_folder(order, inputs, run)


@contextmanager
def _counted(run: str) -> Generator[None]:
    """Have `stop` know that something is under way."""
    with _lock:
        _under_way[run] += 1
    try:
        yield
    finally:
        with _lock:
            _under_way[run] -= 1


def _in_folder(order: Order, inputs: Inputs, run: Path) -> Carried:
    """Carry out an order in a folder of its own, with a gateway of its own."""
    spec = msgspec.structs.replace(order.spec, root=str(inputs.root), run=str(run))
    with open_ledger(
        inputs.plan,
        inputs.agent,
        run,
        sandboxed=inputs.box.isolation.level != sandbox.NONE,
        at_once=order.at_once,
    ) as ledger:
        run_trial(spec, inputs, ledger)
    notes, recordings = run / NOTES, run / RECORDINGS
    evidence = Evidence(run, spec.key, spec.attempt).pack()
    return Carried(
        evidence,
        files.sha256(evidence),
        notes.read_bytes() if notes.is_file() else b"",
        files.pack(files.read_tree(recordings, max_bytes=MAX_BYTES))
        if recordings.is_dir()
        else b"",
    )


def _open(digest: str) -> Inputs | None:
    """What was laid out: opened, and held against its registration where touched.

    Raises:
        DriftError: Something here is not as registered.
    """
    root = _root_of(digest)
    with _lock:
        if digest not in _laid_out or not root.is_dir():
            _laid_out.pop(digest, None)
            return None
        inputs = _opened.get(digest)
        if inputs is None or inputs.touched():
            bundle = _laid_out[digest]
            sealed = bundle.registration
            inputs = open_registered(sealed, root, libraries=bundle.libraries)
            check_drift(sealed, inputs.describe(sealed.created_at))
            _opened[digest] = inputs
        return inputs


def _root_of(digest: str) -> Path:
    return Path(get_worker().local_directory) / f"evalkit-{digest[:16]}"
