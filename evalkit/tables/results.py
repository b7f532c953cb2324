"""What was found: the answer, its conditions, who took part, and the scores."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit import wording
from evalkit.conclusions import ONE_ARM, Analysis
from evalkit.markup import Column, Fold, Page, Prose, Shown, Table, stamped
from evalkit.records import Contrast

DIFFERENCES = {"score": "mean score", "passed": "share of trials that passed"}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_VERDICTS = {"pass": "pass", "fail": "FAIL", "unknown": "unknown"}
_AT_ODDS = (
    "p and the interval say different things, since p counts in how many ways the trials "
    "could be shared out between the arms, case by case, and the interval goes by the "
    "spread between trials, of which so few tell little. A claim goes by p"
)


def answer(analysis: Analysis) -> Page:
    """The answer in a paragraph, and one row per arm."""
    head = stamped(analysis.warning)
    found = (_headline(analysis), analysis.status_sentence)
    ended = analysis.integrity.ended
    if ended != "complete":
        found = (f"THE RUN IS UNFINISHED ({ended or 'it did not end'}).", *found)
    paragraphs = (
        " ".join(reversed(found) if analysis.simulated else found),
        f"{analysis.sentence} Run {analysis.run}: status {analysis.status}.",
    )
    return Page((*head, Prose(paragraphs, "answer"), *_in_short(analysis)))


def gates(analysis: Analysis) -> Table:
    """The conditions of a claim, with the evidence for each verdict."""
    rows = [
        (gate.name, _VERDICTS[gate.verdict], gate.sentence, gate.evidence)
        for gate in analysis.gates
    ]
    return Table(
        f"Conditions; status: {analysis.status}",
        tuple(map(Column, ("Condition", "Verdict", "What it means", "Evidence"))),
        tuple(rows),
        note=_closing(analysis),
        empty="this analysis was not judged.",
    )


def _closing(analysis: Analysis) -> str:
    """Which of the verdicts let no claim stand."""
    closing = [gate.name for gate in analysis.gates if gate.closes]
    if not closing:
        return "None of these closes the way to a claim."
    return (
        f"No claim stands against: {wording.listed(closing)}. What else did not pass "
        f"informs, and says why it closes nothing."
    )


def flow(analysis: Analysis) -> Table:
    """Trials of each arm from planned to analysed, with every loss."""
    rows = [
        (
            row.arm,
            *map(wording.count, (row.planned, row.started, row.completed)),
            *map(wording.count, (row.scored, row.analysed)),
            "; ".join(
                f"{lost.n} not {lost.after}: {lost.reason}" for lost in row.exclusions
            )
            or "none",
            *map(wording.count, (row.agent_limit, row.grader_died)),
        )
        for row in analysis.flow
    ]
    heads = ("Planned", "Started", "Completed", "Scored", "Analysed")
    return Table(
        "Trials of each arm",
        (
            Column("Arm"),
            *(Column(head, number=True) for head in heads),
            Column("Lost on the way"),
            Column("Of the analysed: met a limit", number=True),
            Column("grader died", number=True),
        ),
        tuple(rows),
        note="A trial that met a limit of the agent is graded as it stands; one whose "
        "grader died counts 0. Both are flagged, and neither is left out.",
    )


def contrasts(analysis: Analysis) -> Page:
    """Differences in the registered outcome; those in the other one are folded."""
    first = analysis.design.outcome
    others = [measure for measure in DIFFERENCES if measure != first]
    folds = [
        Fold(f"Differences in {DIFFERENCES[name]}", (_differences(analysis, name),))
        for name in others
    ]
    return Page((_differences(analysis, first), *folds))


def arms(analysis: Analysis) -> Table:
    """Each arm by itself."""
    rows = [
        (
            row.arm,
            row.home,
            row.prompt,
            _brief(row.library) if row.library else "no library",
            wording.count(row.n_trials),
            wording.score(row.score),
            wording.k_of_n(row.passed),
            wording.interval(row.passed),
            wording.k_of(row.n_at_ceiling, row.n_trials),
        )
        for row in analysis.arms
    ]
    return Table(
        "Each arm by itself",
        (
            *map(Column, ("Arm", "Skills at home", "Prompt", "Library")),
            Column("Trials", number=True),
            Column("Mean score", number=True),
            Column("All checks passed", number=True),
            Column("its interval (Wilson)", number=True),
            Column("Score of 1", number=True),
        ),
        tuple(rows),
        note="Means are over cases, each with the same weight. Where many trials have a "
        "score of 1, arms cannot differ much: the cases are too easy to tell.",
    )


def _brief(library: str) -> str:
    """A library's source, its commit by the first characters."""
    return _COMMIT.sub(lambda found: f"{wording.short(found[0])}...", library)


def _differences(analysis: Analysis, measure: str) -> Page:
    found = [c for c in analysis.contrasts if c.measure == measure]
    found.sort(key=lambda contrast: not contrast.confirmatory)
    n_counting = sum(contrast.confirmatory for contrast in found)
    rows = [
        (
            f"{found.arm} against {found.comparator}",
            "declared" if found.confirmatory else "exploratory",
            wording.signed(found.estimate),
            wording.span(found.low, found.high),
            wording.p_value(found.p),
            wording.p_value(found.p_holm) if found.confirmatory else "",
            f"{wording.n_of(found.n_blocks, 'block')} of "
            f"{wording.n_of(found.n_cases, 'case')}",
            "" if found.n_ties is None else wording.k_of(found.n_ties, found.n_blocks),
        )
        for found in found
    ]
    counting = (
        f"The {n_counting} declared with the plan are those that count, and the last p "
        f"is corrected for their number (Holm)."
        if n_counting
        else "Not one of these is among the comparisons that the plan declared to "
        "count: each is exploratory."
    )
    table = Table(
        f"Differences in {DIFFERENCES[measure]}, on these cases",
        (
            Column("Arms", whole=True),
            Column("Kind"),
            Column("Difference", number=True),
            Column(f"{analysis.design.confidence:.0%} interval", number=True),
            Column("p", number=True),
            Column("p, corrected", number=True),
            Column("Rests on", whole=True),
            Column("Blocks alike", number=True),
        ),
        tuple(rows),
        note="p: how often swapping the arms of a case's trials would give a difference "
        f"as large. {counting}",
    ).without_empty()
    odd = [one for one in found if _is_at_odds(one, analysis.design.confidence)]
    return Page((table, *_reserves(found, odd)))


def _reserves(
    found: Sequence[Contrast], odd: Sequence[Contrast] = ()
) -> tuple[Prose, ...]:
    """What cannot be said, or only with care; contrasts of which the same holds once."""
    told: dict[str, list[str]] = {}
    for contrast in found:
        why = _AT_ODDS if contrast in odd else None
        for said in filter(None, (contrast.refusal, why, contrast.warning)):
            told.setdefault(said, []).append(
                f"{contrast.arm} against {contrast.comparator}"
            )
    return (
        (Prose(tuple(f"{'; '.join(names)}: {said}." for said, names in told.items())),)
        if told
        else ()
    )


def _is_at_odds(found: Contrast, confidence: float) -> bool:
    """True where one of p and interval excludes that there is no difference."""
    if found.p is None or found.low is None or found.high is None:
        return False
    return (found.p <= 1 - confidence) == (found.low <= 0 <= found.high)


def _headline(analysis: Analysis) -> str:
    """Which arms differ, of the comparisons that were declared to count."""
    if len(analysis.design.arms) == 1:
        return ONE_ARM
    declared = [found for found in analysis.contrasts if found.confirmatory]
    judged = [found for found in declared if found.p_holm is not None]
    if not declared:
        return "No comparison was declared to count, so all numbers are exploratory."
    if not judged:
        return "No comparison that was declared to count could be tested."
    if all(found.is_blind(analysis.design.confidence) for found in judged):
        least = wording.p_value(min(found.p_least or 0 for found in judged))
        return (
            f"Trials so few, or so alike, can show no difference: the least p that a "
            f"comparison of them could reach is {least}."
        )
    clear = [c for c in judged if c.is_clear(analysis.design.confidence)]
    what = DIFFERENCES[analysis.design.outcome]
    where = f"On these {wording.n_of(analysis.design.n_cases, 'case')}"
    if not clear:
        return (
            f"{where}, no difference in {what} is larger than the spread between trials "
            f"explains, the number of comparisons counted ({_named(judged)})."
        )
    said = wording.listed(
        f"{_named([found])} ({wording.signed(found.estimate)})" for found in clear
    )
    rest = [found for found in judged if found not in clear]
    others = f"; for {_named(rest)} no difference can be told" if rest else ""
    return (
        f"{where}, the {what} differs by more than the spread between trials explains, "
        f"the number of comparisons counted, for {said}{others}."
    )


def _named(found: Sequence[Contrast]) -> str:
    """Comparisons by name; the arms together where all have one comparator."""
    comparators = {contrast.comparator for contrast in found}
    if len(comparators) == 1:
        arms = wording.listed(contrast.arm for contrast in found)
        return f"{arms} against {comparators.pop()}"
    return wording.listed(f"{c.arm} against {c.comparator}" for c in found)


def _in_short(analysis: Analysis) -> tuple[Shown, ...]:
    """A row per arm, and what must be known of the differences in it."""
    comparator = next(iter(analysis.design.against), None)
    primary = {found.arm: found for found in _primary(analysis, comparator)}
    rows = [
        (
            row.arm,
            wording.score(row.score),
            *_against(primary.get(row.arm)),
            wording.k_of_n(row.passed),
            wording.at_least(wording.usd(row.usd), bound=bool(row.n_understated)),
            wording.ratio(row.overhead.usd) if row.overhead else wording.NOT_APPLICABLE,
        )
        for row in analysis.arms
    ]
    heads = (
        "Mean score",
        f"against {comparator}",
        f"{analysis.design.confidence:.0%} interval",
        "All checks passed",
        "Dollars per trial",
        "against baseline",
    )
    table = Table(
        "In short",
        (Column("Arm"), *(Column(head, number=True) for head in heads)),
        tuple(rows),
        note=f"Each interval is for one comparison by itself. Dollars by the accounting "
        f"{analysis.seals.accounting}.",
    )
    return table, *_reserves([*primary.values()])


def _primary(analysis: Analysis, comparator: str | None) -> list[Contrast]:
    return [
        found
        for found in analysis.contrasts
        if found.measure == analysis.design.outcome and found.comparator == comparator
    ]


def _against(found: Contrast | None) -> tuple[str, str]:
    if found is None:
        return wording.NOT_APPLICABLE, wording.NOT_APPLICABLE
    return wording.signed(found.estimate), wording.span(found.low, found.high)
