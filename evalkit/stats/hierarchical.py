"""A pass rate of tasks like these, with cases that differ. Pure.

Each case has a rate of its own, drawn from Beta(d m, d (1 - m)) about the mean m
that is asked for (Bowyer et al., 2025). With few cases the prior speaks loudest:
print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from evalkit.stats.results import Refusal, same_length

PRIOR = "mean rate uniform on 0 to 1, concentration exponential with mean 1"
N_RATES = 2_000
N_CONCENTRATIONS = 64


class Posterior(NamedTuple):
    """Mean and equal-tailed interval of the mean rate, and the prior they rest on."""

    mean: float
    low: float
    high: float
    prior: str


def hierarchical_rate(
    passes: Sequence[int], trials: Sequence[int], *, confidence: float = 0.95
) -> Posterior | Refusal:
    """The mean rate of passing over tasks like these.

    Args:
        passes: Of each case.
        trials: Of each case.
        confidence: Of the interval.
    """
    if not same_length(passes, trials) or not sum(trials):
        return Refusal("no rate: there is no trial")
    if any(not 0 <= k <= n for k, n in zip(passes, trials, strict=True)):
        raise ValueError("passes lie between 0 and the trials of their case")
    # Midpoints over the mean; Gauss-Laguerre nodes, whose weight is the very prior
    # of the concentration.
    rates = (np.arange(N_RATES) + 0.5) / N_RATES
    nodes, weights = np.polynomial.laguerre.laggauss(N_CONCENTRATIONS)
    a = np.multiply.outer(rates, nodes)
    b = np.multiply.outer(1 - rates, nodes)
    log_likelihood = np.zeros_like(a)
    for (k, n), times in _counted(passes, trials):
        ways = scipy.special.betaln(a + k, b + n - k) - scipy.special.betaln(a, b)
        log_likelihood += times * ways
    log_likelihood -= log_likelihood.max()
    density = np.exp(log_likelihood) @ weights
    share = density / density.sum()
    reached = np.concatenate([[0.0], np.cumsum(share)])
    edges = np.arange(N_RATES + 1) / N_RATES
    tail = (1 - confidence) / 2
    low, high = np.interp([tail, 1 - tail], reached, edges)
    return Posterior(float(share @ rates), float(low), float(high), PRIOR)


def _counted(
    passes: Sequence[int], trials: Sequence[int]
) -> list[tuple[tuple[int, int], int]]:
    cases = sorted(zip(passes, trials, strict=True))
    return [(case, cases.count(case)) for case in dict.fromkeys(cases)]
