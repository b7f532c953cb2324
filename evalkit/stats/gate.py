"""How often a declared pilot gate lets a case pass. Pure.

A gate is n trials in each of two arms: the case goes on where the baseline passes
at most so often and the injected arm at least so often.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import scipy

_N_STARTS = 1000


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
    rates = [i / _N_STARTS for i in range(_N_STARTS + 1)]
    at = max(rates, key=lambda p: passing_probability(rule, p, p))
    low, high = max(0.0, at - 1 / _N_STARTS), min(1.0, at + 1 / _N_STARTS)
    # Where the slope changes sign the maximum lies inside, else at an end.
    if _slope(low, rule) > 0 > _slope(high, rule):
        at = float(scipy.optimize.brentq(_slope, low, high, args=(rule,), xtol=1e-15))
    return Worst(passing_probability(rule, at, at), at)


def _quiet(rule: GateRule, p: float) -> float:
    return math.fsum(_chance(k, rule.n, p) for k in range(rule.most_baseline + 1))


def _loud(rule: GateRule, p: float) -> float:
    return math.fsum(
        _chance(k, rule.n, p) for k in range(rule.least_injected, rule.n + 1)
    )


def _slope(p: float, rule: GateRule) -> float:
    """Derivative of the probability of passing, both rates being p.

    The tail of a binomial has the derivative n * chance(k; n - 1, p).
    """
    quieter = -rule.n * _chance(rule.most_baseline, rule.n - 1, p)
    louder = rule.n * _chance(rule.least_injected - 1, rule.n - 1, p)
    return quieter * _loud(rule, p) + _quiet(rule, p) * louder


def _chance(k: int, n: int, p: float) -> float:
    """Probability of k passes in n trials."""
    return math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else 0.0


def _check(rule: GateRule) -> None:
    if not (
        rule.n >= 1
        and 0 <= rule.most_baseline <= rule.n
        and 0 <= rule.least_injected <= rule.n
    ):
        raise ValueError(f"a gate's limits lie between 0 and its trials: {rule}")
