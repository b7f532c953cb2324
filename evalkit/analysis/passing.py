"""Passing every check: run by run, again and again, and in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalkit import stats
from evalkit.analysis.contrasts import pairs_of
from evalkit.analysis.tallies import Priced, proportion
from evalkit.conclusions import PairedPasses, PassRow
from evalkit.records import Registration, TrialKey
from evalkit.stats import Refusal

LEAST = 2
"""Trials of a case below which nothing is said of passing again."""


def pass_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[PassRow, ...]:
    """How reliably each arm passes, over its analysed trials."""
    k = max(key.repeat for key in registration.schedule)
    if k < LEAST:
        return ()
    return tuple(
        _pass_row(registration, seal.arm.name, k, priced) for seal in registration.arms
    )


def _pass_row(
    registration: Registration, arm: str, k: int, priced: Sequence[Priced]
) -> PassRow:
    own = [p for p in priced if p.trial.key.arm == arm]
    cases = [
        (len(cell), sum(p.passed for p in cell))
        for case in dict.fromkeys(p.trial.key.case for p in own)
        for cell in ([p for p in own if p.trial.key.case == case],)
    ]

    def mean(
        measure: Callable[[int, int, int], float | Refusal], n: int
    ) -> float | Refusal:
        return stats.macro(measure, cases, n)

    found = (
        mean(stats.pass_at_k, 1),
        mean(stats.pass_at_k, k),
        mean(stats.pass_hat_k, k),
    )
    refused = [value.sentence for value in found if isinstance(value, Refusal)]
    at_1, at_k, hat_k = (None if isinstance(v, Refusal) else v for v in found)
    return PassRow(
        arm=arm,
        k=k,
        n_cases=len(cases),
        runs=tuple(
            proportion(
                (p.passed for p in own if p.trial.key.repeat == repeat),
                registration.plan.confidence,
            )
            for repeat in range(1, k + 1)
        ),
        at_1=at_1,
        at_k=at_k,
        hat_k=hat_k,
        refusal="; ".join(dict.fromkeys(refused)) or None,
    )


def paired_passes(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[PairedPasses, ...]:
    """Each arm against each comparator, block by block.

    The two trials of a pair share their block: case, repeat, and the time they ran.
    """
    return tuple(
        _paired(arm, comparator, priced) for arm, comparator in pairs_of(registration)
    )


def _paired(arm: str, comparator: str, priced: Sequence[Priced]) -> PairedPasses:
    passed = {p.trial.key: p.passed for p in priced}
    blocks = dict.fromkeys((key.case, key.repeat) for key in passed)
    pairs = [
        (
            passed[TrialKey(case, arm, repeat)],
            passed[TrialKey(case, comparator, repeat)],
        )
        for case, repeat in blocks
    ]
    both, b, c, neither = (
        pairs.count(kind)
        for kind in ((True, True), (True, False), (False, True), (False, False))
    )
    found = stats.mcnemar(b, c, both=both, neither=neither)
    if isinstance(found, Refusal):
        return PairedPasses(
            arm,
            comparator,
            both,
            b,
            c,
            neither,
            None,
            None,
            None,
            within=found.bounds.get("newcombe_half_width"),
            refusal=found.sentence,
        )
    return PairedPasses(
        arm, comparator, both, b, c, neither, found.p, found.p_mid, found.p_greater
    )
