"""incident-triage: lines round half up whatever their size; the note says why."""

import re
from collections.abc import Callable
from math import gcd

from evalkit.grader import Call, Checks, Subject, expect, fail

LINE = "billing.pricing:line_total"
BASKET = "billing.pricing:basket_total"
NOTE = "INCIDENT.md"
WRONG_AND_RIGHT = ((115, 116), (232, 233), (227, 228), (241, 242), (342, 344))
"""What docs/evidence.csv says was charged, and should have been, in cents."""
REPRESENTATION = re.compile(
    r"float|binary|ieee|\bdoubles?\b|double.precision|base.?(?:2|two)\b|inexact"
    r"|not exact|approximat|represent(?:ed|able|ation)|whole cents"
    r"|integer.(?:cents?|arithmetic|math)|can(?:not|'t)\b[^.;]{1,40}\bexact"
    r"|\d\.\d*(?:9{6}|0{6})\d*",
    re.IGNORECASE,
)
"""The last is a value such as 0.69999999, which shows what is wrong."""
DENIED = re.compile(
    r"\b(?:nothing to do with|unrelated to|not (?:caused by|due to|because of)|no)"
    r"\W+(?:\w+\W+)?$",
    re.IGNORECASE,
)
"""Ends the words before a mention that rules the thing out."""
RIVALS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"half.?even|banker",
        r"(?<!\.)\bcsv\b|\bparsing\b|whitespace",
        r"separator|locale|\bformat",
        r"quantit(?:y|ies)",
        r"overflow",
        r"\brac(?:e|es|y)\b|concurren|\bthread|\bcache",
        r"time.?zone|currency|exchange rate",
        r"epsilon|tolerance",
    )
)
RULED_OUT = re.compile(
    r"\b(?:not|no|nor|neither|never|none|unaffected|unrelated|untouched|innocent"
    r"|rul(?:e|es|ed|ing) out)\b|n't",
    re.IGNORECASE,
)
MAX_RIVALS = 2
"""Other explanations that a note may mention without ruling them out."""
NEAR = 200
"""Characters between the two amounts of a pair."""
AMOUNT = r"(?<![\d.,])(\d+[.,]\d\d|\d+)(?!\d|[.,]\d)"
STATED = re.compile(
    rf"(?={AMOUNT}\W{{0,6}}(?:cents?\b)?\W{{0,6}}(?:(?:but|and|it|which) )?"
    r"(instead of|rather than|should (?:be|have been)|->|→|vs\b|versus)"
    rf"\W{{0,6}}{AMOUNT})",
    re.IGNORECASE,
)
"""Two amounts that are said to be what was charged and what was due."""
CHARGED = re.compile(r"\b(?:charged|billed|invoiced|paid)\W+(?:\w+\W+){0,2}$", re.I)
DUE = re.compile(r"\b(?:should|ought|must|due|correct|expected)\b", re.I)

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
    """A random amount that fits."""
    for _ in range(100_000):
        cents = subject.random.randrange(1, most)
        if fits(cents):
            return cents
    return fail("no fitting amount was drawn", (pct, most))


def is_half(cents: int, pct: int) -> bool:
    """True where the discounted line ends in exactly half a cent."""
    return cents * (100 - pct) % 100 == 50


def companions(subject: Subject, pct: int) -> list[int]:
    """Amounts that each tell one mistake apart; all but the last end in a half.

    The last falls short of a half by as little as it can.
    """
    short = 50 - gcd(100, 100 - pct)

    def half(fits: Callable[[int], bool], most: int = 100_000) -> int:
        return draw(subject, pct, most, lambda c: is_half(c, pct) and fits(c))

    return [
        half(lambda cents: by_factor(cents, pct) != due(cents, pct)),
        half(lambda cents: due(cents, pct) % 2 == 1),
        half(lambda cents: by_factor(cents, pct, 1e-6) != due(cents, pct), 10**13),
        draw(subject, pct, 100_000, lambda cents: cents * (100 - pct) % 100 == short),
    ]


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
    """Nothing off, everything off and a discount out of range are as they were."""
    amounts = [0, 1, 1999, *(subject.random.randrange(1, 10**12) for _ in range(10))]
    check_lines(subject, amounts, 0)
    check_lines(subject, amounts, 100)
    cents = subject.random.randrange(1, 10**6)
    for pct in (-1, 101):
        answer = subject.call(LINE, cents, pct)
        expect(answer.raises("ValueError"), f"{pct} % is refused", answer)


@checks("cause-named")
def cause_named(subject: Subject) -> None:
    more = r"(?:\s*(?:[/,&+]|and\b|or\b)\s*\d+\b(?!\.))*"
    named = re.findall(rf"(?i)\bC-?\d+\b{more}", field(subject, "Cause"))
    right = bool(named) and all(name.upper() == "C-2" for name in named)
    expect(right, "Cause names C-2 and nothing else", named)


@checks("mechanism-explained")
def mechanism_explained(subject: Subject) -> None:
    text = field(subject, "Mechanism")
    named = [m for m in REPRESENTATION.finditer(text) if not DENIED.search(before(m))]
    expect(bool(named), "names the representation", text)
    related = any(relates(text, pair) for pair in WRONG_AND_RIGHT)
    expect(related, "relates a wrong amount of the evidence to the right one", text)
    false = [m.groups() for m in STATED.finditer(text) if contradicts(m)]
    expect(not false, "states no pair that the evidence contradicts", false)
    offered = [part for part in re.split(r"(?<=[.;!?])\s", text) if affirms(part)]
    rivals = [r.pattern for r in RIVALS if any(r.search(part) for part in offered)]
    expect(len(rivals) <= MAX_RIVALS, "explains one mechanism, not all", rivals)


def before(found: re.Match[str]) -> str:
    """What the sentence says up to a match."""
    return re.split(r"[.;!?]\s", found.string[: found.start()])[-1]


def affirms(sentence: str) -> bool:
    """True where a sentence rules nothing out."""
    return RULED_OUT.search(sentence) is None


def field(subject: Subject, name: str) -> str:
    """Text of one field of the note; fields begin a line."""
    note = subject.read(NOTE)
    parts = re.split(r"(?m)^[\s>#*_-]*(Cause|Mechanism|Fix)[*_]*\s*:[*_]*", note)
    found = [parts[n + 1] for n in range(1, len(parts) - 1, 2) if parts[n] == name]
    if len(found) != 1:
        fail(f"{NOTE} has one field {name}:", len(found))
    return " ".join(found[0].split())


def relates(text: str, pair: tuple[int, int]) -> bool:
    """True where words, an arrow or a table's bar stand between the two amounts."""
    wrong, right = ([*re.finditer(amount(cents), text)] for cents in pair)
    for one in wrong:
        for other in right:
            first, second = (
                (one, other) if one.start() < other.start() else (other, one)
            )
            between = text[first.end() : second.start()]
            if len(between) <= NEAR and re.search(
                r"[A-Za-z]{2,}|->|→|=>|≠|\|", between
            ):
                return True
    return False


def contradicts(stated: re.Match[str]) -> bool:
    """True where a stated pair is close to one of the evidence, yet not it."""
    first, how, second = stated[1], stated[2].lower(), stated[3]
    pair = (in_cents(first), in_cents(second))
    known = [cents for both in WRONG_AND_RIGHT for cents in both]
    if not 0 < abs(pair[0] - pair[1]) <= 5 or not any(c in known for c in pair):
        return False
    if pair[::-1] not in WRONG_AND_RIGHT:
        return pair not in WRONG_AND_RIGHT
    if how.startswith("should"):
        return True
    said = before(stated)
    free = how not in ("instead of", "rather than")
    return not free and bool(CHARGED.search(said)) and not DUE.search(said)


def in_cents(text: str) -> int:
    """An amount in cents, from cents or from units as in `1.15`."""
    return int(re.sub(r"[.,]", "", text))


def amount(cents: int) -> str:
    """Pattern of an amount in cents, or in units as in `1.15`."""
    return rf"(?<![\d.])(?:{cents}|{cents // 100}[.,]{cents % 100:02})(?![\d]|[.,]\d)"
