"""Answers to probes in a report: those of the run alone, scored anew, apart from trials."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest
import synthetic
import tinyroot
from msgspec.structs import replace

from evalkit import files, prices, probed, probes, probing, registration, skills, tables
from evalkit import plan as planning
from evalkit.analysis import analyse
from evalkit.conclusions import RoutingCell
from evalkit.errors import DriftError, InputError
from evalkit.records import Candidate, Selection

RATES = prices.rates()
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PROBES = tuple(
    probes.Probe(name, f"query of {name}", expected, category)
    for name, expected, category in (
        ("right", ("greeting",), "direct"),
        ("missed", ("guide",), "direct"),
        ("wrong", ("guide",), "ambiguous"),
        ("either", ("guide", "greeting"), "ambiguous"),
        ("neither", ("guide", "greeting"), "ambiguous"),
        ("needless", (), "none"),
        ("rightly-none", (), "none"),
    )
)
RANKED = (Candidate("greeting", 2.0), Candidate("guide", 1.0))
PICKED = {
    "right": "greeting",
    "missed": None,
    "wrong": "greeting",
    "either": "greeting",
    "neither": None,
    "needless": "guide",
    "rightly-none": None,
}
ANSWERS = {
    name: Selection(RANKED, skill, "model" if skill else "none")
    for name, skill in PICKED.items()
}


@pytest.fixture
def library(root):
    return skills.open_library(root, "current", name="x")


@pytest.fixture
def sealed(library):
    """A run whose arm `auto` routes from the tiny library."""
    made = synthetic.register(arms=("auto", "baseline"), repeats=1)
    auto = replace(
        made.arms[0],
        library_digest=library.digest,
        triggers_digest=files.sha256(library.triggers),
        skills=("greeting", "guide"),
    )
    return registration.seal(replace(made, arms=(auto, made.arms[1])))


@pytest.fixture
def asked(library, sealed):
    """What the run's agent answered."""
    made = probing.rank_probes(PROBES, library, NOW, sealed.plan)
    scores = probes.score(PROBES, ANSWERS)
    found = {"answers": ANSWERS, "scores": scores, "n_calls": 5}
    return replace(made, agent=sealed.agent, **found)


def analysed(folder, sealed, *kept):
    for n, answered in enumerate(kept):
        probing.keep(answered, folder / "runs" / f"probes-{n}")
    run = folder / "runs" / sealed.run_id
    run.mkdir()
    journal = synthetic.run(run, sealed, lambda _: None)
    return probed.with_probes(analyse(sealed, journal, RATES), sealed, run.parent)


def test_answers_are_told_apart_as_choices_of_trials_are(root, sealed, asked):
    (found,) = analysed(root, sealed, asked).probed
    assert (found.asked, found.n_calls, found.unit) == (True, 5, "probes")
    assert (found.exact.k, found.exact.n) == (3, 7)
    assert found.exact.low == pytest.approx(0.158, abs=0.001)
    counted = found.choices
    assert (counted.missed, counted.wrong, counted.needless) == (2, 1, 1)
    recalled = found.recalled
    assert (recalled.n_held, recalled.n, recalled.ceiling) == (5, 5, 5)
    assert [(row.category, row.right.k, row.n) for row in found.categories] == [
        ("direct", 1, 2), ("ambiguous", 1, 3), ("none", 1, 2), ("all", 3, 7),
    ]  # fmt: skip


def test_of_several_accepted_skills_the_best_chosen_is_called_for(root, sealed, asked):
    """Picked, else best among the candidates: never both, so none is half missed."""
    (found,) = analysed(root, sealed, asked).probed
    assert set(found.cells) == {
        RoutingCell("greeting", "greeting", 2),
        RoutingCell("greeting", "none", 1),
        RoutingCell("guide", "greeting", 1),
        RoutingCell("guide", "none", 1),
        RoutingCell("none", "guide", 1),
        RoutingCell("none", "none", 1),
    }


def test_a_table_names_the_file_it_comes_from(root, sealed, asked):
    found = analysed(root, sealed, asked)
    kept = root / "runs/probes-0/probes.json"
    assert found.probed[0].sha256 == files.file_digest(kept)
    said = tables.probes(found).text
    assert f"probes-0/probes.json | {files.file_digest(kept)[:12]}" in said
    assert synthetic.MODEL in said


def test_the_ranking_alone_and_a_model_stand_side_by_side(root, sealed, asked, library):
    ranked = probing.rank_probes(PROBES, library, NOW, sealed.plan)
    found = analysed(root, sealed, asked, ranked)
    assert [one.asked for one in found.probed] == [True, False]
    rows = tables.probes(found).parts[0].rows
    assert [row[0] for row in rows] == [synthetic.MODEL, "the ranking alone"]
    assert found.probed_refusal is None


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda a: replace(a, library_digest="f" * 64), "another library"),
        (lambda a: replace(a, triggers_digest="f" * 64), "other phrases"),
        (lambda a: replace(a, plan=replace(a.plan, model="other")), "another model"),
        (lambda a: replace(a, plan=replace(a.plan, effort="low")), "effort"),
        (lambda a: replace(a, plan=replace(a.plan, n_candidates=9)), "9 candidates"),
        (lambda a: replace(a, agent=replace(a.agent, version="2")), "made 2"),
        (lambda a: replace(a, agent=replace(a.agent, simulated=True)), "SIMULATED"),
        (lambda a: replace(a, answers={}), "cannot be read"),
        (lambda a: replace(a, probes=(), answers={}, n_calls=0), "one probe at least"),
        (lambda a: replace(a, probes=a.probes * 2), "id 2 times"),
        (lambda a: replace(a, n_calls=8), "8 calls"),
        (lambda a: replace(a, agent=None), "5 calls"),
        (lambda a: _answer(a, picked="nobody's"), "candidates named nobody's"),
        (lambda a: _answer(a, candidates=(Candidate("x", 1.0),)), "skills named x"),
        (lambda a: replace(a, format=2), "found format 2"),
        (lambda a: replace(a, plan=replace(a.plan, model="m" * 10**6)), "mmm..."),
    ],
)
def test_answers_of_another_run_are_named_and_none_of_their_numbers(
    root, sealed, asked, other, why
):
    found = analysed(root, sealed, other(asked))
    assert found.probed == ()
    (unlike,) = found.probed_unlike
    assert unlike.file == "probes-0/probes.json"
    assert why in unlike.why
    said = tables.probes(found)
    assert why in said.text
    assert "What was chosen" not in said.text


def _answer(asked, **changes):
    """Answers of which the first is another."""
    other = replace(asked.answers["right"], **changes)
    return replace(asked, answers=asked.answers | {"right": other})


def test_the_same_asked_at_one_time_twice_is_told_twice(root, sealed, asked):
    said = tables.probes(analysed(root, sealed, asked, asked))
    names = [row[0] for row in said.parts[0].rows]
    assert len(names) == 2
    assert all(f"probes-{n}/probes.json" in name for n, name in enumerate(names))


def test_a_folder_whose_name_is_no_text_is_shown(root, sealed, asked):
    probing.keep(asked, root / "runs" / os.fsdecode(b"probes-\xff"))
    said = tables.probes(analysed(root, sealed)).text
    assert r"probes-\udcff/probes.json" in said
    assert said.encode()


def test_a_file_that_is_none_is_named(root, sealed):
    torn = root / "runs/probes-x/probes.json"
    torn.parent.mkdir()
    torn.write_text('{"answers": ')
    (unlike,) = analysed(root, sealed).probed_unlike
    assert "cannot be read" in unlike.why
    assert str(root) not in unlike.why


def test_where_nobody_asked_the_commands_are_named(root, sealed):
    said = tables.probes(analysed(root, sealed)).text
    assert f"evalkit route --probes --for {sealed.run_id}" in said
    assert f"evalkit route --probes --ask {sealed.run_id}" in said


def test_a_run_without_routing_takes_no_probes(root, asked):
    unrouted = synthetic.register(arms=("full", "baseline"), repeats=1)
    found = analysed(root, unrouted, asked)
    assert (found.probed, found.probed_unlike) == ((), ())
    assert "No arm of this run chooses" in tables.probes(found).text


def test_of_many_skills_only_those_taken_for_others_have_a_column(root, sealed, asked):
    names = [f"skill-{n}" for n in range(10)]
    many = tuple(probes.Probe(n, n, (n,), "direct") for n in names)
    picked = dict(zip(names, ["skill-1", *names[1:]], strict=True))
    auto = replace(sealed.arms[0], skills=tuple(names))
    ranked = tuple(Candidate(name, 1.0) for name in names)
    answers = {n: Selection(ranked, skill, "model") for n, skill in picked.items()}
    found = analysed(
        root,
        registration.seal(replace(sealed, arms=(auto, sealed.arms[1]))),
        replace(asked, probes=many, answers=answers),
    )
    matrix = tables.probes(found).parts[2].parts[1]
    heads = [column.head for column in matrix.columns]
    assert heads == ["Called for", "That very skill", "skill-1", "none"]
    rows = {row[0]: row[1:] for row in matrix.rows}
    assert rows["skill-0"] == ("0", "1", "0")
    assert rows["skill-1"] == ("-", "1", "0")
    assert rows["skill-2"] == ("1", "0", "0")


def test_only_the_registered_library_is_answered_for_a_run(own_root):
    now = "2026-11-30T05:00:00.000+00:00"
    run = planning.seal_plan(tinyroot.plan(), own_root, now=lambda: now)
    sealed = registration.load_registration(run)
    (own_root / "cases/_skills/probes.toml").write_text(
        '[[probe]]\nid = "a"\nquery = "say hello"\nexpected = []\ncategory = "none"\n'
    )
    library, listed = probing.open_routed(sealed, own_root)
    assert [probe.id for probe in listed] == ["a"]
    assert library.digest == sealed.arms[1].library_digest
    phrases = own_root / "cases/_skills/triggers.toml"
    phrases.write_text(phrases.read_text().replace("say hello", "say goodbye"))
    with pytest.raises(DriftError, match="phrases: registered"):
        probing.open_routed(sealed, own_root)
    with pytest.raises(InputError, match="chooses skills by routing"):
        probing.open_routed(synthetic.register(arms=("full",)), own_root)
