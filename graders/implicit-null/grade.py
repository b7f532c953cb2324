"""implicit-null: the report comes out, and what was not measured is in no figure.

Every check runs the command line on a day of its own. Figures are worked out here
from the values that were given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.grader import Checks, Subject, expect, fail, parse_json
from evalkit.questions import Ran

checks = Checks(
    {
        "without-gaps": 1,
        "night-runs": 1,
        "other-values-count": 1,
        "bad-file-refused": 1,
        "null-left-out": 2,
        "absent-left-out": 1,
        "nothing-is-null": 2,
        "zero-counts": 1,
    }
)

READINGS = "day/readings.jsonl"
REPORT = "day/report.json"
MEASURED = ("level_cm", "rain_mm", "temp_c")
FIGURES = ("level_cm_max", "rain_mm_sum", "temp_c_mean", "temp_c_min", "frost")
CLOSE = 0.011
"""How far a figure may be off: the last place of a rounded one."""

Reading = dict[str, Any]


# --- a day and its report ---------------------------------------------------


def station(subject: Subject) -> str:
    """A name."""
    return f"{subject.random.word(2).upper()}-{subject.random.randrange(1000, 9999)}"


def whole(subject: Subject, name: str, **changed: Any) -> Reading:
    """A reading in which nothing is missing, and nothing is 0."""
    draw = subject.random
    values = {
        "level_cm": draw.randrange(20, 400),
        "rain_mm": draw.randrange(1, 120) / 10,
        "temp_c": draw.randrange(20, 250) / 10,
    }
    return {"station": name, **values, **changed}


def day_of(subject: Subject, name: str, gap: Mapping[str, Any]) -> list[Reading]:
    """Readings of a station of which some have a gap, and it freezes in none."""
    gaps = [{}, gap, {}, {}, gap]
    subject.random.shuffle(gaps)
    return [whole(subject, name, **missing) for missing in gaps]


def lacking(reading: Reading, *fields: str) -> Reading:
    """The reading with fields left out."""
    return {field: value for field, value in reading.items() if field not in fields}


def report(subject: Subject, readings: Sequence[Reading]) -> dict[str, Any]:
    """The entries of the report on a day, by station."""
    ran = run(subject, map(json.dumps, readings))
    expect(ran.exit == 0, "exit code of the run", ran)
    entries = entries_of(subject.read(REPORT))
    names = [entry.get("station") for entry in entries]
    wanted = sorted({reading["station"] for reading in readings})
    expect(names == wanted, f"there are entries for {wanted}", names)
    return dict(zip(wanted, entries, strict=True))


def entries_of(text: str) -> list[dict[str, Any]]:
    """The entries of a report."""
    match parse_json(text, "the report"):
        case [*entries] if all(isinstance(entry, dict) for entry in entries):
            return entries
        case other:
            return fail("the report is a list of entries", other)


def run(subject: Subject, lines: Iterable[str]) -> Ran:
    """Run the command line on a file of these lines."""
    subject.write(READINGS, "".join(f"{line}\n" for line in lines))
    return subject.run("python", "-m", "gaugebook", READINGS, REPORT)


# --- what is expected -------------------------------------------------------


def figures(readings: Sequence[Reading]) -> dict[str, Any]:
    """A station's figures, by the schema."""
    levels, rain, temps = (
        [given for each in readings if (given := each.get(field)) is not None]
        for field in MEASURED
    )
    return {
        "level_cm_max": max(levels, default=None),
        "rain_mm_sum": round(sum(rain), 1) if rain else None,
        "temp_c_mean": sum(temps) / len(temps) if temps else None,
        "temp_c_min": min(temps, default=None),
        "frost": min(temps) < 0 if temps else None,
    }


def expect_figures(
    entry: Mapping[str, Any],
    readings: Sequence[Reading],
    names: Sequence[str] = FIGURES,
) -> None:
    """An entry has these figures of its readings."""
    wanted = figures(readings)
    for name in names:
        expect(name in entry, f"{name} is there", entry)
        told = alike(entry[name], wanted[name])
        expect(told, f"{name} is {wanted[name]!r}", entry)


def alike(found: Any, wanted: Any) -> bool:
    """The same figure, but for rounding; 0, null and false are three things."""
    if wanted is None or isinstance(wanted, bool):
        return found is wanted
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return number and abs(found - wanted) <= CLOSE


# --- plain function ---------------------------------------------------------


@checks("without-gaps")
def without_gaps(subject: Subject) -> None:
    """Figures of a day on which nothing is missing, rounded, with frost somewhere."""
    mild, cold = station(subject), station(subject)
    days = {
        mild: [whole(subject, mild) for _ in range(4)],
        cold: [
            whole(subject, cold, rain_mm=rain, temp_c=temp)
            for rain, temp in ((1.26, 2.0), (2.5, -0.1), (0.31, 3.3))
        ],
    }
    readings = [reading for day in days.values() for reading in day]
    subject.random.shuffle(readings)
    found = report(subject, readings)
    for name, day in days.items():
        expect_figures(found[name], day)
        expect(found[name].get("readings") == len(day), "readings", found[name])
    rounded = found[cold]["rain_mm_sum"], found[cold]["temp_c_mean"]
    expect(rounded == (4.1, 1.73), "sum and mean, rounded", rounded)


@checks("night-runs")
def night_runs(subject: Subject) -> None:
    """A day with gaps has a report with all its stations and how much they sent."""
    names = [station(subject) for _ in range(4)]
    gaps = [{}, *({field: None} for field in MEASURED)]
    days = {
        name: day_of(subject, name, gap) for name, gap in zip(names, gaps, strict=True)
    }
    found = report(subject, [reading for day in days.values() for reading in day])
    for name, day in days.items():
        expect(found[name].get("readings") == len(day), "readings", found[name])
    expect_figures(found[names[0]], days[names[0]])


@checks("other-values-count")
def other_values_count(subject: Subject) -> None:
    """A reading with a gap counts with its other values."""
    kept = {
        "level_cm": ("rain_mm_sum", "temp_c_mean", "temp_c_min", "frost"),
        "rain_mm": ("level_cm_max", "temp_c_mean", "temp_c_min", "frost"),
        "temp_c": ("level_cm_max", "rain_mm_sum"),
    }
    extreme = {"level_cm": 500, "rain_mm": 30.5, "temp_c": -8.5}
    days: dict[str, list[Reading]] = {}
    for field in kept:
        name = station(subject)
        days[name] = [
            *day_of(subject, name, {}),
            whole(subject, name, **{**extreme, field: None}),
        ]
    found = report(subject, [reading for day in days.values() for reading in day])
    for (name, day), names in zip(days.items(), kept.values(), strict=True):
        expect_figures(found[name], day, names)


@checks("bad-file-refused")
def bad_file_refused(subject: Subject) -> None:
    """A value that is neither number nor null still refuses the whole file."""
    good = whole(subject, station(subject))
    values = ("", "-", "null", True, [1])
    bad = [
        *({**good, subject.random.choice(MEASURED): value} for value in values),
        lacking(good, "station"),
        [good],
    ]
    for each in bad:
        ran = run(subject, map(json.dumps, [good, each, good]))
        expect(ran.exit == 1, f"exit code for {each}", ran)
        told = "line 2: " in ran.stdout + ran.stderr
        expect(told, "the line is told", ran)
        expect(not subject.exists(REPORT), "there is no report", ran)


# --- the rule ---------------------------------------------------------------


@checks("null-left-out")
def null_left_out(subject: Subject) -> None:
    """Nulls are in no figure; with levels below 0 the highest would show a 0."""
    low, cold = station(subject), station(subject)
    gaps: list[Reading] = [
        {},
        {"level_cm": None},
        {"temp_c": None},
        dict.fromkeys(MEASURED),
    ]
    readings: list[Reading] = []
    for gap in gaps:
        level = -subject.random.randrange(1, 50)
        temp = -subject.random.randrange(10, 90) / 10
        readings += [
            whole(subject, low, **{"level_cm": level, **gap}),
            whole(subject, cold, **{"temp_c": temp, **gap}),
        ]
    expect_report(subject, readings)


@checks("absent-left-out")
def absent_left_out(subject: Subject) -> None:
    """What is left out counts no more than null."""
    name, other = station(subject), station(subject)
    day = [whole(subject, name) for _ in range(4)]
    day = [
        lacking(each, field) for each, field in zip(day, ("", *MEASURED), strict=True)
    ]
    nothing = lacking(whole(subject, other), *MEASURED)
    expect_report(subject, [*day, nothing, whole(subject, other)])


@checks("nothing-is-null")
def nothing_is_null(subject: Subject) -> None:
    """Without any value a figure is there, and null; the others are as they are."""
    readings: list[Reading] = []
    for fields in (*((field,) for field in MEASURED), MEASURED):
        name = station(subject)
        gap = dict.fromkeys(fields)
        readings += [whole(subject, name, **gap) for _ in range(2)]
    expect_report(subject, readings)


@checks("zero-counts")
def zero_counts(subject: Subject) -> None:
    """A measured 0 is a value, also beside a gap."""
    name = station(subject)
    values = [dict.fromkeys(MEASURED, value) for value in (0, None, 0)]
    expect_report(subject, [whole(subject, name, **each) for each in values])


def expect_report(subject: Subject, readings: Sequence[Reading]) -> None:
    """All figures of all stations are as the schema has them."""
    for name, entry in report(subject, readings).items():
        expect_figures(entry, [each for each in readings if each["station"] == name])
