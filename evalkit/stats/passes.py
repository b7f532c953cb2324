"""Passing at least once, or every time, in k tries. Pure.

Unbiased for a case with n trials of which c passed: pass@k after Chen et al.
(2021), pass^k after Yao et al. (2024, tau-bench).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from evalkit.stats.results import Refusal, mean

_Measure = Callable[[int, int, int], float | Refusal]


def pass_at_k(n: int, c: int, k: int) -> float | Refusal:
    """Probability that at least one of k trials drawn from these n passed.

    Args:
        n: Trials of the case.
        c: Those that passed.
        k: Tries. With k = n this only says whether any passed.
    """
    refusal = _refused(n, c, k)
    return refusal or 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | Refusal:
    """Probability that all of k trials drawn from these n passed."""
    refusal = _refused(n, c, k)
    return refusal or comb(c, k) / comb(n, k)


def macro(
    measure: _Measure, cases: Sequence[tuple[int, int]], k: int
) -> float | Refusal:
    """Mean over cases of `pass_at_k` or `pass_hat_k`; refused where one is.

    Args:
        measure: Which of the two.
        cases: Trials and passes of each case.
        k: Tries.
    """
    if not cases:
        return Refusal("no rate: there is no case")
    found = [measure(n, c, k) for n, c in cases]
    known = [value for value in found if not isinstance(value, Refusal)]
    if len(known) < len(found):
        n_short = len(found) - len(known)
        return Refusal(
            f"no rate in {k} tries: {n_short} of {len(found)} cases have fewer trials"
        )
    return mean(known)


def _refused(n: int, c: int, k: int) -> Refusal | None:
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"expected 0 <= c <= n and k >= 1, found {c=}, {n=}, {k=}")
    if k > n:
        return Refusal(f"no rate in {k} tries: the case has only {n} trials")
    return None
