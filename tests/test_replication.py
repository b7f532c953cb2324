"""Two arms with whole libraries: what they share, skill by skill."""

from __future__ import annotations

import re

import msgspec
import pytest
import synthetic
from synthetic import register, result, step

from evalkit import prices, registration, tables
from evalkit.analysis import analyse
from evalkit.records import Arm, ArmSeal, Home, Wording

RATES = prices.rates()


def seal(name, digests, *, source, home=Home.ALL, prompt=Wording.BARE):
    return ArmSeal(
        Arm(name, home, prompt, source), source, "d" * 64, tuple(digests), digests
    )


def compared(tmp_path, *seals):
    made = register(cases=("a",), arms=("full", "baseline"), repeats=1)
    order = tuple(
        msgspec.structs.replace(made.schedule[0], arm=one.arm.name) for one in seals
    )
    sealed = registration.seal(
        msgspec.structs.replace(made, arms=tuple(seals), schedule=order)
    )
    journal = synthetic.run(tmp_path, sealed, lambda key: result(key, step("core")))
    return analyse(sealed, journal, RATES)


def two(tmp_path, mine, theirs, **options):
    return compared(
        tmp_path,
        seal("full", mine, source="built-in", **options),
        seal("old", theirs, source="early"),
    )


def test_skills_are_the_same_changed_or_in_one_arm_only(tmp_path):
    mine = {"a": "1", "b": "2", "c": "3", "d": "4"}
    found = two(tmp_path, mine, {"a": "1", "b": "9", "z": "5"})
    (row,) = found.replications
    assert (row.arm, row.other) == ("full", "old")
    assert (row.source, row.other_source) == ("built-in", "early")
    assert (row.same, row.changed) == (("a",), ("b",))
    assert (row.only_arm, row.only_other) == (("c", "d"), ("z",))
    parts = (row.same, row.changed, row.only_arm, row.only_other)
    assert sum(map(len, parts)) == len({*mine, "z"})
    assert row.sentence in tables.replication(found).text


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"a": "1", "b": "2", "c": "3"}, "3 of 3 skills .* cannot be due to skills"),
        ({"a": "1", "b": "2", "c": "9"}, "2 of 3 .* due to those, .* 1 .* share most"),
        ({"a": "1", "b": "9", "c": "9"}, "1 of 3 .* that one, .* no more than half"),
        ({"x": "1", "y": "2", "z": "3"}, "0 of 6 skills .* share no treatment"),
    ],
)
def test_a_sentence_says_what_is_shared_and_what_follows(tmp_path, theirs, said):
    found = two(tmp_path, {"a": "1", "b": "2", "c": "3"}, theirs)
    (row,) = found.replications
    assert re.search(said, row.sentence)
    assert "prompts differ" not in row.sentence


def test_prompts_that_differ_are_said_beside_equal_skills(tmp_path):
    found = two(tmp_path, {"a": "1"}, {"a": "1"}, prompt=Wording.CATALOGUE)
    (row,) = found.replications
    assert "Their prompts differ as well (catalogue and bare)" in row.sentence


@pytest.mark.parametrize("other", [{"source": "built-in"}, {"home": Home.LEAN}])
def test_only_whole_libraries_from_different_sources_are_compared(tmp_path, other):
    options = {"source": "early", **other}
    found = compared(
        tmp_path,
        seal("full", {"a": "1"}, source="built-in"),
        seal("old", {"a": "2"}, **options),
    )
    assert found.replications == ()
    assert "No two arms" in tables.replication(found).text


def test_every_pair_of_three_libraries_is_compared(tmp_path):
    found = compared(
        tmp_path,
        *(seal(name, {"a": name}, source=name) for name in ("full", "old", "older")),
    )
    assert [(row.arm, row.other) for row in found.replications] == [
        ("full", "old"),
        ("full", "older"),
        ("old", "older"),
    ]
