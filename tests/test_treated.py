"""What reached a trial, what came of it, and every choice that routing made."""

from __future__ import annotations

import msgspec
import pytest
import synthetic
from synthetic import register, result, step

from evalkit import prices, registration, tables
from evalkit.analysis import analyse
from evalkit.conclusions import NONE, Received
from evalkit.records import Candidate, Output, Program, Selection, Treatment

RATES = prices.rates()
ALL = ("core", "edge", "docs")
TWO = ("full", "baseline")
AT_HOME = ("skill-a", "skill-b")


def analysed(tmp_path, result_of, *, sealed=None, **options):
    sealed = sealed or register(**{"cases": ("a",), "arms": TWO, **options})
    return analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)


def treated(key, *treatments, checks=ALL):
    """A trial whose steps got these treatments."""
    slugs = ("task",) if len(treatments) == 1 else ("one", "two")
    return result(
        key,
        *(
            msgspec.structs.replace(step(*checks, slug=slug), treatment=given)
            for slug, given in zip(slugs, treatments, strict=True)
        ),
    )


def received_of(found, arm="full"):
    return {row.received: row for row in found.received if row.arm == arm}


NOTHING = Treatment((), (), (), ())
OFFERED = Treatment(AT_HOME, (), (), ())
PICKED = Treatment(AT_HOME, ("skill-a",), (), ())
INVOKED = Treatment(AT_HOME, ("skill-a",), ("skill-b",), ())
READ = Treatment(AT_HOME, (), ("skill-b",), ("skill-a",))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (NOTHING, Received.NOTHING),
        (OFFERED, Received.OFFERED),
        (PICKED, Received.PICKED),
        (INVOKED, Received.INVOKED),
        (READ, Received.READ),
    ],
)
def test_a_trial_stands_under_the_strongest_that_reached_it(tmp_path, given, expected):
    found = analysed(tmp_path, lambda key: treated(key, given))
    (row,) = received_of(found).values()
    assert (row.received, row.n, row.n_looked) == (expected, 4, 0)


def test_outcomes_are_split_and_their_trials_add_up(tmp_path):
    def result_of(key):
        if key.repeat == 1:
            return treated(key, INVOKED)
        return treated(key, OFFERED, checks=("core",))

    found = analysed(tmp_path, result_of)
    rows = received_of(found)
    used, offered = rows[Received.INVOKED], rows[Received.OFFERED]
    assert (used.n, used.score, used.passed.k, used.passed.n) == (1, 1, 1, 1)
    assert (offered.n, offered.score, offered.passed.k) == (3, 0.5, 0)
    assert offered.passed.low is not None
    for summary in found.arms:
        own = received_of(found, summary.arm).values()
        assert sum(row.n for row in own) == summary.n_trials


def test_a_chain_counts_by_the_strongest_of_its_steps(tmp_path):
    found = analysed(
        tmp_path, lambda key: treated(key, INVOKED, OFFERED), steps=("one", "two")
    )
    assert list(received_of(found)) == [Received.INVOKED]


def test_what_no_request_shows_did_not_reach_the_trial(tmp_path):
    def result_of(key):
        listed = AT_HOME[:1] if key.repeat == 1 else ()
        return treated(key, Treatment(AT_HOME, ("skill-a",), (), (), listed, ()))

    rows = received_of(analysed(tmp_path, result_of))
    assert {name: (row.n, row.n_looked) for name, row in rows.items()} == {
        Received.NOTHING: (3, 3),
        Received.OFFERED: (1, 1),
    }


def test_knowledge_in_the_prompt_is_text_that_reached_the_trial(tmp_path):
    found = analysed(
        tmp_path, lambda key: treated(key, NOTHING), arms=("injected", "baseline")
    )
    assert list(received_of(found, "injected")) == [Received.PICKED]
    assert list(received_of(found, "baseline")) == [Received.NOTHING]


def test_the_table_says_that_nobody_drew_who_used_a_skill(tmp_path):
    found = analysed(tmp_path, lambda key: treated(key, INVOKED))
    shown = tables.received(found).text
    assert "NOT RANDOMISED" in shown
    assert "who invokes a skill may differ from who does not" in shown
    assert "nobody looked" in shown


@pytest.mark.parametrize(
    ("output", "seen"), [(Output.NONE, False), (Output.CLAUDE, True)]
)
def test_a_program_that_says_nothing_leaves_its_use_of_skills_unknown(
    tmp_path, output, seen
):
    sealed = register(cases=("a",), arms=TWO, program=Program(("x",), output))
    agent = msgspec.structs.replace(sealed.agent, name="command")
    sealed = registration.seal(msgspec.structs.replace(sealed, agent=agent))
    found = analysed(tmp_path, lambda key: treated(key, OFFERED), sealed=sealed)
    assert received_of(found)[Received.OFFERED].uses_seen is seen
    assert ("or used: not known" in tables.received(found).text) is not seen


QUERIES = {
    # canonical, candidates, picked
    "exact": (("a",), ("a", "b"), "a"),
    "rightly-none": ((), ("a", "b"), None),
    "partly": (("a", "b"), ("a", "c"), "a"),
    "wrong": (("b",), ("b", "c"), "c"),
    "missed": (("c",), ("a", "b"), None),
    "needless": ((), ("c",), "c"),
}


def routed(tmp_path, queries=QUERIES, *, repeats=2, picked_of=None, **options):
    """A routed arm, whose library holds a, b and c, on a case for each query."""
    sealed = register(
        cases=tuple(queries), arms=("auto", "baseline"), repeats=repeats, **options
    )
    cases = tuple(
        msgspec.structs.replace(case, skills={"task": queries[case.id][0]})
        for case in sealed.cases
    )
    arms = tuple(
        msgspec.structs.replace(seal, skills=("a", "b", "c")) for seal in sealed.arms
    )
    sealed = registration.seal(msgspec.structs.replace(sealed, cases=cases, arms=arms))

    def result_of(key):
        _, candidates, picked = queries[key.case]
        if picked_of is not None:
            picked = picked_of(key)
        chosen = Selection(
            tuple(Candidate(name, 1.0) for name in candidates), picked, "model"
        )
        given = chosen if key.arm == "auto" else None
        return result(key, msgspec.structs.replace(step(*ALL), selection=given))

    return analysed(tmp_path, result_of, sealed=sealed)


def test_every_choice_is_one_of_five(tmp_path):
    (found,) = routed(tmp_path).routing
    assert msgspec.structs.asdict(found.choices) == {
        "exact": 2,
        "partly": 1,
        "wrong": 1,
        "missed": 1,
        "needless": 1,
    }
    assert sum(msgspec.structs.asdict(found.choices).values()) == found.exact.n == 6
    assert (found.exact.k, found.exact.low is not None) == (2, True)
    assert found.exact_ceiling.k == 4


def test_at_least_one_is_asked_only_of_queries_that_need_one(tmp_path):
    (found,) = routed(tmp_path).routing
    assert (found.any_hit.k, found.any_hit.n) == (2, 4)
    assert (found.any_hit_ceiling.k, found.any_hit_ceiling.n) == (3, 4)


def test_recall_of_candidates_has_the_ceiling_of_list_and_library(tmp_path):
    queries = {**QUERIES, "not-in-library": (("z",), ("a",), None)}
    (found,) = routed(tmp_path, queries).routing
    held = found.recalled
    assert (held.n_held, held.n, held.ceiling, held.n_candidates) == (3, 6, 5, 5)
    (short,) = routed(tmp_path / "short", queries, n_candidates=1).routing
    assert (short.recalled.ceiling, short.recalled.n_candidates) == (4, 1)


def test_picks_agree_with_what_was_called_for_by_hand(tmp_path):
    (found,) = routed(tmp_path).routing
    both = found.overlap
    assert (both.n_right, both.n_picked, both.n_needed) == (2, 4, 5)
    assert both.precision == pytest.approx(2 / 4)
    assert both.recall == pytest.approx(2 / 5)
    assert both.f1 == pytest.approx(4 / 9)
    assert both.jaccard == pytest.approx((1 + 1 + 1 / 2 + 0 + 0 + 0) / 6)
    # a: 2 right of 2 and 2; b: needed twice, never picked; c: picked twice, never right.
    assert both.macro_f1 == pytest.approx((1 + 0 + 0) / 3)


def test_a_share_of_nothing_is_unknown(tmp_path):
    (found,) = routed(tmp_path, {"q": ((), ("a",), None)}).routing
    both = found.overlap
    assert (both.precision, both.recall, both.f1, both.macro_f1) == (None,) * 4
    assert both.jaccard == 1
    assert (found.any_hit.n, found.any_hit.low) == (0, None)


def test_a_skill_that_nothing_calls_for_is_listed_and_in_no_mean(tmp_path):
    queries = {"q": (("a",), ("a",), "a"), "r": ((), ("b",), "b")}
    report = routed(tmp_path, queries)
    (found,) = report.routing
    rows = [(r.skill, r.support, r.picked, r.hits, r.f1) for r in found.skills]
    assert rows == [("a", 1, 1, 1, 1.0), ("b", 0, 1, 0, None)]
    assert found.overlap.macro_f1 == 1
    assert "in no mean of skills: b." in tables.routing(report).text


def test_repeats_that_choose_alike_are_one_choice_and_others_are_many(tmp_path):
    queries = {"q": (("a",), ("a", "b"), "a")}
    (alike,) = routed(tmp_path, queries, repeats=4).routing
    assert (alike.unit, alike.choices.exact, alike.overlap.n_needed) == (
        "queries",
        1,
        1,
    )
    (others,) = routed(
        tmp_path / "others",
        queries,
        repeats=4,
        picked_of=lambda key: "a" if key.repeat > 1 else "b",
    ).routing
    assert (others.unit, others.choices.exact, others.choices.wrong) == (
        "steps of trials",
        3,
        1,
    )
    assert others.recalled.n == 1


def matrix(report):
    parts = tables.routing(report).parts
    return next(p for p in parts if getattr(p, "caption", "").startswith("Called for"))


def test_the_matrix_has_a_row_and_a_column_for_none(tmp_path):
    table = matrix(routed(tmp_path))
    assert [column.head for column in table.columns] == ["Called for", "a", "c", NONE]
    assert table.rows == (
        ("a", "2", "0", "0"),
        ("a + b", "2", "0", "0"),
        ("b", "0", "2", "0"),
        ("c", "0", "0", "2"),
        (NONE, "0", "2", "2"),
    )
    bare = matrix(routed(tmp_path / "bare", {"q": (("a",), ("a",), "a")}))
    assert bare.rows == (("a", "2", "0"), (NONE, "0", "0"))


@pytest.mark.parametrize(("n", "shares"), [(3, False), (10, True)])
def test_few_queries_are_counted_and_not_turned_into_shares(tmp_path, n, shares):
    queries = {f"q{k}": (("a",), ("a",), "a") for k in range(n)}
    text = tables.routing(routed(tmp_path, queries, repeats=1)).text
    assert "%" not in text
    assert ("Jaccard |" in text) is shares
    assert (f"{n} of {n} (1.00)" in text) is shares
    assert ("counts only" in text) is not shares
