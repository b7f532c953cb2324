"""From what is wrong with each attempt to findings about all of them."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.audit.finding import UNKNOWN, Finding, judged
from evalkit.audit.record import Lines
from evalkit.audit.verdicts import Examined
from evalkit.records import Isolation, Registration, RunStarted


def judge(
    registration: Registration,
    lines: Lines,
    found: Sequence[Examined],
    *,
    why_not: list[str],
    left_out: list[str],
    gone: list[str],
) -> tuple[Finding, ...]:
    """The findings about all attempts together.

    Args:
        registration: What was registered.
        lines: The journal.
        found: What is wrong with each attempt.
        why_not: Why no workspace can be questioned here.
        left_out: Cases that are not as registered here, so not graded again.
        gone: Cases that cannot be opened here.
    """
    n = len(found)
    n_replayed = sum(one.n_replayed for one in found)
    n_questioned = sum(one.n_questioned for one in found)
    return (
        judged(
            "evidence",
            [wrong for one in found for wrong in one.evidence],
            well=f"{n} attempts, every file as sealed, every seal as journaled",
            good="No file of evidence was changed since it was sealed.",
            bad="Evidence was changed, added or removed after it was sealed.",
        ),
        judged(
            "isolation",
            [
                *_started_otherwise(registration.isolation, lines),
                *(wrong for one in found for wrong in one.isolation),
            ],
            well=f"{registration.isolation.level} for {n} attempts, as registered",
            good="Every attempt was shut off as registered.",
            bad="Some attempts were shut off otherwise than registered; they are void.",
        ),
        _made_again(
            "conclusions",
            [wrong for one in found for wrong in one.conclusion],
            [f"{case}: cannot be opened here" for case in gone],
            well=f"{n} results, equal in every field to what the evidence gives",
            bad="The journal says something that does not follow from the evidence.",
        ),
        _made_again(
            "answers",
            [wrong for one in found for wrong in one.answers],
            left_out,
            well=f"{n_replayed} grades, made again from their recorded answers",
            bad="A verdict does not follow from the recorded answers.",
        ),
        _made_again(
            "workspaces",
            [wrong for one in found for wrong in one.workspace],
            [*why_not, *left_out],
            well=f"{n_questioned} saved workspaces questioned again",
            bad="A saved workspace, questioned again, gets another verdict: answers or "
            "workspace were forged, or what was delivered does not behave alike twice.",
        ),
    )


def _made_again(
    check: str, wrong: list[str], missing: list[str], *, well: str, bad: str
) -> Finding:
    if missing and not wrong:
        told = "Not all of it could be made again here."
        return Finding(check, UNKNOWN, tuple(missing), told)
    good = "Made again, it came out as journaled."
    return judged(check, wrong, well=well, good=good, bad=bad)


def _started_otherwise(registered: Isolation, lines: Lines) -> list[str]:
    starts = [e.body for e in lines.events if isinstance(e.body, RunStarted)]
    return [
        f"a start at {start.isolation.level}, registered {registered.level}"
        for start in starts
        if start.isolation.level != registered.level
    ]
