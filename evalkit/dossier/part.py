"""A section of the page: what it shows, and what was checked for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit import wording
from evalkit.audit.finding import FAIL, Finding
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table

MAX_SHOWN = 3
"""Lines of evidence beside a finding; the rest is folded below."""
SAME, OTHER = "the same", "ANOTHER"
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


class Part(Page, frozen=True):
    """A section; `caveat` is what a reader must know although nothing failed."""

    findings: tuple[Finding, ...] = ()
    caveat: str = ""


def told(
    caption: str,
    findings: Sequence[Finding],
    details: Sequence[Shown] = (),
    *,
    about: str = "",
    note: str = "",
) -> Part:
    """A section that begins with its findings, a row each.

    Args:
        caption: Of the table of findings.
        findings: What was checked.
        details: What stands below.
        about: How each check is named, up to the case that it is about.
        note: Stands below the table of findings.
    """
    rows = [
        (
            one.check.removeprefix(about),
            mark(one.verdict),
            one.sentence,
            _evidence(one),
        )
        for one in findings
    ]
    heads = ("Case" if about else "Checked", "Verdict", "What it means", "Evidence")
    table = Table(caption, tuple(map(Column, heads)), tuple(rows), note=note)
    folds = [
        Fold(
            f"All that was found of: {one.check}",
            (Prose(tuple(map(brief, one.evidence))),),
        )
        for one in findings
        if len(one.evidence) > MAX_SHOWN
    ]
    return Part((table, *folds, *details), tuple(findings))


def mark(verdict: str) -> str:
    """A verdict as it is shown: a failure must not be overlooked."""
    return verdict.upper() if verdict == FAIL else verdict


def same(registered: object, *found: object) -> str:
    """Whether all of these are what was registered."""
    return SAME if all(one == registered for one in found) else OTHER


def brief(text: str) -> str:
    """A text with its digests cut short, so that they leave room for words."""
    return _DIGEST.sub(lambda found: wording.short(found[0]), text)


def _evidence(finding: Finding) -> str:
    shown = brief("; ".join(finding.evidence[:MAX_SHOWN]))
    n_more = len(finding.evidence) - MAX_SHOWN
    return f"{shown}; and {wording.count(n_more)} more" if n_more > 0 else shown
