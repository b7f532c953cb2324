"""What trials that all came out the same still bound. Pure.

All are of the form alpha ** (1 / n) and need n independent trials.
"""

from __future__ import annotations


def ceiling_bound(n: int, *, alpha: float = 0.05) -> float:
    """Least mean score, one-sided, where n independent scores were all 1.

    For any law of scores on 0 to 1: P(all are 1) <= mean ** n.
    """
    return _least(n, alpha)


def zero_discordance_bound(n: int, *, alpha: float = 0.05) -> float:
    """Greatest share of discordant pairs, one-sided, where none of n was."""
    return 1.0 - _least(n, alpha)


def _least(n: int, alpha: float) -> float:
    if n < 1:
        raise ValueError("a bound needs a trial")
    return alpha ** (1 / n)
