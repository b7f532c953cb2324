"""Intervals and tests. Pure.

strata    these tasks: differences inside each case
"""

from evalkit.stats.strata import (
    DRAWN,
    EXACT,
    MAX_EXACT,
    N_DRAWS,
    UNIT,
    WELCH,
    WELCH_LOG,
    Interval,
    PValue,
    Refusal,
    Stratum,
    clopper_pearson,
    log_strata,
    mean_difference,
    permutation_test,
    ratio_of_totals,
    welch_interval,
    wilson,
)

__all__ = [
    "DRAWN",
    "EXACT",
    "MAX_EXACT",
    "N_DRAWS",
    "UNIT",
    "WELCH",
    "WELCH_LOG",
    "Interval",
    "PValue",
    "Refusal",
    "Stratum",
    "clopper_pearson",
    "log_strata",
    "mean_difference",
    "permutation_test",
    "ratio_of_totals",
    "welch_interval",
    "wilson",
]
