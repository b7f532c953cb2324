"""incident-triage: lines round half up whatever their size; the note says why."""

import re
from collections.abc import Callable

from evalkit.grader import Call, Checks, Subject, expect, fail

LINE = "billing.pricing:line_total"
BASKET = "billing.pricing:basket_total"
NOTE = "INCIDENT.md"
WRONG_AND_RIGHT = ((115, 116), (232, 233), (227, 228), (241, 242), (342, 344))
"""What docs/evidence.csv says was charged, and should have been, in cents."""
REPRESENTATION = re.compile(
    r"float|binary|ieee|double.precision|fraction|inexact|not exact"
    r"|cannot be (?:represented|stored|held)|approximate|integer (?:cents|arithmetic)",
    re.IGNORECASE,
)
RIVALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"half.?even|banker",
        r"csv|parsing|whitespace|text discount",
        r"separator|locale|format",
        r"quantity|quantities",
        r"overflow",
        r"race|concurren|thread|cache",
        r"time.?zone|currency|exchange rate",
        r"epsilon|tolerance",
    )
)
MAX_RIVALS = 3
"""Other explanations that a note may mention, to rule them out."""

checks = Checks(
    {
        "line-165-at-30": 1,
        "line-250-at-7": 1,
        "line-325-at-30": 1,
        "line-345-at-30": 1,
        "basket-at-30": 1,
        "undiscounted": 1,
        "cause-named": 1,
        "mechanism-explained": 1,
    }
)


def due(cents: int, pct: int) -> int:
    """The discounted line, rounded half up."""
    return (cents * (100 - pct) * 2 + 100) // 200


def by_factor(cents: int, pct: int, epsilon: float = 0.0) -> int:
    """What a float factor makes of a line."""
    return int(cents * (1 - pct / 100) + 0.5 + epsilon)


def draw(subject: Subject, pct: int, most: int, fits: Callable[[int], bool]) -> int:
    """A random amount whose discounted line ends in exactly half a cent."""
    for _ in range(100_000):
        cents = subject.random.randrange(5, most, 5)
        if cents * (100 - pct) % 100 == 50 and fits(cents):
            return cents
    return fail("no fitting amount was drawn", most)


def companions(subject: Subject, pct: int) -> list[int]:
    """Amounts on half-cent boundaries, each telling one mistake apart."""
    kinds: tuple[tuple[int, Callable[[int], bool]], ...] = (
        (100_000, lambda cents: by_factor(cents, pct) != due(cents, pct)),
        (100_000, lambda cents: due(cents, pct) % 2 == 1),
        (10**13, lambda cents: by_factor(cents, pct, 1e-6) != due(cents, pct)),
    )
    return [draw(subject, pct, most, fits) for most, fits in kinds]


def check_lines(subject: Subject, amounts: list[int], pct: int) -> None:
    """Every amount at this discount comes out as it is due."""
    answers = subject.call_many([Call(LINE, cents, pct) for cents in amounts])
    for cents, answer in zip(amounts, answers, strict=True):
        got = answer.value
        right = type(got) is int and got == due(cents, pct)
        expect(right, f"{cents} at {pct} % is {due(cents, pct)}", got)


@checks("line-165-at-30")
def line_165(subject: Subject) -> None:
    check_lines(subject, [165, *companions(subject, 30)], 30)


@checks("line-250-at-7")
def line_250(subject: Subject) -> None:
    check_lines(subject, [250, *companions(subject, 7)], 7)


@checks("line-325-at-30")
def line_325(subject: Subject) -> None:
    check_lines(subject, [325, *companions(subject, 30)], 30)


@checks("line-345-at-30")
def line_345(subject: Subject) -> None:
    check_lines(subject, [345, *companions(subject, 30)], 30)


@checks("basket-at-30")
def basket(subject: Subject) -> None:
    baskets = [[165, 325], companions(subject, 30)]
    calls = [Call(BASKET, [[cents, 30] for cents in amounts]) for amounts in baskets]
    for amounts, answer in zip(baskets, subject.call_many(calls), strict=True):
        total = sum(due(cents, 30) for cents in amounts)
        got = answer.value
        expect(type(got) is int and got == total, f"{amounts} at 30 % is {total}", got)


@checks("undiscounted")
def undiscounted(subject: Subject) -> None:
    amounts = [0, 1, 1999, *(subject.random.randrange(1, 10**12) for _ in range(10))]
    check_lines(subject, amounts, 0)


@checks("cause-named")
def cause_named(subject: Subject) -> None:
    named = re.findall(r"\bC-?\d+\b", field(subject, "Cause"))
    expect(set(named) == {"C-2"}, "Cause names C-2 and nothing else", named)


@checks("mechanism-explained")
def mechanism_explained(subject: Subject) -> None:
    text = field(subject, "Mechanism")
    expect(REPRESENTATION.search(text) is not None, "names the representation", text)
    related = [pair for pair in WRONG_AND_RIGHT if relates(text, pair)]
    expect(
        bool(related), "relates a wrong amount of the evidence to the right one", text
    )
    rivals = [rival.pattern for rival in RIVALS if rival.search(text)]
    expect(len(rivals) <= MAX_RIVALS, "explains one mechanism, not all", rivals)


def field(subject: Subject, name: str) -> str:
    """Text of one field of the note; fields begin a line."""
    note = subject.read(NOTE)
    parts = re.split(r"(?m)^[\s>#*_-]*(Cause|Mechanism|Fix)[*_]*\s*:[*_]*", note)
    found = [parts[n + 1] for n in range(1, len(parts) - 1, 2) if parts[n] == name]
    if len(found) != 1:
        fail(f"{NOTE} has one field {name}:", len(found))
    return " ".join(found[0].split())


def relates(text: str, pair: tuple[int, int]) -> bool:
    """True where words, not just marks, stand between the two amounts."""
    wrong, right = map(amount, pair)
    between = r"((?:(?!\d).){1,80}?)"
    found = re.findall(rf"{wrong}{between}{right}", text)
    found += re.findall(rf"{right}{between}{wrong}", text)
    return any(re.search(r"[A-Za-z]{3,}|->|→|=>|≠", words) for words in found)


def amount(cents: int) -> str:
    """Pattern of an amount in cents, or in units as in `1.15`."""
    return rf"(?<![\d.])(?:{cents}|{cents // 100}[.,]{cents % 100:02})(?![\d]|[.,]\d)"
