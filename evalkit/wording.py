"""Numbers as a reader sees them: sensible digits, units, and "not reported". Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evalkit.conclusions import CheckRow, Proportion

NOT_REPORTED = "not reported"
NONE = "none"
"""What a number is called that could not be reckoned, which is not one untold."""
NOT_APPLICABLE = "-"
MINUS = "\N{MINUS SIGN}"
SECONDS_PER_MINUTE = 60
MOST_LISTED = 12
"""Of trials of a case in an arm; where there are more, they are counted."""


def stamped(text: str, stamp: str | None) -> str:
    """A text, and what stands on all that is made of its run; see `Registration`."""
    return text if stamp is None else f"{text} ({stamp})"


def begin(text: str, n_chars: int) -> str:
    """A text; of a longer one so many characters, and that it goes on."""
    return text if len(text) <= n_chars else f"{text[:n_chars]}..."


def printable(text: str) -> str:
    """A text that a terminal prints and does not obey: control characters spelled out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def score(value: float | None) -> str:
    """A score or share in 0..1, to two digits after the point."""
    return NOT_REPORTED if value is None else f"{value:.2f}"


def scores(values: Sequence[float | None], missing: str = NOT_REPORTED) -> str:
    """Scores in order; where they are many, how often each occurs, best first."""
    said = [missing if value is None else score(value) for value in values]
    if len(said) <= MOST_LISTED:
        return ", ".join(said)
    counted = sorted(Counter(said).items(), reverse=True)
    return ", ".join(f"{n:,} times {value}" for value, n in counted)


def signed(value: float | None) -> str:
    """A difference of scores, with its sign."""
    if value is None:
        return NOT_REPORTED
    rounded = round(value, 2)
    sign = "+" if rounded > 0 else MINUS if rounded < 0 else ""
    return f"{sign}{abs(rounded):.2f}"


def span(low: float | None, high: float | None) -> str:
    """An interval of differences, or `none`."""
    return NONE if low is None or high is None else f"{signed(low)} to {signed(high)}"


def ratio(value: float | None) -> str:
    """A ratio, as `1.14 times`."""
    return NOT_REPORTED if value is None else f"{_digits(value)}x"


def ratio_span(low: float | None, high: float | None) -> str:
    """An interval of ratios, or `none`."""
    if low is None or high is None:
        return NONE
    shown = [_digits(value) for value in (low, high)]
    if shown[0] == shown[1]:
        # An interval has a width, however small.
        shown = [f"{value:.4g}" for value in (low, high)]
    return f"{shown[0]}x to {shown[1]}x"


def count(value: float | None) -> str:
    """A count, or a mean of counts, with separators for thousands."""
    if value is None:
        return NOT_REPORTED
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def usd(value: float | None) -> str:
    """Dollars, to three digits that matter but never fewer than cents."""
    if value is None:
        return NOT_REPORTED
    if value < 0:
        return MINUS + usd(-value)
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    n_digits = 2
    while n_digits < 6 and value < 10 ** -(n_digits - 2):
        n_digits += 1
    return f"${value:.{n_digits}f}"


def seconds(value: float | None) -> str:
    """A time, as seconds below two minutes and as minutes above."""
    if value is None:
        return NOT_REPORTED
    if abs(value) >= 2 * SECONDS_PER_MINUTE:
        return f"{value / SECONDS_PER_MINUTE:,.1f} min"
    return f"{value:.1f} s" if abs(value) >= 1 else f"{value:.2f} s"


def at_least(shown: str, *, bound: bool) -> str:
    """What is known, marked where it is only a lower bound."""
    return f"at least {shown}" if bound and shown != NOT_REPORTED else shown


def p_value(value: float | None) -> str:
    """A p, never as 0, or `none`."""
    if value is None:
        return NONE
    return "below 0.0001" if value < 0.0001 else f"{value:.4f}"


def k_of(k: int, n: int) -> str:
    """Counts, as `3 of 12`."""
    return f"{k:,} of {n:,}"


def trials_passed(row: CheckRow) -> str:
    """How many trials passed a check, and how many never came to it."""
    flags = [
        f"{n} {said}"
        for n, said in (
            (row.n_not_reached, "not reached"),
            (row.n_grader_died, "grader died"),
        )
        if n
    ]
    counts = k_of(row.k, row.n)
    return f"{counts} ({', '.join(flags)})" if flags else counts


def k_of_n(found: Proportion) -> str:
    """A proportion as counts."""
    return k_of(found.k, found.n)


def interval(found: Proportion) -> str:
    """The Wilson interval of a proportion, in percent, or `none`."""
    if found.low is None or found.high is None:
        return NONE
    return f"{found.low:.0%} to {found.high:.0%}"


def n_of(n: int, one: str, many: str | None = None) -> str:
    """`1 case`, `3 cases`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def agent(name: str, version: str) -> str:
    """An agent by its name and version, as `codex 0.140.0`."""
    if version == NOT_REPORTED:
        return f"{name}, version {NOT_REPORTED}"
    return f"{name} {version}"


def short(digest: str | None) -> str:
    """The first twelve characters of a digest."""
    return NOT_REPORTED if digest is None else digest[:12]


def listed(names: Iterable[object]) -> str:
    """Names with commas, or `none`."""
    return ", ".join(map(str, names)) or NONE


def _digits(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
