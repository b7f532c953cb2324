"""What each family of vectors asks, answered through evalkit.stats.

A family is known by the start of an id or by the shape of its inputs and outputs,
so that further vectors of a family find their way. An asker gives the answer to one
output key; a key it does not know is an error, never passed over.
"""

import math
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import scipy
import statsmodels.stats.contingency_tables as sm_tables
from scipy import stats as scipy_stats

from evalkit import stats, usage
from evalkit.records import Request
from evalkit.stats import Refusal, Spread, Stratum, Times
from evalkit.stats.results import alike

DO_NOT_USE = {
    "wald_do_not_use": "METHOD: width 0 at 0 and n of n",
    "p_z_inspect_paired_delta": "METHOD: z on pairs as if independent",
    "p_if_z_used_wrongly": "METHOD: always t(G - 1), never z",
    "biased_plugin": "METHOD: plug-in of the unbiased pass@k",
    "mean_of_ratios": "METHOD: do not use",
    "p_asymptotic": "METHOD: anti-conservative for so few pairs",
    "p_auto": "scipy's choice between the exact p and that one, by its version",
    "naive_mean_completed_A": "METHOD: drops the timeouts",
    "naive_mean_completed_B": "METHOD: drops the timeouts",
    "cmh": "asymptotic, where the exact test costs nothing",
}
"""Keys held against the library they came from: our code has no such function."""

COMPARATORS = ("baseline", "comparator", "control", "bare", "placebo", "b", "B")
P_OF_ONE = re.compile(r"^(p|p_.*|.*two_sided.*)$")
"""Keys whose 1 is on record for data that are all alike; we refuse there."""

DESCRIPTIONS = frozenset({"n_perm", "zero_variance_cells", "mean", "mean_diff"})
"""Keys that are answered also where every claim is refused."""

Given = dict[str, Any]


class UnknownKeyError(KeyError):
    """A family has an output that nobody here knows how to ask for."""


class Family(NamedTuple):
    prefixes: tuple[str, ...]
    inputs: frozenset[str]
    outputs: frozenset[str]
    ask: Callable[[Given, str, list[Given]], Any]


FAMILIES: list[Family] = []


def family(*prefixes: str, inputs: str, outputs: str):
    def keep(ask):
        FAMILIES.append(
            Family(prefixes, frozenset(inputs.split()), frozenset(outputs.split()), ask)
        )
        return ask

    return keep


def family_of(row: Given) -> Family:
    """The family of a vector.

    Raises:
        LookupError: There is none, or it could be one of several.
    """
    given, wanted = set(row["inputs"]), set(row["outputs"])
    ranked = sorted(
        (
            (
                100 * max(len(p) * row["id"].startswith(p) for p in one.prefixes)
                + len(wanted & one.outputs),
                at,
            )
            for at, one in enumerate(FAMILIES)
            if one.inputs <= given
        ),
        reverse=True,
    )
    if not ranked or not ranked[0][0]:
        raise LookupError(
            f"vector {row['id']!r} is of no family known here: inputs {sorted(given)}, "
            f"outputs {sorted(wanted)}; add a family to tests/stats_families.py"
        )
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        raise LookupError(f"vector {row['id']!r} could be of two families")
    return FAMILIES[ranked[0][1]]


def refuses(row: Given, rows: list[Given]) -> bool:
    """True where each claim of a vector's family is refused: the key `refuse`."""
    found = family_of(row)
    claims = found.outputs - DO_NOT_USE.keys() - DESCRIPTIONS
    answers = [found.ask(row["inputs"], key, rows) for key in sorted(claims)]
    return all(isinstance(answer, Refusal) for answer in answers)


def number_in(pattern: str, key: str) -> float | None:
    found = re.fullmatch(pattern, key)
    return float(found[1]) if found else None


def level_in(key: str, kind: str) -> float | None:
    """0.95 of `ci95`, 0.975 of `upper97.5`."""
    percent = number_in(rf"{kind}_?(\d+(?:\.\d+)?)(?:_.*)?", key)
    return None if percent is None else percent / 100


def limits(found: Any) -> Any:
    return found if isinstance(found, Refusal) else [found.low, found.high]


def field(found: Any, name: str) -> Any:
    return found if isinstance(found, Refusal) else getattr(found, name)


def arms_of(cells: Given) -> tuple[str, str]:
    """Arm and comparator of one case's cells."""
    names = list(cells)
    other = next((name for name in COMPARATORS if name in names), names[0])
    (arm,) = (name for name in names if name != other)
    return arm, other


def strata_of(scores: Given) -> list[Stratum]:
    return [
        Stratum(tuple(cells[arm]), tuple(cells[other]))
        for cells in scores.values()
        for arm, other in (arms_of(cells),)
    ]


# --- these tasks ---------------------------------------------------------------


@family(
    "stratified_permutation",
    inputs="scores",
    outputs="n_perm count_two_sided p_two_sided count_greater p_greater",
)
def permutation(given, key, _):
    return permuted(strata_of(given["scores"]), key)


def permuted(strata, key):
    if key == "mean_diff":
        return stats.mean_difference(strata)
    two = stats.permutation_test(strata, seed=1)
    one = stats.permutation_test(strata, seed=1, alternative="greater")
    if key == "n_perm":
        return math.prod(
            math.comb(len(s.arm) + len(s.comparator), len(s.arm)) for s in strata
        )
    found = {"two_sided": two, "greater": one}.get(re.sub("^(p|count)_", "", key))
    if found is None:
        raise UnknownKeyError(key)
    if key.startswith("count") and not isinstance(found, Refusal):
        return round(found.p * found.n_permutations)
    return field(found, "p")


@family(
    "stratified_welch",
    inputs="scores",
    outputs="se df ci95 ci90 zero_variance_cells",
)
def welch(given, key, _):
    strata = strata_of(given["scores"])
    if key == "mean_diff":
        return stats.mean_difference(strata)
    if level := level_in(key, "ci"):
        return limits(stats.welch_interval(strata, confidence=level))
    found = stats.welch_interval(strata, confidence=0.95)
    if key == "zero_variance_cells":
        # A count is no claim: it is known also of cells that give no interval.
        if isinstance(found, Refusal):
            return sum(alike(cell) for stratum in strata for cell in stratum)
        return found.n_constant_cells
    if key in {"se", "df"}:
        return field(found, key)
    raise UnknownKeyError(key)


@family(
    "pass_stratified",
    "cmh",
    inputs="",
    outputs="p_exact p_cmh p_cmh_asymptotic p_asymptotic p_asymptotic_cmh",
)
def pass_stratified(given, key, _):
    """The exact test of passes, however they are written down."""
    strata = pass_strata(given)
    if "cmh" in key or "asymp" in key:
        tables = [
            [[sum(cell), len(cell) - sum(cell)] for cell in stratum]
            for stratum in strata
        ]
        found = sm_tables.StratifiedTable([np.array(t, float) for t in tables])
        return float(found.test_null_odds(correction="uncorrected" not in key).pvalue)
    if key in {"p", "p_exact", "p_two_sided", "p_exact_two_sided", "exact"}:
        return permuted(strata, "p_two_sided")
    if key in {"p_exact_greater", "p_greater"}:
        return permuted(strata, "p_greater")
    return permuted(strata, key)


def pass_strata(given):
    if "tables" in given or "table" in given:
        tables = given.get("tables", given.get("table"))
        rows = tables.values() if isinstance(tables, dict) else tables
        return [
            Stratum(*((1.0,) * k + (0.0,) * lost for k, lost in table))
            for table in rows
        ]
    (cells,) = (value for value in given.values() if isinstance(value, dict))
    return [
        Stratum(passes(row[arm]), passes(row[other]))
        for row in cells.values()
        for arm, other in (arms_of(row),)
    ]


def passes(cell):
    if len(cell) == 2 and max(cell) > 1:
        k, n = cell
        return (1.0,) * k + (0.0,) * (n - k)
    return tuple(float(x == 1) for x in cell)


@family("prob_improvement", inputs="scores", outputs="per_task mean")
def improvement(given, key, _):
    each = [stats.probability_of_improvement(s) for s in strata_of(given["scores"])]
    return {"per_task": each, "mean": sum(each) / len(each)}[key]


# --- tasks like these ----------------------------------------------------------


@family("signflip_", inputs="d", outputs="p_two_sided n_perm p_greater")
def sign_flip(given, key, _):
    d = given["d"]
    if key == "mean":
        return sum(d) / len(d)
    two = stats.sign_flip_test(d, seed=1, n_least=2)
    if key == "p_two_sided":
        return field(two, "p")
    if key == "n_perm":
        return 2 ** len(d) if isinstance(two, Refusal) else two.n_permutations
    if key == "p_greater":
        found = stats.sign_flip_test(d, seed=1, n_least=2, alternative="greater")
        return field(found, "p")
    raise UnknownKeyError(key)


@family("signflip_floor", inputs="n", outputs="p_min_two_sided")
def floor(given, key, _):
    if key == "p_min_two_sided":
        return each(stats.sign_flip_floor, given["n"])
    if found := re.fullmatch(r"min_n_alpha_(\.\d+)(?:/(\d+))?", key):
        return stats.cases_needed(float(found[1]) / float(found[2] or 1))
    raise UnknownKeyError(key)


def each(function, values):
    return (
        [function(v) for v in values] if isinstance(values, list) else function(values)
    )


@family("task_level_paired_t", inputs="d", outputs="se t df p ci95 p_if_z_used_wrongly")
def case_t(given, key, _):
    d = given["d"]
    found = stats.t_test(d, n_least=2)
    if key == "p_if_z_used_wrongly":
        return 2 * scipy.special.ndtr(-abs(scipy_stats.ttest_1samp(d, 0).statistic))
    if level := level_in(key, "ci"):
        return limits(stats.t_interval(d, confidence=level, n_least=2))
    return field(found, key)


@family(
    "se_clustered",
    inputs="x cluster",
    outputs="se_finite_corrected se_miller_uncorrected ratio",
)
def clustered(given, key, _):
    if df := number_in(r"t_crit_df(\d+)", key):
        return stats.t_quantile(df)
    found = stats.clustered_error(given["x"], given["cluster"])
    if isinstance(found, Refusal):
        return found
    return {
        "se_finite_corrected": found.se,
        "se_miller_uncorrected": found.se_uncorrected,
        "ratio": found.se / found.se_uncorrected,
    }[key]


@family(
    "paired_diff",
    inputs="d",
    outputs="se_naive_pairs se_clustered corr_A_B p_z_inspect_paired_delta",
)
def pairs(given, key, rows):
    d = given["d"]
    found = stats.t_test(d, n_least=2)
    if key == "mean":
        return sum(d) / len(d)
    if key == "se_naive_pairs":
        return field(found, "se")
    if re.fullmatch(r"p_t\d*", key):
        return field(found, "p")
    if key == "p_z_inspect_paired_delta":
        return 2 * scipy.special.ndtr(-abs(scipy_stats.ttest_1samp(d, 0).statistic))
    one, other, clusters = sides_of(given, rows)
    if key == "se_clustered":
        return field(stats.clustered_error(d, clusters), "se")
    if key == "corr_A_B":
        return stats.correlation(one, other)
    raise UnknownKeyError(key)


def sides_of(given, rows):
    """Both sides of pairs and their cases: a vector may give differences only, whose
    scores then stand in another vector of the same file."""
    d, clusters = given["d"], given.get("cluster", given.get("task"))
    one, other = given.get("a", given.get("A")), given.get("b", given.get("B"))
    if one is not None:
        return one, other, clusters
    for row in rows:
        strata = strata_of(row["inputs"].get("scores", {}))
        sides = [[x for s in strata for x in s[side]] for side in (0, 1)]
        same_size = len(sides[0]) == len(sides[1]) == len(d)
        if same_size and np.allclose(np.subtract(*sides), d, atol=1e-9):
            return *sides, [i for i, s in enumerate(strata) for _ in s.arm]
    for row in rows:
        x, cases = row["inputs"].get("x"), row["inputs"].get("cluster")
        if x and cases and len(x) == len(d):
            return np.add(x, d).tolist(), x, clusters or cases
    raise AssertionError("no vector of this file has the scores of these pairs")


@family("t_vs_z", inputs="G", outputs="t_crit extreme_mass_G^-G")
def by_clusters(given, key, _):
    ask = {
        "t_crit": lambda n: stats.t_quantile(n - 1),
        "extreme_mass_G^-G": stats.extreme_mass,
    }
    return each(ask[key], given["G"])


@family(
    "cluster_bootstrap",
    inputs="cluster_means",
    outputs="distinct percentile95 is_min_max tail_mass_each",
)
def cluster_bootstrap(given, key, _):
    means = given["cluster_means"]
    found = stats.exact_bootstrap(means)
    if level := level_in(key, "percentile"):
        return limits(stats.exact_bootstrap(means, confidence=level))
    if key == "rademacher_min_p":
        return stats.sign_flip_floor(len(means))
    if key == "distinct" and alike(means):
        return 1
    names = {
        "distinct": "n_distinct",
        "is_min_max": "is_range",
        "tail_mass_each": "tail_mass",
        "coverage_if_symmetric": "coverage",
    }
    return field(found, names[key])


@family("icc_deff", "icc", inputs="x cluster", outputs="icc1 deff_formula")
def agreement(given, key, _):
    ask = {
        "icc1": stats.icc1,
        "deff_formula": stats.design_effect,
        "deff_inspect_variance_surface": stats.variance_ratio,
    }
    return ask[key](given["x"], given["cluster"], n_least=2)


@family("tost", inputs="d margin", outputs="p p_lower p_upper ci90")
def tost(given, key, _):
    alpha = given.get("alpha", 0.05)
    if level := level_in(key, "ci"):
        alpha = (1 - level) / 2
    found = stats.equivalence_of_cases(
        given["d"], margin=given["margin"], alpha=alpha, n_least=2
    )
    return limits(found) if key.startswith("ci") else field(found, key)


@family("hier_betabinom", inputs="y N", outputs="mean ci95 pooled_beta11_ci")
def hierarchical(given, key, _):
    if key == "pooled_beta11_ci":
        return stats.beta_interval(sum(given["y"]), sum(given["N"]))
    found = stats.hierarchical_rate(given["y"], given["N"])
    return limits(found) if key.startswith("ci") else field(found, key)


# --- ranks ---------------------------------------------------------------------


@family(
    "wilcoxon",
    inputs="d",
    outputs="statistic p_permutation_exact p_auto p_asymptotic",
)
def wilcoxon(given, key, _, zeros="wilcox"):
    d = given["d"]
    if key in {"p_auto", "p_asymptotic"}:
        rounded = np.round(d, 12)
        method = key.removeprefix("p_")
        return scipy_stats.wilcoxon(rounded, zero_method=zeros, method=method).pvalue
    found = stats.signed_rank_test(d, zeros=zeros, n_least=1)
    return field(found, {"p_permutation_exact": "p"}.get(key, key))


@family("wilcoxon_pratt", inputs="d", outputs="")
def wilcoxon_pratt(given, key, rows):
    return wilcoxon(given, key, rows, zeros="pratt")


@family("hodges_lehmann", inputs="d", outputs="hl hl_zeros_dropped median")
def shift(given, key, _):
    d = given["d"]
    ask = {
        "hl": lambda: stats.hodges_lehmann(d),
        "hl_zeros_dropped": lambda: stats.hodges_lehmann(d, keep_zeros=False),
        "median": lambda: float(np.median(d)),
        "mean": lambda: sum(d) / len(d),
    }
    return ask[key]()


@family("sign_test", inputs="plus nonzero", outputs="p")
def sign(given, key, _):
    return {"p": stats.sign_test(given["plus"], given["nonzero"])}[key]


# --- rates ---------------------------------------------------------------------


@family("mcnemar", inputs="b c", outputs="p p_mid bayes_P_b_gt_c")
def mcnemar(given, key, _):
    b, c = given["b"], given["c"]
    if key == "bayes_P_b_gt_c":
        return stats.probability_b_greater(b, c)
    return field(stats.mcnemar(b, c), key)


@family(
    "proportion",
    inputs="k n",
    outputs="wilson clopper_pearson jeffreys beta11 wald_do_not_use",
)
def proportion(given, key, _):
    k, n = given["k"], given["n"]
    if key == "wald_do_not_use":
        half = scipy_stats.norm.ppf(0.975) * math.sqrt(k / n * (1 - k / n) / n)
        return [max(0.0, k / n - half), min(1.0, k / n + half)]
    ask = {
        "wilson": stats.wilson,
        "clopper_pearson": stats.clopper_pearson,
        "jeffreys": stats.jeffreys,
        "beta11": stats.beta_interval,
    }
    return ask[key](k, n)


@family(
    "two_proportions",
    inputs="a na b nb",
    outputs="diff newcombe fisher_two_sided boschloo_two_sided bayes_P_A_gt_B",
)
def two_proportions(given, key, _):
    four = given["a"], given["na"], given["b"], given["nb"]
    ask = {
        "newcombe": stats.newcombe,
        "fisher_two_sided": stats.fisher,
        "boschloo_two_sided": stats.boschloo,
        "bayes_P_A_gt_B": stats.probability_greater,
        "diff": lambda a, na, b, nb: a / na - b / nb,
    }
    return ask[key](*four)


@family("passk", inputs="n c k", outputs="pass_at_k pass_hat_k biased_plugin")
def passk(given, key, _):
    n, c, k = given["n"], given["c"], given["k"]
    if key == "biased_plugin":
        return 1 - (1 - c / n) ** k
    return {"pass_at_k": stats.pass_at_k, "pass_hat_k": stats.pass_hat_k}[key](n, c, k)


@family("zero_discordance_bound", inputs="n", outputs="upper95 upper97.5")
def discordance(given, key, _):
    if level := level_in(key, "upper"):
        return each(
            lambda n: stats.zero_discordance_bound(n, alpha=1 - level), given["n"]
        )
    raise UnknownKeyError(key)


@family("ceiling_lower_bound", inputs="n", outputs="lower95 lower97.5")
def ceiling(given, key, _):
    if level := level_in(key, "lower"):
        return each(lambda n: stats.ceiling_bound(n, alpha=1 - level), given["n"])
    raise UnknownKeyError(key)


@family("gate", inputs="points", outputs="A B A_max_if_no_effect B_max_if_no_effect")
def gate(given, key, _):
    rules = {
        name: rule_of(text) for name, text in given.items() if isinstance(text, str)
    }
    if key in rules:
        return [stats.passing_probability(rules[key], *at) for at in given["points"]]
    if key.removesuffix("_max_if_no_effect") in rules:
        rule = rules[key.removesuffix("_max_if_no_effect")]
        return stats.worst_false_pass(rule).probability
    if key == "at_p" or key.removesuffix("_at_p") in rules:
        name = key.removesuffix("_at_p") if key != "at_p" else next(iter(rules))
        return stats.worst_false_pass(rules[name]).at
    if found := re.fullmatch(r"fisher_two_sided_(\d+)v(\d+)", key):
        n = next(iter(rules.values())).n
        return stats.fisher(int(found[1]), n, int(found[2]), n)
    raise UnknownKeyError(key)


def rule_of(text):
    """`baseline<=1/2 and injected==2/2` as a rule."""
    found = {
        name: (sign, int(k), int(n))
        for name, sign, k, n in re.findall(r"(\w+)\s*(<=|>=|==)\s*(\d+)/(\d+)", text)
    }
    (low, most, n), (high, least, n_other) = found["baseline"], found["injected"]
    assert n == n_other, text
    assert low == "<=" or most == 0, text
    assert high == ">=" or least == n, text
    return stats.GateRule(n, most, least)


# --- families, power, time, money ----------------------------------------------


@family("holm_bh", "holm", inputs="p", outputs="holm bh")
def adjusted(given, key, _):
    ask = {"holm": stats.holm, "bh": stats.benjamini_hochberg}[key]
    return list(ask({str(i): p for i, p in enumerate(given["p"])}).values())


@family(
    "miller_power",
    inputs="omega2 sigma2A sigma2B delta",
    outputs="z_sum n_raw_K_inf",
)
def miller(given, key, _):
    spread = Spread(given["omega2"], given["sigma2A"], given["sigma2B"])
    levels = {k: given[k] for k in ("alpha", "power") if k in given}
    if key == "z_sum":
        return stats.z_sum(**levels)
    if found := re.fullmatch(r"n_raw_K_?(inf|\d+)", key):
        return stats.miller_sample_size(
            given["delta"], spread, n_repeats=float(found[1]), **levels
        )
    if found := re.fullmatch(r"mde_n(\d+)_K_?(inf|\d+)", key):
        return stats.miller_detectable(
            int(found[1]), spread, n_repeats=float(found[2]), **levels
        )
    raise UnknownKeyError(key)


@family("t_power", inputs="sd", outputs="n_tasks mde_n3 mde_n12")
def t_power(given, key, _):
    levels = {k: given[k] for k in ("alpha", "power") if k in given}
    if key == "n_tasks":
        return stats.t_sample_size(given["delta"], sd=given["sd"], **levels)
    if found := re.fullmatch(r"mde_n(\d+)", key):
        return stats.t_detectable(int(found[1]), sd=given["sd"], **levels)
    raise UnknownKeyError(key)


@family("cost_ratio", inputs="a b", outputs="gmr ratio_of_totals hl_ratio")
def costs(given, key, _):
    a, b = given["a"], given["b"]
    task = given.get("task", list(range(len(a))))
    strata = [
        Stratum(
            tuple(x for x, at in zip(a, task, strict=True) if at == t),
            tuple(x for x, at in zip(b, task, strict=True) if at == t),
        )
        for t in dict.fromkeys(task)
    ]
    if key == "ratio_of_totals":
        return stats.ratio_of_totals(strata)
    if key == "mean_of_ratios":
        return float(np.mean(np.divide(a, b)))
    logs = stats.log_strata(strata)
    if isinstance(logs, Refusal):
        return logs
    if key == "hl_ratio":
        shift = stats.hodges_lehmann(
            [math.log(x / y) for x, y in zip(a, b, strict=True)]
        )
        return math.exp(shift)
    if key == "signflip_p_tasks":
        means = [s.difference for s in logs]
        return field(stats.sign_flip_test(means, seed=1, n_least=2), "p")
    return ratio_by_t(a, b, strata, key)


def ratio_by_t(a, b, strata, key):
    if key == "gmr":
        found = stats.ratio_of_pairs(a, b, confidence=0.95, n_least=2)
        return field(found, "ratio")
    level = level_in(key, "ci")
    if level and key.endswith("pairs"):
        return limits(stats.ratio_of_pairs(a, b, confidence=level, n_least=2))
    if level and "tasks" in key:
        return limits(stats.ratio_of_cases(strata, confidence=level, n_least=2))
    raise UnknownKeyError(key)


@family("censored_time", inputs="tA doneA tB doneB tau", outputs="rmst_A logrank_p")
def censored(given, key, _):
    arms = {
        name: Times(
            tuple(given[f"t{name}"]),
            tuple(map(bool, given[f"done{name}"])),
            given["tau"],
        )
        for name in "AB"
    }
    key = key.removeprefix("lifelines_")
    if found := re.fullmatch(r"(rmst|km_median|naive_mean_completed)_([AB])", key):
        times = arms[found[2]]
        if found[1] == "naive_mean_completed":
            rows = zip(times.seconds, times.finished, strict=True)
            return float(np.mean([at for at, done in rows if done]))
        return {"rmst": stats.restricted_mean_time, "km_median": stats.median_time}[
            found[1]
        ](times)
    found = stats.log_rank(arms["A"], arms["B"])
    return field(found, key.removeprefix("logrank_"))


@family("missing_pairs", inputs="a b", outputs="planned complete worst_for_A")
def missing(given, key, _):
    names = {
        "planned": "n_planned",
        "complete": "n_complete",
        "complete_case_diff": "complete_case",
        "worst_for_A": "low",
        "best_for_A": "high",
        "all_missing_zero": "all_zero",
        "straddles_zero": "straddles",
    }
    return getattr(stats.missing_pairs(given["a"], given["b"]), names[key])


@family("price", inputs="fresh w5m w1h read out", outputs="opus-4-8")
def price(given, key, _):
    data = files("evalkit").joinpath("data/prices.toml").read_bytes()
    rates = usage.parse_rates(data)
    if key.startswith("seed_convention_"):
        name = f"opus-list-{key.removeprefix('seed_convention_').replace('_', '-')}"
        return usage.price(request(given, "any"), rates, accounting=name)
    model = re.match(r"[a-z]+(-\d+)+", key)
    assert model, key
    asked = request(given, f"claude-{model[0]}")
    if key.endswith("_flat_wrong"):
        flat = rates.models[asked.model]
        names = ("input", "write_5m", "write_1h", "read", "output")
        return sum(getattr(asked, n) * getattr(flat, n) for n in names) / 1e6
    if key.removeprefix(model[0]) in {
        "", "_by_hand", "_tiered", "_above_100k_by_hand",
    }:  # fmt: skip
        return usage.price(asked, rates)
    raise UnknownKeyError(key)


def request(given, model):
    return Request(
        call=1,
        model=model,
        input=given["fresh"],
        write_5m=given["w5m"],
        write_1h=given["w1h"],
        read=given["read"],
        output=given["out"],
        n_requests=1,
        source="vector",
    )


# --- descriptions and labels ---------------------------------------------------


@family("iqm", inputs="x", outputs="iqm optimality_gap")
def profile(given, key, _):
    x = given["x"]
    if found := re.fullmatch(r"profile_(ge|gt)_(.*)", key):
        ask = {"ge": stats.share_at_least, "gt": stats.share_above}[found[1]]
        return [ask(x, float(level)) for level in found[2].split("_")]
    return {"iqm": stats.interquartile_mean, "optimality_gap": stats.optimality_gap}[
        key
    ](x)


@family("normalized_gain", "normalised_gain", inputs="pairs", outputs="g")
def gain(given, key, _):
    assert key == "g", key
    return [field(stats.normalised_gain(*pair), "share") for pair in given["pairs"]]


@family("pareto", inputs="cost_quality", outputs="front")
def pareto(given, key, _):
    assert key == "front", key
    points = {name: tuple(at) for name, at in given["cost_quality"].items()}
    return stats.pareto_front(points)


@family("routing", inputs="truth pred", outputs="exact_match micro_zd0 macro_zd0")
def routing(given, key, _):
    truth, picks = given["truth"], given["pred"]
    hits = stats.hits(truth, picks)
    if found := re.fullmatch(r"(micro|macro|samples|jaccard)_zd(\d(?:\.\d)?)", key):
        ask = {
            "micro": stats.micro_retrieval,
            "macro": stats.macro_retrieval,
            "samples": stats.item_retrieval,
            "jaccard": stats.jaccard,
        }[found[1]]
        answer = ask(truth, picks, zero_division=float(found[2]))
        return answer if isinstance(answer, float) else answer._asdict()
    others = {
        "classes": lambda: list(stats.classes(truth, picks)),
        "hamming_loss": lambda: stats.hamming_loss(truth, picks),
        "exact_wilson": lambda: stats.wilson(hits.n_exact, hits.n_items),
        "exact_clopper_pearson": lambda: stats.clopper_pearson(
            hits.n_exact, hits.n_items
        ),
    }
    if key in others:
        return others[key]()
    names = {
        "exact_match": "exact",
        "top1_hit": "top1",
        "any_hit": "any_hit",
        "no_selection_rate": "nothing_picked",
        "missed_when_needed": "missed_when_needed",
    }
    return getattr(hits, names[key])
