"""What reached the agent, what came of it, and what two libraries have in common."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit import wording
from evalkit.conclusions import (
    Analysis,
    Received,
    ReceivedRow,
    SharedSkills,
    TreatmentRow,
)
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table

NOT_SEEN = "nobody looked"


def treatment(analysis: Analysis) -> Page:
    """What each arm gave, what the agent's requests showed of it, what it used."""
    rows = [_treatment(row) for row in analysis.treatments]
    heads = (
        "Steps",
        "Skills at home",
        "the model was told of all",
        "Text in the prompt",
        "all of it in a request",
        "Skill invoked",
        "Skill file read",
    )
    table = Table(
        "What reached the agent, by steps",
        (Column("Arm"), *(Column(head, number=True) for head in heads)),
        tuple(rows),
        note="What the model was told is taken from the agent's requests as they "
        f"passed the gateway: {NOT_SEEN} where none stood, no request was made, or "
        f"nobody here knows in what words a program tells its model of skills.",
    )
    used = [
        (row.arm, counted(row.skills_invoked))
        for row in analysis.treatments
        if row.skills_invoked
    ]
    columns = (Column("Arm"), Column("Skills (how often)"))
    invoked = Table("Skills invoked", columns, tuple(used), empty="none, in any arm.")
    return Page((table, _strays(analysis), invoked))


def received(analysis: Analysis) -> Table:
    """Outcomes by the strongest treatment that reached a trial. Not randomised."""
    heads = ("Trials", "Mean score", "All checks passed")
    return Table(
        "Outcomes by what reached the trial: NOT RANDOMISED",
        (
            *(Column(head, whole=True) for head in ("Arm", "What reached it")),
            *(Column(head, number=True) for head in heads),
            Column("its interval (Wilson)", number=True),
            Column("A gateway saw it", number=True),
        ),
        tuple(_received(row) for row in analysis.received),
        note="The plan drew the arm of a trial, not what its agent then used: who invokes "
        "a skill may differ from who does not, by case, by luck or by how the work went, "
        "so no difference between these rows is an effect. Each trial stands under the "
        "strongest that any of its steps got. Where no gateway looked, what was "
        "delivered is taken to have arrived.",
        empty="no trial was analysed.",
    )


def replication(analysis: Analysis) -> Shown:
    """What arms with whole libraries from different sources have in common."""
    if not analysis.replications:
        return Prose(
            ("No two arms of this run offer whole libraries from different sources.",)
        )
    heads = ("Same to the byte", "Changed", "Only in the first", "Only in the second")
    table = Table(
        "Skills of arms with whole libraries",
        (Column("Arms", whole=True), *(Column(head, number=True) for head in heads)),
        tuple(
            (
                f"{row.arm} and {row.other}",
                *(wording.count(len(names)) for names in _parts(row)),
            )
            for row in analysis.replications
        ),
    )
    said = Prose(tuple(row.sentence for row in analysis.replications))
    named = Table(
        "By name",
        tuple(map(Column, ("Arms", *heads))),
        tuple(
            (
                f"{row.arm} ({row.source}) and {row.other} ({row.other_source})",
                *map(wording.listed, _parts(row)),
            )
            for row in analysis.replications
        ),
    )
    return Page((said, table, Fold("Which skills", (named,))))


def _parts(row: SharedSkills) -> tuple[tuple[str, ...], ...]:
    return row.same, row.changed, row.only_arm, row.only_other


def _received(row: ReceivedRow) -> tuple[str, ...]:
    unseen = not row.uses_seen and row.received in {Received.OFFERED, Received.PICKED}
    return (
        row.arm,
        f"{row.received.value} (or used: not known)" if unseen else row.received.value,
        wording.count(row.n),
        wording.score(row.score),
        wording.k_of_n(row.passed),
        wording.interval(row.passed),
        wording.k_of(row.n_looked, row.n) if row.n_looked else NOT_SEEN,
    )


def _treatment(row: TreatmentRow) -> tuple[str, ...]:
    seen = [
        wording.NOT_APPLICABLE
        if of == 0
        else NOT_SEEN
        if found is None
        else wording.k_of(found, of)
        for found, of in (
            (row.n_listed, row.n_offered),
            (row.n_carried, row.n_injected),
        )
    ]
    return (
        row.arm,
        wording.count(row.n_steps),
        wording.k_of(row.n_offered, row.n_steps),
        seen[0],
        wording.k_of(row.n_injected, row.n_steps),
        seen[1],
        wording.k_of(row.n_invoked, row.n_steps),
        wording.k_of(row.n_read, row.n_steps),
    )


def _strays(analysis: Analysis) -> Table:
    """Where requests show another treatment than was delivered."""
    rows = [
        (
            f"{row.trial}, {row.step}",
            *map(_or_dash, (row.not_listed, row.not_carried, row.not_offered)),
        )
        for row in analysis.strays
    ]
    looked = any(
        row.n_looked or row.n_carried is not None for row in analysis.treatments
    )
    heads = (
        "Step",
        "At home, but the model was not told of",
        "In the prompt, but in no request",
        "The model was told of, but not at home",
    )
    return Table(
        "Steps whose requests show another treatment than was delivered",
        tuple(map(Column, heads)),
        tuple(rows),
        empty="none." if looked else "not known, since nobody looked.",
    )


def _or_dash(names: Iterable[str]) -> str:
    return ", ".join(names) or wording.NOT_APPLICABLE


def counted(found: dict[str, int]) -> str:
    """Names, and how often each."""
    return wording.listed(f"{name} ({n})" for name, n in found.items())
