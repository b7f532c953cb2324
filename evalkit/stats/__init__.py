"""Intervals, tests and bounds. Pure: no clock, no files; draws are seeded.

Every function gives a number, or a `Refusal` that says why there is none.

By question:
    strata          these tasks: differences inside each case
    ratios          cost, tokens, time: how many times as much
    rates           one rate of passing, and two that are not paired
    paired          passes in pairs
    passes          at least once, or every time, in k tries
    bounds          what trials that all came out the same still bound
    gate            how often a pilot gate is fooled

Underneath:
    results         what a statistic gives back
    permutations    exact laws of sums under relabelling
"""

from evalkit.stats.bounds import ceiling_bound, zero_discordance_bound
from evalkit.stats.gate import GateRule, Worst, passing_probability, worst_false_pass
from evalkit.stats.paired import Discordance, mcnemar, probability_b_greater
from evalkit.stats.passes import macro, pass_at_k, pass_hat_k
from evalkit.stats.permutations import MAX_EXACT, UNIT
from evalkit.stats.rates import (
    beta_interval,
    boschloo,
    clopper_pearson,
    fisher,
    jeffreys,
    newcombe,
    probability_greater,
    wilson,
)
from evalkit.stats.ratios import WELCH_LOG, log_strata, ratio_of_totals
from evalkit.stats.results import Interval, PValue, Refusal
from evalkit.stats.strata import (
    DRAWN,
    EXACT,
    N_DRAWS,
    WELCH,
    Stratum,
    mean_difference,
    permutation_test,
    welch_interval,
)

__all__ = [
    "DRAWN",
    "EXACT",
    "MAX_EXACT",
    "N_DRAWS",
    "UNIT",
    "WELCH",
    "WELCH_LOG",
    "Discordance",
    "GateRule",
    "Interval",
    "PValue",
    "Refusal",
    "Stratum",
    "Worst",
    "beta_interval",
    "boschloo",
    "ceiling_bound",
    "clopper_pearson",
    "fisher",
    "jeffreys",
    "log_strata",
    "macro",
    "mcnemar",
    "mean_difference",
    "newcombe",
    "pass_at_k",
    "pass_hat_k",
    "passing_probability",
    "permutation_test",
    "probability_b_greater",
    "probability_greater",
    "ratio_of_totals",
    "welch_interval",
    "wilson",
    "worst_false_pass",
    "zero_discordance_bound",
]
