"""What an audit finds: one statement per thing checked."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.records import Record

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"


class Finding(Record, frozen=True):
    """One thing checked; `evidence` names what was found, or all that is wrong.

    `verdict` is pass, fail, or unknown where it could not be checked.
    """

    check: str
    verdict: str
    evidence: tuple[str, ...]
    sentence: str


def judged(
    check: str, wrong: Sequence[str], *, well: str, good: str, bad: str
) -> Finding:
    """A finding that fails where anything is wrong.

    Args:
        check: What was checked.
        wrong: All that is wrong.
        well: What was seen where nothing is.
        good: What a pass means.
        bad: What a failure means.
    """
    if wrong:
        return Finding(check, FAIL, tuple(wrong), bad)
    return Finding(check, PASS, (well,), good)
