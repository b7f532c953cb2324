"""Registrations: sealed by a digest, written once, compared before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evalkit import files
from evalkit.errors import DriftError, InputError
from evalkit.files import disk
from evalkit.records import Layout, Registration

FILE = "registration.json"
READING_MODULES = frozenset(
    {
        "analysis",
        "audit",
        "auditing",
        "calibration",
        "cli",
        "conclusions",
        "console",
        "differences",
        "doctor",
        "dossier",
        "estimate",
        "explore",
        "export",
        "facts",
        "foresight",
        "frames",
        "gates",
        "loading",
        "markup",
        "notebook",
        "outlines",
        "paged",
        "parameters",
        "plots",
        "preflight",
        "probed",
        "probes",
        "probing",
        "progress",
        "publish",
        "readiness",
        "recall",
        "regrade",
        "replay",
        "replication",
        "sanitise",
        "scaffold",
        "stats",
        "tables",
        "wording",
    }
)
"""Modules that read finished runs: their change is a deviation, not drift."""
ADDED = {
    "gate": None,
    "plan.confirmatory": None,
    "plan.design": Layout.BLOCKS.value,
    "plan.gate_rule": None,
    "plan.gate_run": None,
    "plan.replay_run": None,
    "replay": None,
    "plan.max_requests_at_once": None,
}
"""Fields that came after the first registrations were sealed, and what they hold
where nothing was said."""
MUST_NOT_MOVE = (
    "corpus_digest",
    "cases",
    "arms",
    "agent",
    "rates_digest",
    "isolation.level",
    "outcomes",
    "candidates",
    "run_source",
)


def seal(registration: Registration) -> Registration:
    """The registration with the digest of everything else in it."""
    return msgspec.structs.replace(registration, digest=own_digest(registration))


def own_digest(registration: Registration) -> str:
    """sha256 over the canonical bytes of a registration, its digest left out.

    So are the fields of `ADDED` that say nothing: what was sealed before they existed
    keeps its digest.
    """
    bare = msgspec.to_builtins(
        msgspec.structs.replace(registration, digest=""), order="deterministic"
    )
    for path, silent in ADDED.items():
        *folders, name = path.split(".")
        holder = bare
        for folder in folders:
            holder = holder[folder]
        if holder[name] == silent:
            del holder[name]
    return files.sha256(msgspec.json.encode(bare))


def write_registration(
    root: Path, registration: Registration, folder: Path | None = None
) -> Path:
    """Make the run's folder with its sealed registration.

    Args:
        root: Root whose `runs/` receives it.
        registration: What is written.
        folder: Another place for it.

    Raises:
        InputError: The run exists already, or its folder cannot be made.
    """
    run = folder or root / "runs" / registration.run_id
    with disk.faults_named(root):
        try:
            run.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise InputError(
                run,
                expected="a folder, or a place where one can be made",
                found=error.strerror or str(error),
                cure="name another place",
            ) from error
        files.sync_folder(run.parent)
        files.write_once(run / FILE, files.encode_json(registration))
    return run


def load_registration(run: Path) -> Registration:
    """Read a run's registration and check its digest.

    Raises:
        InputError: It is missing, no registration, or of a later format.
        DriftError: It was edited after it was sealed.
    """
    path = run / FILE
    found = files.decode_json(files.read_regular(path), Registration, path)
    if own_digest(found) != found.digest:
        raise DriftError(
            f"{path}: registered digest {found.digest}, found {own_digest(found)}; "
            f"it was edited after sealing: restore it, or plan again"
        )
    return found


def check_drift(registered: Registration, found: Registration) -> None:
    """Refuse to go on where anything that must not move has moved.

    Raises:
        DriftError: Names each thing that differs, registered -> found.
    """
    differences = drift(registered, found)
    if differences:
        listed = "\n  ".join(differences)
        raise DriftError(
            f"what is here differs from what was registered "
            f"({registered.run_id}):\n  {listed}\n"
            f"restore it, or plan a new run"
        )


def drift(registered: Registration, found: Registration) -> list[str]:
    """What must not move and has, each as `path: registered X -> found Y`."""
    return [
        line
        for name in MUST_NOT_MOVE
        for line in differing(name, _part(registered, name), _part(found, name))
    ]


def differing(where: str, registered: Any, found: Any) -> Iterator[str]:
    """Lines `path: registered X -> found Y` for every leaf that differs."""
    if isinstance(registered, dict) and isinstance(found, dict):
        for key in sorted({*registered, *found}):
            inner = f"{where}.{key}"
            yield from differing(inner, registered.get(key), found.get(key))
    elif isinstance(registered, list | tuple) and isinstance(found, list | tuple):
        for n in range(max(len(registered), len(found))):
            old = registered[n] if n < len(registered) else None
            new = found[n] if n < len(found) else None
            label = next(
                (x["id"] for x in (old, new) if isinstance(x, dict) and "id" in x), n
            )
            yield from differing(f"{where}[{label}]", old, new)
    elif registered != found:
        yield f"{where}: registered {registered!r} -> found {found!r}"


def source_digests() -> tuple[str, str]:
    """Digests of the package's source: of the run path, and of what reads runs."""
    package = Path(__file__).parent
    entries = [
        entry for entry in files.read_tree(package) if entry.path.endswith(".py")
    ]
    reading = tuple(entry for entry in entries if _top(entry.path) in READING_MODULES)
    running = tuple(entry for entry in entries if entry not in reading)
    return files.digest_entries(running), files.digest_entries(reading)


def _top(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


def _part(registration: Registration, name: str) -> Any:
    part: Any = registration
    for step in name.split("."):
        part = getattr(part, step)
    return msgspec.to_builtins(part)
