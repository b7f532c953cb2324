"""Intervals, tests and bounds. Pure: no clock, no files; draws are seeded.

Every function gives a number, or a `Refusal` that says in a sentence why there is
none: trials that are all alike never give an interval of width 0 or a p of 1. scipy
loads its parts when they are first used, so importing this package is cheap.

    strata          these tasks: differences inside each case
    tasks           tasks like these: the case is the unit
    equivalence     no difference, or no evidence?
    rates           one rate of passing, and two that are not paired
    paired          passes in pairs
    passes          at least once, or every time, in k tries
    hierarchical    a rate of tasks like these, with cases that differ
    bounds          what trials that all came out the same still bound
    attainable      the least p that a test could give
    gate            how often a pilot gate is fooled
    families        many comparisons at once
    ratios          cost, tokens, time: how many times as much
    survival        time to finish, where some were cut off
    missing         pairs of which a side is missing
    power           what a design can detect
    labels          several labels per item
    agreement       how much alike trials of a case are
    ranks           order and sign rather than size
    describe        descriptions, never headlines
    resampling      the bootstrap, as a check
    resamples       means of resamples, drawn fast
    results         what a statistic gives back
    permutations    exact laws of sums under relabelling
    grids           whole units in which floats are compared
"""

from evalkit.stats.agreement import correlation, design_effect, icc1, variance_ratio
from evalkit.stats.attainable import (
    least_p_of_cases,
    least_p_of_pairs,
    least_p_of_strata,
)
from evalkit.stats.bounds import ceiling_bound, zero_discordance_bound
from evalkit.stats.describe import (
    interquartile_mean,
    normalised_gain,
    optimality_gap,
    pareto_front,
    share_above,
    share_at_least,
)
from evalkit.stats.equivalence import (
    Equivalence,
    equivalence_of_cases,
    equivalence_of_strata,
)
from evalkit.stats.families import benjamini_hochberg, holm
from evalkit.stats.gate import GateRule, passing_probability, worst_false_pass
from evalkit.stats.grids import UNIT
from evalkit.stats.hierarchical import Posterior, hierarchical_rate
from evalkit.stats.labels import (
    Hits,
    Retrieval,
    by_class,
    classes,
    hamming_loss,
    hits,
    item_retrieval,
    jaccard,
    macro_retrieval,
    micro_retrieval,
)
from evalkit.stats.missing import MissingPairs, missing_pairs
from evalkit.stats.paired import Discordance, mcnemar, probability_b_greater
from evalkit.stats.passes import macro, pass_at_k, pass_hat_k
from evalkit.stats.permutations import MAX_EXACT
from evalkit.stats.power import (
    Detectable,
    Spread,
    miller_detectable,
    miller_sample_size,
    stratified_detectable,
    t_detectable,
    t_sample_size,
    z_sum,
)
from evalkit.stats.ranks import (
    SignedRanks,
    hodges_lehmann,
    probability_of_improvement,
    sign_test,
    signed_rank_test,
)
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
from evalkit.stats.ratios import (
    WELCH_LOG,
    Ratio,
    log_strata,
    ratio_of_cases,
    ratio_of_pairs,
    ratio_of_totals,
)
from evalkit.stats.resamples import bootstrap_means
from evalkit.stats.resampling import (
    ExactBootstrap,
    Percentiles,
    bootstrap_interval,
    exact_bootstrap,
)
from evalkit.stats.results import Interval, PValue, Refusal
from evalkit.stats.strata import (
    DRAWN,
    EXACT,
    N_DRAWS,
    WELCH,
    Stratum,
    mean_difference,
    mean_interval,
    permutation_test,
    welch_interval,
)
from evalkit.stats.survival import (
    LogRank,
    TimeContrast,
    Times,
    contrast_times,
    log_rank,
    median_time,
    restricted_mean_time,
)
from evalkit.stats.tasks import (
    MIN_CASES,
    T_CASES,
    ClusteredError,
    StudentT,
    cases_needed,
    clustered_error,
    clustered_interval,
    extreme_mass,
    sign_flip_floor,
    sign_flip_test,
    t_interval,
    t_quantile,
    t_test,
)

__all__ = [
    "DRAWN",
    "EXACT",
    "MAX_EXACT",
    "MIN_CASES",
    "N_DRAWS",
    "T_CASES",
    "UNIT",
    "WELCH",
    "WELCH_LOG",
    "ClusteredError",
    "Detectable",
    "Discordance",
    "Equivalence",
    "ExactBootstrap",
    "GateRule",
    "Hits",
    "Interval",
    "LogRank",
    "MissingPairs",
    "PValue",
    "Percentiles",
    "Posterior",
    "Ratio",
    "Refusal",
    "Retrieval",
    "SignedRanks",
    "Spread",
    "Stratum",
    "StudentT",
    "TimeContrast",
    "Times",
    "benjamini_hochberg",
    "beta_interval",
    "bootstrap_interval",
    "bootstrap_means",
    "boschloo",
    "by_class",
    "cases_needed",
    "ceiling_bound",
    "classes",
    "clopper_pearson",
    "clustered_error",
    "clustered_interval",
    "contrast_times",
    "correlation",
    "design_effect",
    "equivalence_of_cases",
    "equivalence_of_strata",
    "exact_bootstrap",
    "extreme_mass",
    "fisher",
    "hamming_loss",
    "hierarchical_rate",
    "hits",
    "hodges_lehmann",
    "holm",
    "icc1",
    "interquartile_mean",
    "item_retrieval",
    "jaccard",
    "jeffreys",
    "least_p_of_cases",
    "least_p_of_pairs",
    "least_p_of_strata",
    "log_rank",
    "log_strata",
    "macro",
    "macro_retrieval",
    "mcnemar",
    "mean_difference",
    "mean_interval",
    "median_time",
    "micro_retrieval",
    "miller_detectable",
    "miller_sample_size",
    "missing_pairs",
    "newcombe",
    "normalised_gain",
    "optimality_gap",
    "pareto_front",
    "pass_at_k",
    "pass_hat_k",
    "passing_probability",
    "permutation_test",
    "probability_b_greater",
    "probability_greater",
    "probability_of_improvement",
    "ratio_of_cases",
    "ratio_of_pairs",
    "ratio_of_totals",
    "restricted_mean_time",
    "share_above",
    "share_at_least",
    "sign_flip_floor",
    "sign_flip_test",
    "sign_test",
    "signed_rank_test",
    "stratified_detectable",
    "t_detectable",
    "t_interval",
    "t_quantile",
    "t_sample_size",
    "t_test",
    "variance_ratio",
    "welch_interval",
    "wilson",
    "worst_false_pass",
    "z_sum",
    "zero_discordance_bound",
]
