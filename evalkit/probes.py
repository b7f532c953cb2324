"""Selection probes: what people type, and the skills that would serve it.

`probes.toml` beside a library's skills holds them, apart from the cases. `probing`
has them answered, by the ranking alone or by a model; `score` judges any answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evalkit import files
from evalkit.analysis.tallies import proportion
from evalkit.conclusions import ProbeScore, Proportion
from evalkit.errors import InputError, expect_same, expect_subset
from evalkit.recall import Labelled, Recall, label, recall
from evalkit.records import (
    AgentSeal,
    ArmSeal,
    Library,
    Plan,
    Record,
    Registration,
    Selection,
    Wording,
)

FILE = "probes.toml"
KEPT = "probes.json"
FORMAT = 1
ALL = "all"
_PLAN = Plan("")


class Probe(Record, frozen=True):
    """A query, and the skills accepted for it; an empty `expected`: none is needed."""

    id: str
    query: str
    expected: tuple[str, ...]
    category: str


class ProbesFile(Record, frozen=True):
    """`probes.toml`, read."""

    probe: tuple[Probe, ...]


class ProbeScores(Record, frozen=True):
    """Scores by category, the one named `all` last.

    `asked` says that a model chose where nothing was admitted. `wrong` are ids of
    probes answered wrongly (offline: admitted wrongly), `out_of_reach` of those
    without an accepted skill among their candidates.
    """

    library: str
    asked: bool
    recall: Recall
    categories: tuple[ProbeScore, ...]
    wrong: tuple[str, ...]
    out_of_reach: tuple[str, ...]


class Answered(Record, frozen=True):
    """What probes were answered, and all that it rests on; kept as `probes.json`.

    `agent` is None where the ranking alone answered. `plan` holds the model and the
    settings of routing; `run_source` is the digest of the code that ranked and asked,
    and `n_calls` were made for it.
    """

    at: str
    library: str
    library_digest: str
    triggers_digest: str
    run_source: str
    plan: Plan
    agent: AgentSeal | None
    n_calls: int
    probes: tuple[Probe, ...]
    answers: dict[str, Selection]
    scores: ProbeScores
    format: int = FORMAT

    @property
    def simulated(self) -> bool:
        """True where a stand-in for an agent or a model chose."""
        return self.agent is not None and self.agent.simulated


def load_probes(path: Path, library: Library) -> tuple[Probe, ...]:
    """Read a file of probes.

    Raises:
        InputError: It is missing or wrong, an id stands twice, a query is empty, or
            an expected skill is not in the library.
    """
    probes = files.convert(files.read_toml(path), ProbesFile, path).probe
    expect_proper(path, probes, {skill.name for skill in library.skills})
    return probes


def expect_proper(where: object, probes: Sequence[Probe], names: set[str]) -> None:
    """Refuse probes that are not right by themselves.

    Args:
        where: Where they stand.
        probes: The probes.
        names: Skills of the library.

    Raises:
        InputError: As `load_probes` does.
    """
    ids = Counter(probe.id for probe in probes)
    for probe in probes:
        at = f"{where} probe {probe.id!r}"
        expect_subset(at, "skills", set(probe.expected), names)
        if ids[probe.id] > 1 or not probe.query.strip() or probe.category == ALL:
            raise InputError(
                at,
                expected=f"an id of its own, a query, a category other than {ALL!r}",
                found=f"id {ids[probe.id]} times, query {probe.query!r}, "
                f"category {probe.category!r}",
                cure="mend this probe",
            )


def expect_answers(where: object, answered: Answered, names: set[str]) -> None:
    """Refuse answers that no ranking and no model can have given.

    Args:
        where: Where they stand.
        answered: The answers, with their probes.
        names: Skills of the library.

    Raises:
        InputError: A probe is not right by itself; or a skill is not in the library,
            or was picked from other candidates than its own; or the counts are none.
    """
    expect_proper(where, answered.probes, names)
    for name, selection in answered.answers.items():
        picked = {selection.picked} if selection.picked else set[str]()
        ranked = {candidate.skill for candidate in selection.candidates}
        expect_subset(f"{where} answer {name!r}", "skills", ranked, names)
        expect_subset(
            f"{where} answer {name!r}",
            "candidates",
            picked,
            ranked,
        )
    most = len(answered.probes) if answered.agent else 0
    is_known = answered.format == FORMAT
    if not is_known or not answered.probes or not 0 <= answered.n_calls <= most:
        raise InputError(
            where,
            expected=f"format {FORMAT}, one probe at least, 0 to {most} calls",
            found=f"format {answered.format}, {len(answered.probes)} probes, "
            f"{answered.n_calls} calls",
            cure="restore the file from a copy",
        )


def open_probes(root: Path, source: str, library: Library) -> tuple[Probe, ...]:
    """The probes beside a library's skills.

    Args:
        root: Root whose `cases/_skills` is the built-in library.
        source: `current` for the built-in one, else its folder, or `folder@ref`:
            probes are those of the folder as it is now.
        library: The library, opened.

    Raises:
        InputError: As `load_probes` does.
    """
    folder, at, ref = source.rpartition("@")
    built_in = root / "cases" / "_skills"
    where = built_in if source == "current" else Path(folder if at else ref)
    return load_probes(where.expanduser() / FILE, library)


def routed_arm(registration: Registration) -> ArmSeal | None:
    """The arm whose library skills are routed from: all routed arms share one."""
    arms = registration.arms
    return next((seal for seal in arms if seal.arm.prompt is Wording.ROUTED), None)


def score(
    probes: Sequence[Probe],
    answers: Mapping[str, Selection],
    *,
    library: str = "",
    plan: Plan = _PLAN,
    asked: bool = True,
) -> ProbeScores:
    """Judge answers to probes: offline ones, or those of a model.

    Args:
        probes: The probes.
        answers: A selection for each probe's id.
        library: Name of the library asked about.
        plan: Holds the registered threshold, and the confidence of intervals.
        asked: Whether a model chose where nothing was admitted.

    Raises:
        InputError: A probe has no answer, or an answer no probe.
    """
    expect_same(
        "answers to probes", "ids", {probe.id for probe in probes}, set(answers)
    )
    found = {p.id: label(p.expected, answers[p.id], plan) for p in probes}
    groups: defaultdict[str, list[Labelled]] = defaultdict(list)
    for probe in probes:
        groups[probe.category].append(found[probe.id])
    groups[ALL] = list(found.values())
    rows = [_score(name, own, plan.confidence) for name, own in groups.items()]
    return ProbeScores(
        library=library,
        asked=asked,
        recall=recall(list(found.values())),
        categories=tuple(rows),
        wrong=tuple(
            name
            for name, one in found.items()
            if not one.right and (asked or one.picked)
        ),
        out_of_reach=tuple(
            name for name, one in found.items() if one.accepted and not one.held
        ),
    )


def _score(group: str, found: Sequence[Labelled], confidence: float) -> ProbeScore:
    def share(hits: Iterable[bool]) -> Proportion:
        return proportion(hits, confidence)

    needing = [one for one in found if one.accepted]
    return ProbeScore(
        category=group,
        n=len(found),
        right=share(one.right for one in found),
        first=share(one.first in one.accepted for one in needing),
        held=share(one.held for one in needing),
        precise=share(one.right for one in found if one.picked),
        spared=share(
            one.picked is None and not one.asks for one in found if not one.accepted
        ),
        n_failed=sum(one.how == "failed" for one in found),
    )
