"""What it cost: tokens, dollars, time, and the run as a whole."""

from __future__ import annotations

from evalkit import wording
from evalkit.conclusions import Analysis, ArmSummary, Spend
from evalkit.markup import Column, Fold, Page, Table
from evalkit.outcomes import SELECT, TASK

CLASSES = {
    "input": "Fresh input",
    "write_5m": "Cache write, 5 min",
    "write_1h": "Cache write, 1 h",
    "read": "Cache read",
    "output": "Output",
}
_PURPOSES = {TASK: "do the task", SELECT: "choose a skill"}
_RATIOS = {"tokens": "tokens", "usd": "dollars", "wall_s": "wall clock"}


def price(analysis: Analysis) -> Page:
    """Dollars and tokens by class, per trial; and ratios between arms."""
    money = [
        (
            row.arm,
            _least(row, wording.usd(row.usd)),
            *_overheads(row),
            _least(row, wording.usd(row.usd_list)),
            wording.count(row.n_calls),
        )
        for row in analysis.arms
    ]
    heads = ("Dollars", "against baseline", "Tokens against baseline")
    dollars = Table(
        "Price of a trial, on average",
        _numbers((*heads, "Dollars at list price", "Calls")),
        tuple(money),
        note=f"Dollars by the accounting {analysis.seals.accounting}; beside it at each "
        "model's list price. A mean is not reported where any trial does not report it.",
    )
    used = [
        (row.arm, *(_tokens(row, name) for name in (*CLASSES, "total")))
        for row in analysis.arms
    ]
    columns = _numbers((*CLASSES.values(), "All tokens"))
    tokens = Table("Tokens of a trial, on average", columns, tuple(used))
    ratios = _ratios(analysis, ("tokens", "usd"), "Ratios of price")
    folded = Fold("Ratios of price, with intervals", (ratios,))
    return Page((dollars, tokens, _purposes(analysis), folded))


def time(analysis: Analysis) -> Page:
    """Wall clock per trial, and ratios between arms."""
    rows = [
        (
            row.arm,
            wording.seconds(row.wall_s),
            wording.ratio(row.overhead.wall_s)
            if row.overhead
            else wording.NOT_APPLICABLE,
        )
        for row in analysis.arms
    ]
    heads = ("Wall clock of the agent", "against baseline")
    table = Table(
        "Means per trial",
        _numbers(heads),
        tuple(rows),
        note="The time of the agent's calls; grading is not in it. A trial that was cut "
        "off counts with the time it had.",
    )
    ratios = _ratios(analysis, ("wall_s",), "Ratios of time")
    return Page((table, Fold("Ratios of time, with intervals", (ratios,))))


def spent(analysis: Analysis) -> Table:
    """What the whole run spent, and how much of it entered the comparison."""
    cost = analysis.cost
    rows = [
        _spend("All attempts", cost.all_attempts),
        _spend("Attempts that count", cost.counted),
    ]
    heads = ("Attempts", "Calls", "Tokens", "Dollars", "Dollars at list price", "Time")
    title = "What the run spent"
    note = (
        f"Planned: {wording.count(cost.n_planned_calls)} calls, at most "
        f"{wording.count(cost.max_calls)}. The gap between the rows was spent on "
        "attempts lost to the provider or the machine."
    )
    if analysis.simulated:
        title = "What the run would have spent: simulated, so nothing was paid"
    if analysis.replay is not None:
        title = "Replayed usage"
        note = (
            "Tokens and dollars are those of the recorded answers, paid for by run "
            f"{analysis.replay.run}. This replay spent nothing; its time is its own."
        )
    columns = (Column("Of"), *(Column(head, number=True) for head in heads))
    return Table(title, columns, tuple(rows), note=note)


def _ratios(analysis: Analysis, measures: tuple[str, ...], caption: str) -> Table:
    rows = [
        (
            f"{found.arm} against {found.comparator}",
            _RATIOS[found.measure],
            wording.ratio(found.estimate),
            wording.ratio_span(found.low, found.high),
            wording.p_value(found.p),
            found.refusal or "",
        )
        for found in analysis.contrasts
        if found.measure in measures
    ]
    return Table(
        caption,
        (
            *map(Column, ("Arms", "Ratio of")),
            Column("Ratio", number=True),
            Column(f"{analysis.design.confidence:.0%} interval", number=True),
            Column("p", number=True),
            Column("What cannot be said"),
        ),
        tuple(rows),
        note="A ratio of 1x is no difference. These are means of ratios within cases; "
        "the columns against baseline above are ratios of totals.",
    ).without_empty()


def _numbers(heads: tuple[str, ...]) -> tuple[Column, ...]:
    return (Column("Arm"), *(Column(head, number=True) for head in heads))


def _tokens(row: ArmSummary, name: str) -> str:
    return _least(row, wording.count(getattr(row.tokens, name) if row.tokens else None))


def _least(row: ArmSummary, shown: str) -> str:
    return wording.at_least(shown, bound=bool(row.n_understated))


def _purposes(analysis: Analysis) -> Table:
    """Calls that chose a skill, apart from those that did the task."""
    arms = {row.arm: row for row in analysis.arms}
    rows = [
        (
            row.arm,
            _PURPOSES.get(row.purpose, row.purpose),
            wording.count(row.n_calls),
            _least(arms[row.arm], wording.count(row.tokens)),
            _least(arms[row.arm], wording.usd(row.usd)),
            _least(arms[row.arm], wording.usd(row.usd_list)),
            wording.seconds(row.wall_s),
        )
        for row in analysis.purposes
    ]
    heads = ("Calls", "Tokens", "Dollars", "Dollars at list price", "Time")
    return Table(
        "Calls by what they were for, all analysed trials together",
        (
            Column("Arm"),
            Column("To", whole=True),
            *(Column(head, number=True) for head in heads),
        ),
        tuple(rows),
        note="A call that only chooses a skill is part of the price of its arm.",
        empty="no analysed trial made a call.",
    )


def _overheads(row: ArmSummary) -> tuple[str, str]:
    if row.overhead is None:
        return wording.NOT_APPLICABLE, wording.NOT_APPLICABLE
    return wording.ratio(row.overhead.usd), wording.ratio(row.overhead.tokens)


def _spend(label: str, spend: Spend) -> tuple[str, ...]:
    bound = bool(spend.n_unreported or spend.n_understated)
    shown = (
        wording.count(spend.tokens),
        wording.usd(spend.usd),
        wording.usd(spend.usd_list),
        wording.seconds(spend.wall_s),
    )
    return (
        label,
        wording.count(spend.n_attempts),
        wording.count(spend.n_calls),
        *(wording.at_least(one, bound=bound) for one in shown),
    )
