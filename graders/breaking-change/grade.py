"""breaking-change: parcels tell a window, and nothing that v1 published is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evalkit.grader import Checks, Service, Subject, expect, fail, parse_json

PLAN = "plans/today.json"
PREFIX = "/v1/parcels"
SCHEMA = "schema/v1.json"
FORMS = ("parcel", "parcel_in_list")
WINDOW = ("eta_from", "eta_to")
EARLIEST = 1_772_000_000
LATEST = 1_779_000_000
STATES = ("planned", "received", "on-tour", "at-depot")

checks = Checks(
    {
        "window-of-a-parcel": 1,
        "window-in-the-list": 1,
        "not-planned-yet": 1,
        "list-filtered": 1,
        "errors-as-before": 1,
        "schema-tells-all": 1,
        "eta-kept": 2,
        "eta-kept-in-the-list": 2,
        "schema-only-grown": 2,
    },
    service=Service(
        ("python", "-m", "parcelboard"), env={"PORT": "{port}", "PLAN": PLAN}, fork=True
    ),
)

Record = dict[str, Any]


# --- plans and responses ----------------------------------------------------


def planned(subject: Subject, **changed: Any) -> Record:
    """A parcel of the plan, with a window."""
    draw = subject.random
    start = draw.randrange(EARLIEST, LATEST)
    record = {
        "number": f"X{draw.randrange(10)}-{draw.word(6)}",
        "state": draw.choice(STATES),
        "depot": draw.word(6).title(),
        "window": [start, start + draw.randrange(600, 7200)],
    }
    return {**record, **changed}


def drawn_plan(subject: Subject) -> list[Record]:
    """A plan in which some parcels have a window, as the service now reads it."""
    windows: list[dict[str, Any]] = [{}, {"window": None}, {}, {}, {"window": None}]
    subject.random.shuffle(windows)
    records = [planned(subject, **changed) for changed in windows]
    keep(subject, records)
    return records


def keep(subject: Subject, records: Sequence[Record]) -> None:
    """Write the planner's file."""
    subject.write(PLAN, json.dumps(records))


def one(subject: Subject, record: Record) -> dict[str, Any]:
    """The response about a parcel."""
    return answered(subject, f"{PREFIX}/{record['number']}")


def listed(subject: Subject, query: str = "") -> list[dict[str, Any]]:
    """The parcels of the list."""
    match answered(subject, PREFIX + query):
        case {"parcels": [*found]} if all(isinstance(each, dict) for each in found):
            return found
        case other:
            return fail("the list has parcels", other)


def answered(subject: Subject, path: str) -> dict[str, Any]:
    """The object that a good request gets."""
    reply = subject.http("GET", path)
    expect(reply.status == 200, f"status of {path}", reply.status)
    body = reply.json
    expect(isinstance(body, dict), "the response is an object", body)
    return body


# --- what is expected -------------------------------------------------------


def written(seconds: int) -> str:
    """A moment as responses have it."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z"


def window_of(record: Record) -> dict[str, str | None]:
    """The fields asked for."""
    ends = record["window"]
    moments = [None, None] if ends is None else [written(end) for end in ends]
    return dict(zip(WINDOW, moments, strict=True))


def published(record: Record, *fields: str) -> dict[str, Any]:
    """The fields that v1 had."""
    ends = record["window"]
    return {
        **{field: record[field] for field in fields},
        "eta": None if ends is None else written(ends[1]),
    }


def expect_fields(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """A response has these fields, whatever else it has."""
    for field, value in wanted.items():
        expect(field in found, f"{field} is there", found)
        expect(found[field] == value, f"{field} is {value!r}", found)


def with_window(records: Sequence[Record]) -> list[Record]:
    """The parcels that have one."""
    return [record for record in records if record["window"] is not None]


# --- plain function ---------------------------------------------------------


@checks("window-of-a-parcel")
def window_of_a_parcel(subject: Subject) -> None:
    """A planned parcel tells both ends of its window."""
    for record in with_window(drawn_plan(subject)):
        wanted = {field: record[field] for field in ("number", "state", "depot")}
        expect_fields(one(subject, record), {**wanted, **window_of(record)})


@checks("window-in-the-list")
def window_in_the_list(subject: Subject) -> None:
    """So does each planned parcel of the list, which is in the plan's order."""
    records = drawn_plan(subject)
    for found, record in zip_in_order(listed(subject), records):
        if record["window"] is not None:
            expect_fields(found, window_of(record))


def zip_in_order(
    found: Sequence[dict[str, Any]], records: Sequence[Record]
) -> list[tuple[dict[str, Any], Record]]:
    """The parcels of a list beside those of the plan."""
    numbers = [each.get("number") for each in found]
    wanted = [record["number"] for record in records]
    expect(numbers == wanted, f"the list is {wanted}", numbers)
    return list(zip(found, records, strict=True))


@checks("not-planned-yet")
def not_planned_yet(subject: Subject) -> None:
    """Without a window the same fields are there, and null."""
    records = [planned(subject), planned(subject, window=None)]
    keep(subject, records)
    with_one, without = records
    expect_fields(one(subject, without), window_of(without))
    expect_same_fields(one(subject, with_one), one(subject, without))
    full, empty = (found for found, _ in zip_in_order(listed(subject), records))
    expect_same_fields(full, empty)
    null = [field for field in WINDOW if empty.get(field) is not None]
    expect(not null, f"{null} are null", empty)


def expect_same_fields(full: Mapping[str, Any], empty: Mapping[str, Any]) -> None:
    """All fields are always there."""
    expect(set(full) == set(empty), f"the fields {sorted(full)} are there", empty)


@checks("list-filtered")
def list_filtered(subject: Subject) -> None:
    """The list goes by the end of windows: one that is open at the moment is not in."""
    moment = subject.random.randrange(EARLIEST, LATEST)
    windows = {
        "over": [moment - 900, moment - 1],
        "open": [moment - 600, moment + 600],
        "ends": [moment - 600, moment],
        "ahead": [moment + 1, moment + 600],
        "none": None,
    }
    records = {
        name: planned(subject, window=window) for name, window in windows.items()
    }
    keep(subject, list(records.values()))
    found = listed(subject, f"?before={written(moment)}")
    zip_in_order(found, [records["over"]])
    zip_in_order(listed(subject), list(records.values()))


@checks("errors-as-before")
def errors_as_before(subject: Subject) -> None:
    """What is unknown is 404, and what is no moment 400."""
    drawn_plan(subject)
    wanted = {
        f"{PREFIX}/{subject.random.word(9)}": 404,
        f"/v1/{subject.random.word()}": 404,
        f"{PREFIX}?before={subject.random.word()}": 400,
    }
    for path, status in wanted.items():
        reply = subject.http("GET", path)
        expect(reply.status == status, f"{path} is {status}", reply.status)
        error = reply.json
        told = isinstance(error, dict) and isinstance(error.get("error"), str)
        expect(told, "an error is told", error)


@checks("schema-tells-all")
def schema_tells_all(subject: Subject) -> None:
    """No response has a field that the schema lacks."""
    schema = parse_json(subject.read(SCHEMA), SCHEMA)
    records = drawn_plan(subject)
    found = {
        "parcel": [one(subject, record) for record in records],
        "parcel_in_list": listed(subject),
    }
    for form, responses in found.items():
        known = described(schema, form)["properties"]
        for response in responses:
            lacking = sorted(set(response) - set(known))
            expect(not lacking, f"{lacking} are in the schema", known)


# --- the rule ---------------------------------------------------------------


@checks("eta-kept")
def eta_kept(subject: Subject) -> None:
    """Beside the window a parcel still has all that v1 published."""
    for record in drawn_plan(subject):
        found = one(subject, record)
        expect_fields(found, published(record, "number", "state", "depot"))
        if record["window"] is not None:
            expect_told(found)


@checks("eta-kept-in-the-list")
def eta_kept_in_the_list(subject: Subject) -> None:
    """So have the parcels of the list, now that a window is told."""
    records = drawn_plan(subject)
    for found, record in zip_in_order(listed(subject), records):
        expect_fields(found, published(record, "number", "state"))
    expect_told(one(subject, with_window(records)[0]))


def expect_told(found: Mapping[str, Any]) -> None:
    """A parcel tells a window: that nothing was changed is no way to keep the rule."""
    expect(set(WINDOW) <= set(found), "a window is told", found)


@checks("schema-only-grown")
def schema_only_grown(subject: Subject) -> None:
    """The schema says of the old fields what it said, and has the new ones."""
    before = json.loads(subject.original(SCHEMA))["$defs"]
    schema = parse_json(subject.read(SCHEMA), SCHEMA)
    for form in FORMS:
        found = described(schema, form)
        for field, was in before[form]["properties"].items():
            kept = types_of(schema, found["properties"].get(field))
            expect(kept == as_set(was), f"type of {field}", found)
        required = found["required"]
        lost = [field for field in before[form]["required"] if field not in required]
        expect(not lost, f"{form} still requires {lost}", required)
    parcel = described(schema, "parcel")["properties"]
    for field in WINDOW:
        types = types_of(schema, parcel.get(field))
        expect(types == {"string", "null"}, f"types of {field}", parcel)


def described(schema: Any, form: str) -> dict[str, Any]:
    """What the schema says of a form, where the README says that it does."""
    match schema:
        case {"$defs": {**forms}}:
            found = forms.get(form)
        case _:
            found = None
    match found:
        case {"properties": {}, "required": [*_]}:
            return found
        case _:
            return fail(f"{form} is in the schema", schema)


def types_of(schema: dict[str, Any], told: Any) -> set[str]:
    """What types a field may have, however that is written."""
    match told:
        case {"$ref": str(name)}:
            told = schema["$defs"].get(name.removeprefix("#/$defs/"))
        case _:
            pass
    match told:
        case {"anyOf": [*ways]} | {"oneOf": [*ways]}:
            return {kind for way in ways for kind in as_set(way)}
        case _:
            return as_set(told)


def as_set(told: Any) -> set[str]:
    """The one type that is told, or several."""
    match told:
        case {"type": [*types]}:
            return {str(each) for each in types}
        case {"type": str(only)}:
            return {only}
        case _:
            return set()
