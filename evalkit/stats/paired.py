"""Paired passes: did the pairs that differ lean one way? Pure.

b pairs passed only in the arm, c only in the comparator. Pairs that agree say
nothing about direction, so with none that differ there is no p (never p = 1), but
there are bounds. McNemar (1947) exact; mid-p after Fagerland et al. (2013).
"""

from __future__ import annotations

from typing import NamedTuple

import scipy

from evalkit.stats.bounds import zero_discordance_bound
from evalkit.stats.rates import newcombe
from evalkit.stats.results import Refusal


class Discordance(NamedTuple):
    """Exact two-sided p, mid-p, and the probability that b is the more likely."""

    p: float
    p_mid: float
    p_greater: float
    b: int
    c: int


def mcnemar(
    b: int, c: int, *, both: int | None = None, neither: int | None = None
) -> Discordance | Refusal:
    """Exact test that discordant pairs fall to either side alike.

    Args:
        b: Pairs that passed in the arm only.
        c: Pairs that passed in the comparator only.
        both: Pairs that passed in both, where known.
        neither: Pairs that passed in neither, where known.

    Returns:
        A `Discordance`. A `Refusal` where no pair is discordant, with the bounds
        `discordance` (greatest share of such pairs, one-sided 95 %) and
        `newcombe_half_width` (of the two rates as if unpaired) where `both` and
        `neither` are known.
    """
    if min(b, c, both or 0, neither or 0) < 0:
        raise ValueError("counts of pairs are not negative")
    n = b + c
    if n == 0:
        return _undecided(both, neither)
    law = scipy.stats.binom(n, 0.5)
    fewer = min(b, c)
    # With b = c the two tails overlap in one point, which the p then counts twice.
    p = min(1.0, 2 * float(law.cdf(fewer)))
    p_mid = min(1.0, 2 * float(law.cdf(fewer)) - float(law.pmf(fewer)))
    return Discordance(p, p_mid, probability_b_greater(b, c), b, c)


def probability_b_greater(b: int, c: int) -> float:
    """P(the chance of b exceeds that of c), flat prior on the four cells.

    Given that prior b / (b + c) is Beta(b + 1, c + 1); with no discordant pair it
    is 0.5, which is the prior and no finding.
    """
    return float(scipy.special.betainc(c + 1, b + 1, 0.5))


def _undecided(both: int | None, neither: int | None) -> Refusal:
    if both is None or neither is None or both + neither == 0:
        return Refusal("no discordant pair, so nothing speaks for either arm")
    n = both + neither
    share = zero_discordance_bound(n)
    bounds = {"discordance": share}
    text = (
        f"no discordant pair among {n}: at most {100 * share:.1f} % of such pairs differ "
        f"(one-sided 95 % bound)"
    )
    limits = newcombe(both, n, both, n)
    if not isinstance(limits, Refusal):
        bounds["newcombe_half_width"] = limits[1]
        text += (
            f", and the two rates by at most {bounds['newcombe_half_width']:.3f} "
            f"(95 % interval of Newcombe)"
        )
    return Refusal(text, bounds)
