"""What is refused before a regrade writes anything."""

from __future__ import annotations

from pathlib import Path

from evalkit.errors import DriftError, InputError
from evalkit.journal import read_journal
from evalkit.records import RunStarted
from evalkit.regrade.again import Reopened
from evalkit.standing import JOURNAL


def refuse_unbegun(run: Path) -> None:
    """Refuse a run that no journal says was begun.

    Raises:
        InputError: There is no journal, or no start in it, or it is damaged.
    """
    # Read only, since opening a journal for writing would make an empty one.
    path = run / JOURNAL
    events = read_journal(path).events
    if not any(isinstance(event.body, RunStarted) for event in events):
        raise InputError(
            path,
            expected="a journal that says when the run was started",
            found=f"{len(events)} lines, none of a start"
            if path.exists()
            else "no such file",
            cure=f"carry the plan out with `evalkit run {run.name}`, or restore the "
            f"journal from a copy; nothing was written",
        )


def refuse_drift(opened: Reopened) -> None:
    """Refuse to grade what was not registered.

    Raises:
        DriftError: A case or fixture is not the registered one; a grader may be.
    """
    moved = [
        f"{seal.id} {part}: registered {registered} -> found {found}"
        for seal in opened.registration.cases
        for part in ("case", "fixture")
        for registered in [getattr(seal.digests, part)]
        for found in [getattr(opened.cases[seal.id].digests, part)]
        if registered != found
    ]
    if moved:
        listed = "\n  ".join(moved)
        raise DriftError(
            f"what would be graded again is not what was registered "
            f"({opened.registration.run_id}):\n  {listed}\n"
            f"restore it; only a grader may differ"
        )
