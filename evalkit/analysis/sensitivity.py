"""How the main difference moves under other methods, and on other trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of, reserve, strata_of, within
from evalkit.analysis.tallies import Priced
from evalkit.conclusions import SensitivityRow
from evalkit.records import Outcome, Registration
from evalkit.stats import Interval, PValue, Refusal, Stratum
from evalkit.stats.results import alike, mean


class _Found(NamedTuple):
    """An estimate, what goes with it, and sentences on what does not."""

    estimate: float | None
    interval: tuple[float, float] | None = None
    p: float | None = None
    refusals: tuple[str, ...] = ()


class _Data(NamedTuple):
    """The trials of one contrast."""

    priced: Sequence[Priced]
    arm: str
    comparator: str
    confidence: float
    seed: int
    outcome: str

    def strata(self, outcome: str | None = None) -> list[Stratum]:
        """Strata of the outcome, or of another measure."""
        return strata_of(
            self.priced, self.arm, self.comparator, outcome or self.outcome
        )

    def pairs(self) -> list[float]:
        """Differences block by block."""
        return [
            mine - other
            for stratum in self.strata()
            for mine, other in zip(*stratum, strict=True)
        ]


def sensitivity_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[SensitivityRow, ...]:
    """Every contrast in the outcome by each of `METHODS`."""
    plan = registration.plan
    rows: list[SensitivityRow] = []
    for arm, comparator in pairs_of(registration):
        data = _Data(priced, arm, comparator, plan.confidence, plan.seed, plan.outcome)
        for place, (method, (assumes, calculate)) in enumerate(METHODS.items()):
            if data.strata():
                found = calculate(data)
            else:
                found = _Found(None, refusals=("no estimate: no block is whole",))
            low, high = found.interval or (None, None)
            rows.append(
                SensitivityRow(
                    arm=arm,
                    comparator=comparator,
                    method=method,
                    assumes=assumes,
                    registered=place == 0,
                    estimate=found.estimate,
                    low=low,
                    high=high,
                    p=found.p,
                    refusal="; ".join(dict.fromkeys(found.refusals)) or None,
                )
            )
    return tuple(rows)


def _stratified(strata: Sequence[Stratum], data: _Data) -> _Found:
    interval = stats.welch_interval(strata, confidence=data.confidence)
    test = stats.permutation_test(strata, seed=data.seed)
    found = _gathered(stats.mean_difference(strata), interval, test)
    return found._replace(refusals=(*found.refusals, *reserve(interval, strata)))


def _gathered(
    estimate: float, interval: Interval | Refusal, test: PValue | Refusal
) -> _Found:
    return _Found(
        estimate,
        None if isinstance(interval, Refusal) else within(interval.low, interval.high),
        None if isinstance(test, Refusal) else test.p,
        tuple(x.sentence for x in (interval, test) if isinstance(x, Refusal)),
    )


def _registered(data: _Data) -> _Found:
    return _stratified(data.strata(), data)


def _blocks(data: _Data) -> _Found:
    pairs = data.pairs()
    return _gathered(
        mean(pairs),
        stats.t_interval(pairs, confidence=data.confidence),
        stats.sign_flip_test(pairs, seed=data.seed),
    )


def _cases(data: _Data) -> _Found:
    differences = [stratum.difference for stratum in data.strata()]
    return _gathered(
        mean(differences),
        stats.t_interval(differences, confidence=data.confidence),
        stats.sign_flip_test(differences, seed=data.seed),
    )


def _other_outcome(data: _Data) -> _Found:
    other = "passed" if data.outcome == "score" else "score"
    return _stratified(data.strata(other), data)


def _unhampered(data: _Data) -> _Found:
    """Blocks of the two arms in which neither trial was cut short or ungraded."""
    spoilt = {
        (p.trial.key.case, p.trial.key.repeat)
        for p in data.priced
        if p.trial.key.arm in {data.arm, data.comparator}
        and p.trial.status in {Outcome.AGENT_LIMIT, Outcome.GRADER_DIED}
    }
    if not spoilt:
        return _Found(
            None, refusals=("the same: no trial met a limit or went ungraded",)
        )
    left = data._replace(
        priced=[
            p
            for p in data.priced
            if (p.trial.key.case, p.trial.key.repeat) not in spoilt
        ]
    )
    if not left.strata():
        return _Found(None, refusals=("no estimate: no other block is left",))
    return _stratified(left.strata(), left)


def _without_a_case(data: _Data) -> _Found:
    strata = data.strata()
    if len(strata) < 2:
        return _Found(None, refusals=("no estimate: there is no other case",))
    left = [
        stats.mean_difference([*strata[:n], *strata[n + 1 :]])
        for n in range(len(strata))
    ]
    if alike(left):
        return _Found(
            stats.mean_difference(strata),
            refusals=("it is the same whichever case is left out",),
        )
    return _Found(stats.mean_difference(strata), (min(left), max(left)))


def _resampled(data: _Data) -> _Found:
    differences = [stratum.difference for stratum in data.strata()]
    found = stats.bootstrap_interval(
        differences, confidence=data.confidence, seed=data.seed
    )
    if isinstance(found, Refusal):
        return _Found(None, refusals=(found.sentence,))
    return _Found(mean(differences), (found.low, found.high))


METHODS: dict[str, tuple[str, Callable[[_Data], _Found]]] = {
    "as registered: stratified by case": (
        "trials of a case in an arm vary alike; nothing of other cases",
        _registered,
    ),
    "blocks as pairs": (
        "every block is independent of every other, also of the same case",
        _blocks,
    ),
    "cases as pairs (tasks like these)": (
        "these cases were drawn from those that are asked about",
        _cases,
    ),
    "the other outcome": ("the other outcome is what matters", _other_outcome),
    "without trials cut short or ungraded": (
        "what met a limit, or was not graded, was so by chance",
        _unhampered,
    ),
    "leaving out one case (least to greatest)": (
        "no case carries the difference alone",
        _without_a_case,
    ),
    "bootstrap of cases": ("ten cases or more stand for all", _resampled),
}
"""By name: what each assumes, and its calculation. The first is the registered one."""
