"""What is planted: designs, how scores are spread, and the effects of arms. Data.

Nothing here was fitted to a model's trials. `PLAIN` has the grids of the cases of
`complex-tasks@1` and scores anywhere on them, one in five of which is full marks. Real
scores may be less kind: nearly all full marks (`CEILING`), all or nothing (`LUMPS`),
both (`CLIFF`), both in most cases and a slight wobble in the others (`RARE`), or an
effect that differs between cases (`MIXED`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from evalkit.errors import InputError
from evalkit.records import Record

EFFECTS = (0.0, 0.05, 0.1, 0.2)


class Spread(Record, frozen=True):
    """How the scores of trials are spread, in cases of some population of tasks.

    `levels` are mean scores of a case without the planted arm and `deviations` what a
    case adds to an arm's effect: for each case one of them, all equally likely.
    `noise` is the standard deviation of a trial's quality, before it is cut to 0..1
    and to the grid of its case, which has `n_checks` checks: one number for each case,
    in turn. `deviations` are 0 together, so the effect on tasks like these is the
    arm's.
    """

    levels: tuple[float, ...]
    noise: float
    n_checks: tuple[int, ...]
    deviations: tuple[float, ...] = (0.0,)


class Scenario(Record, frozen=True):
    """A design, its spread, and effects on the mean score that arms may have."""

    name: str
    n_cases: int
    n_arms: int
    n_repeats: int
    spread: Spread
    effects: tuple[float, ...] = EFFECTS

    def batches(self) -> Iterator[tuple[float, ...]]:
        """The effects, as many at once as the design has arms beside the baseline."""
        left = iter(self.effects)
        while batch := tuple(islice(left, self.n_arms - 1)):
            yield batch


GRIDS = (9, 8, 10)
PLAIN = Spread(levels=(0.5, 0.6, 0.7), noise=0.35, n_checks=GRIDS)
CEILING = Spread(levels=(0.94, 0.96, 0.98), noise=0.35, n_checks=GRIDS)
LUMPS = Spread(levels=(0.5, 0.6, 0.7), noise=0.35, n_checks=(1,))
MIXED = Spread(
    levels=(0.4, 0.5, 0.6), noise=0.35, n_checks=GRIDS, deviations=(-0.15, 0.15)
)
CLIFF = Spread(levels=(0.94, 0.96, 0.98), noise=0.35, n_checks=(1,))
RARE = Spread(levels=(0.92, 0.94, 0.96), noise=0.1, n_checks=(10, 1, 1))
LOSSES = (0.0, -0.05, -0.1, -0.2)
"""Near the ceiling an arm can only do worse."""

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("3x5x4", 3, 5, 4, PLAIN),
        Scenario("3x5x4-ceiling", 3, 5, 4, CEILING, LOSSES),
        Scenario("3x5x4-lumps", 3, 5, 4, LUMPS),
        Scenario("3x5x4-cliff", 3, 5, 4, CLIFF, LOSSES),
        Scenario("3x5x4-rare", 3, 5, 4, RARE, LOSSES),
        Scenario("3x5x4-mixed", 3, 5, 4, MIXED),
        Scenario("3x5x2", 3, 5, 2, PLAIN),
        Scenario("3x2x1", 3, 2, 1, PLAIN),
        Scenario("5x3x3", 5, 3, 3, PLAIN),
        Scenario("5x3x3-rare", 5, 3, 3, RARE, LOSSES),
        Scenario("8x2x4", 8, 2, 4, PLAIN),
        Scenario("8x2x4-ceiling", 8, 2, 4, CEILING, LOSSES),
        Scenario("8x2x4-lumps", 8, 2, 4, LUMPS),
        Scenario("8x2x4-cliff", 8, 2, 4, CLIFF, LOSSES),
        Scenario("8x2x4-rare", 8, 2, 4, RARE, LOSSES),
        Scenario("8x2x4-mixed", 8, 2, 4, MIXED),
    )
}
"""By name: cases x arms x repeats, and the spread where it is not `PLAIN`."""


def choose(names: Sequence[str]) -> tuple[Scenario, ...]:
    """The scenarios of these names, in the order declared; all where none is given.

    Raises:
        InputError: There is no scenario of a name.
    """
    for name in names:
        if name not in SCENARIOS:
            raise InputError(
                "--scenario",
                expected=" or ".join(SCENARIOS),
                found=repr(name),
                cure="choose one of these",
            )
    return tuple(s for s in SCENARIOS.values() if not names or s.name in names)
