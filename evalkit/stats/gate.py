"""How often a declared pilot gate lets a case pass. Pure.

A gate is n trials in each of two arms: the case goes on where the baseline passes
at most so often and the injected arm at least so often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

_N_STARTS = 2001


class GateRule(NamedTuple):
    """The rule as declared: trials per arm, and the two limits on passes."""

    n: int
    most_baseline: int
    least_injected: int


class Worst(NamedTuple):
    """The greatest probability of passing without any effect, and the rate there."""

    probability: float
    at: float


def passing_probability(rule: GateRule, p_baseline: float, p_injected: float) -> float:
    """Probability that a case passes the gate at these true rates."""
    _check(rule)
    return _quiet(rule, p_baseline) * _loud(rule, p_injected)


def worst_false_pass(rule: GateRule) -> Worst:
    """The rate, the same in both arms, at which the gate is fooled most often."""
    _check(rule)
    rates = np.linspace(0.0, 1.0, _N_STARTS)
    grown = [passing_probability(rule, p, p) for p in rates.tolist()]
    place = int(np.argmax(grown))
    low, high = rates[max(place - 1, 0)], rates[min(place + 1, _N_STARTS - 1)]
    at = float(rates[place])
    # Where the slope changes sign the maximum lies inside, else at an end.
    if _slope(low, rule) > 0 > _slope(high, rule):
        at = float(scipy.optimize.brentq(_slope, low, high, args=(rule,), xtol=1e-15))
    return Worst(passing_probability(rule, at, at), at)


def _quiet(rule: GateRule, p: float) -> float:
    return float(scipy.stats.binom.cdf(rule.most_baseline, rule.n, p))


def _loud(rule: GateRule, p: float) -> float:
    return float(scipy.stats.binom.sf(rule.least_injected - 1, rule.n, p))


def _slope(p: float, rule: GateRule) -> float:
    """Derivative of the probability of passing, both rates being p.

    The tail of a binomial has the derivative n * pmf(k; n - 1, p).
    """
    n, pmf = rule.n, scipy.stats.binom.pmf
    quieter = -n * float(pmf(rule.most_baseline, n - 1, p))
    louder = n * float(pmf(rule.least_injected - 1, n - 1, p))
    return quieter * _loud(rule, p) + _quiet(rule, p) * louder


def _check(rule: GateRule) -> None:
    if not (
        rule.n >= 1
        and 0 <= rule.most_baseline <= rule.n
        and 0 <= rule.least_injected <= rule.n
    ):
        raise ValueError(f"a gate's limits lie between 0 and its trials: {rule}")
