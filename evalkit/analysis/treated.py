"""Outcomes split by the treatment that reached a trial. Not randomised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.analysis.arrivals import UNKNOWN_LISTS, given_to
from evalkit.analysis.tallies import Priced, mean, proportion
from evalkit.conclusions import Received, ReceivedRow
from evalkit.facts import Trial
from evalkit.records import Output, Registration, Treatment


def received_rows(
    registration: Registration, priced: Sequence[Priced]
) -> tuple[ReceivedRow, ...]:
    """The analysed trials of each arm by the strongest treatment that reached them."""
    found = [(p, _given(registration, p.trial)) for p in priced]
    return tuple(
        _row(registration, seal.arm.name, received, own)
        for seal in registration.arms
        for received in Received
        if (
            own := [
                (p, treatments)
                for p, treatments in found
                if p.trial.key.arm == seal.arm.name
                and _strongest(treatments) is received
            ]
        )
    )


def _given(registration: Registration, trial: Trial) -> list[Treatment]:
    return [treatment for _, treatment in given_to(registration, trial)]


def _row(
    registration: Registration,
    arm: str,
    received: Received,
    own: Sequence[tuple[Priced, list[Treatment]]],
) -> ReceivedRow:
    return ReceivedRow(
        arm=arm,
        received=received,
        n=len(own),
        n_looked=sum(_looked(treatments) for _, treatments in own),
        uses_seen=_uses_seen(registration),
        score=mean([p.score for p, _ in own]),
        passed=proportion((p.passed for p, _ in own), registration.plan.confidence),
    )


def _uses_seen(registration: Registration) -> bool:
    """False where the agent writes nothing by which its use of skills could show."""
    program = registration.plan.program
    silent = program is None or program.output is Output.NONE
    return not (registration.agent.name == UNKNOWN_LISTS and silent)


def _looked(treatments: Sequence[Treatment]) -> bool:
    """True where a gateway saw what the model was told, in every step."""
    return bool(treatments) and all(t.listed is not None for t in treatments)


def _strongest(treatments: Sequence[Treatment]) -> Received:
    reached = [one for t in treatments for one in _reached(t)]
    order = list(Received)
    return max(reached, key=order.index, default=Received.NOTHING)


def _reached(treatment: Treatment) -> Iterator[Received]:
    """All that reached the model; what was delivered, where nobody looked."""
    if _seen(treatment.offered, treatment.listed):
        yield Received.OFFERED
    if _seen(treatment.injected, treatment.carried):
        yield Received.PICKED
    if treatment.invoked:
        yield Received.INVOKED
    if treatment.read:
        yield Received.READ


def _seen(delivered: Sequence[str], seen: Sequence[str] | None) -> bool:
    return bool(delivered if seen is None else {*delivered} & {*seen})
