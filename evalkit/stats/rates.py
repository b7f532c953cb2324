"""Rates of passing: one, and two that are not paired. Pure.

Wilson (1927) is for display, Clopper-Pearson (1934) for gates; Wald is not here,
since it gives width 0 at 0 and at n of n. Two rates differ by Newcombe's interval
(1998, method 10) and are tested by Boschloo's exact test; Fisher's stands beside.
"""

from __future__ import annotations

import math

import scipy

from evalkit.stats.results import Refusal

_Limits = tuple[float, float]


def wilson(k: int, n: int, *, confidence: float = 0.95) -> _Limits | None:
    """Wilson interval of a rate, for display; None where n is 0."""
    _check(k, n)
    if n == 0:
        return None
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    rate, weight = k / n, z * z / n
    middle = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / n + weight / n / 4)
    # At the ends the formula gives 0 and 1, but floats only nearly so.
    return (
        0.0 if k == 0 else max(0.0, middle - half),
        1.0 if k == n else min(1.0, middle + half),
    )


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> _Limits | None:
    """Clopper-Pearson interval of a rate, for gates; None where n is 0."""
    _check(k, n)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    return (
        0.0 if k == 0 else _beta_quantile(tail, k, n - k + 1),
        1.0 if k == n else _beta_quantile(1 - tail, k + 1, n - k),
    )


def jeffreys(k: int, n: int, *, confidence: float = 0.95) -> _Limits | None:
    """Equal-tailed interval under the prior Beta(1/2, 1/2); None where n is 0."""
    return beta_interval(k, n, prior=0.5, confidence=confidence)


def beta_interval(
    k: int, n: int, *, prior: float = 1.0, confidence: float = 0.95
) -> _Limits | None:
    """Equal-tailed interval under the prior Beta(prior, prior); None where n is 0."""
    _check(k, n)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    a, b = k + prior, n - k + prior
    return _beta_quantile(tail, a, b), _beta_quantile(1 - tail, a, b)


def newcombe(
    k: int, n: int, k_other: int, n_other: int, *, confidence: float = 0.95
) -> _Limits | Refusal:
    """Interval of a rate less another, squared and added from their Wilson limits.

    At 12 of 12 against 12 of 12 it is -0.242 to 0.242: that is the result there.
    """
    one = wilson(k, n, confidence=confidence)
    other = wilson(k_other, n_other, confidence=confidence)
    if one is None or other is None:
        return Refusal("no interval: an arm has no trial")
    rate, rate_other = k / n, k_other / n_other
    difference = rate - rate_other
    return (
        difference - math.hypot(rate - one[0], other[1] - rate_other),
        difference + math.hypot(one[1] - rate, rate_other - other[0]),
    )


def fisher(k: int, n: int, k_other: int, n_other: int) -> float | Refusal:
    """Two-sided p of Fisher's exact test of two rates that are not paired."""
    refusal = _refused(k, n, k_other, n_other)
    if refusal:
        return refusal
    found = scipy.stats.fisher_exact(_table(k, n, k_other, n_other))
    return float(found.pvalue)


def boschloo(k: int, n: int, k_other: int, n_other: int) -> float | Refusal:
    """Two-sided p of Boschloo's exact test of two rates that are not paired."""
    refusal = _refused(k, n, k_other, n_other)
    if refusal:
        return refusal
    table = _table(k, n, k_other, n_other)
    # scipy takes columns as the groups. Its answer hangs on which comes first only
    # by the noise of its search for the worst rate: put them in one order.
    ordered = sorted(zip(*table, strict=True))
    found = scipy.stats.boschloo_exact(
        [list(row) for row in zip(*ordered, strict=True)]
    )
    return min(1.0, float(found.pvalue))


def probability_greater(k: int, n: int, k_other: int, n_other: int) -> float:
    """Probability that the first rate is the greater, under flat priors.

    Sum over the beta-binomial, exact for whole counts: P(X > Y) with X ~
    Beta(k + 1, n - k + 1) and Y ~ Beta(k_other + 1, n_other - k_other + 1).
    """
    _check(k, n)
    _check(k_other, n_other)
    a, b = k + 1, n - k + 1
    c, d = k_other + 1, n_other - k_other + 1
    log_beta = scipy.special.betaln
    return math.fsum(
        math.exp(
            log_beta(c + i, d + b)
            - math.log(b + i)
            - log_beta(1 + i, b)
            - log_beta(c, d)
        )
        for i in range(a)
    )


def _check(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"passes must lie between 0 and {n}, found {k}")


def _refused(k: int, n: int, k_other: int, n_other: int) -> Refusal | None:
    limits = newcombe(k, n, k_other, n_other)
    if isinstance(limits, Refusal):
        return limits
    if k + k_other not in {0, n + n_other}:
        return None
    half = limits[1]
    what = "every trial passed" if k else "no trial passed"
    return Refusal(
        f"no test: {what} in both arms; the two rates differ by at most {half:.3f} "
        f"(95 % interval of Newcombe)",
        {"newcombe_half_width": half},
    )


def _table(k: int, n: int, k_other: int, n_other: int) -> list[list[int]]:
    return [[k, k_other], [n - k, n_other - k_other]]


def _beta_quantile(p: float, a: float, b: float) -> float:
    return float(scipy.special.betaincinv(a, b, p))
