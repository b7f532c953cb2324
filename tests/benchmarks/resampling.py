"""What resampling without an index for every unit saves: the same percentiles, side by side.

    python tests/benchmarks/resampling.py [PAIRS] [RESAMPLES] [CONTRASTS]

Scores are drawn by seed, of three kinds: six values of one check grid; hundreds of
values with one large denominator; shares of ten totals without a common denominator
that is of use, where every value's count is drawn. scipy.stats.bootstrap is called as
people do, and once more in batches that fit a cache. Prints seconds of CPU and the
ratios; asserts nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import sides
from scipy import stats as scipy_stats

from evalkit.stats import bootstrap_means

SCORES = [0.0, 0.5, 7 / 9, 0.875, 8 / 9, 1.0]
SHARES = [0.05, 0.05, 0.1, 0.1, 0.2, 0.5]
DENOMINATOR = 360
TOTALS = [17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
TAILS = [0.025, 0.975]
BATCH = 500
SEED = 1
AIM = 0.02


def main(n_pairs: int = 6_000, n_resamples: int = 10_000, n_contrasts: int = 10):
    sides.print_conditions("numpy", "scipy", seed=SEED)
    print(f"{n_contrasts} contrasts, {n_pairs} pairs, {n_resamples} resamples")
    for kind, draw in KINDS.items():
        rng = np.random.default_rng(SEED)
        _compare(kind, [draw(rng, n_pairs) for _ in range(n_contrasts)], n_resamples)


def _check_grid(rng: np.random.Generator, n_pairs: int) -> np.ndarray:
    return rng.choice(SCORES, (n_pairs, 2), p=SHARES)


def _large_denominator(rng: np.random.Generator, n_pairs: int) -> np.ndarray:
    near = rng.choice(SCORES, (n_pairs, 2), p=SHARES) * DENOMINATOR
    return np.rint(near * rng.uniform(0.97, 1.0, near.shape)) / DENOMINATOR


def _many_totals(rng: np.random.Generator, n_pairs: int) -> np.ndarray:
    totals = rng.choice(TOTALS, n_pairs)
    return np.column_stack([rng.binomial(totals, p) / totals for p in (0.85, 0.75)])


KINDS = {
    "check grid": _check_grid,
    "large denominator": _large_denominator,
    "many totals": _many_totals,
}


def _compare(kind: str, contrasts: list[np.ndarray], n_resamples: int) -> None:
    def by_evalkit(pairs: np.ndarray) -> np.ndarray:
        return np.quantile(bootstrap_means(pairs, n_resamples, SEED), TAILS)

    def by_scipy(pairs: np.ndarray, batch: int | None = None) -> np.ndarray:
        found = scipy_stats.bootstrap(
            (pairs[:, 0] - pairs[:, 1],),
            np.mean,
            n_resamples=n_resamples,
            method="percentile",
            batch=batch,
            rng=SEED,
        )
        return np.array(found.confidence_interval)

    ours, ours_s = _timed(by_evalkit, contrasts)
    theirs, theirs_s = _timed(by_scipy, contrasts)
    _, batched_s = _timed(lambda pairs: by_scipy(pairs, BATCH), contrasts)
    n_distinct = len(np.unique(np.round(contrasts[0][:, 0] - contrasts[0][:, 1], 9)))
    apart = float(np.abs(ours - theirs).max())
    print(f"\n{kind}: {n_distinct} distinct differences in the first contrast")
    print(f"evalkit                   {ours_s:8.3f} s")
    print(f"scipy.stats.bootstrap     {theirs_s:8.3f} s, ratio {ours_s / theirs_s:.4f}")
    print(
        f"  in batches of {BATCH}       {batched_s:8.3f} s, ratio {ours_s / batched_s:.4f}"
    )
    print(f"limits are at most {apart:.5f} apart")
    sides.print_aim("CPU of scipy.stats.bootstrap", ours_s / theirs_s, AIM)
    sys.stdout.flush()


def _timed(
    ask: Callable[[np.ndarray], np.ndarray], contrasts: list[np.ndarray]
) -> tuple[np.ndarray, float]:
    begun = time.process_time()
    found = np.array([ask(pairs) for pairs in contrasts])
    return found, time.process_time() - begun


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
