"""What can stand beside an open transcript: checks, workspace, routing, a summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalkit.errors import InputError
from evalkit.explore import beside
from evalkit.explore.account import account
from evalkit.explore.redaction import Redactor
from evalkit.explore.summary import summary_lines
from evalkit.explore.telling import Teller
from evalkit.explore.trial import FoundTrial
from evalkit.markup import escape

SUMMARY = "summary"
Panel = Callable[[FoundTrial, Path, Redactor], str]


def offered(trial: FoundTrial | None) -> tuple[str, ...]:
    """Names of the panels there are; without a trial only the summary."""
    return (*(_PANELS if trial else ()), SUMMARY)


def panel(
    name: str, path: Path, trial: FoundTrial | None, root: Path, redactor: Redactor
) -> str:
    """A panel as HTML.

    Args:
        name: Of those that are `offered`.
        path: The transcript that is open.
        trial: The trial it is of.
        root: Where the trial's case is, for the fixture it began with.
        redactor: Takes secrets out, or does not.

    Raises:
        InputError: There is no such panel, or the transcript cannot be read.
    """
    if name == SUMMARY:
        told = "\n".join(map(redactor, summary_lines(account(path))))
        return f"<pre>{escape(told)}</pre>"
    if trial is None or name not in _PANELS:
        raise InputError(
            f"what stands beside: {name!r}",
            expected=" or ".join(offered(trial)),
            found="none of these" if trial else "a file without a trial",
            cure="choose again",
        )
    return _PANELS[name](trial, root, redactor)


def _checks(found: FoundTrial, _: Path, redactor: Redactor) -> str:
    tell = Teller(redactor)
    return (
        f"{beside.checks(found, tell)}<h3>What was asked and answered</h3>"
        f"{beside.check_evidence(found, tell)}"
    )


def _workspace(found: FoundTrial, root: Path, redactor: Redactor) -> str:
    return beside.workspace(found, root, Teller(redactor))


def _routing(found: FoundTrial, _: Path, redactor: Redactor) -> str:
    return beside.routing(found, Teller(redactor))


_PANELS: dict[str, Panel] = {
    "checks": _checks,
    "workspace": _workspace,
    "routing": _routing,
}
