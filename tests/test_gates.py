"""What must hold before a claim, and the status that follows."""

from __future__ import annotations

import msgspec
import pytest
import synthetic
from synthetic import attempts, infrastructure, record, register, result, step

from evalkit import gates, prices, tables
from evalkit.analysis import analyse
from evalkit.records import Regraded, Treatment, TrialKey

ALL = ("core", "edge", "docs")
SIX = ("a", "b", "c", "d", "e", "f")
RATES = prices.rates()


def clear(key):
    """Full passes everything, baseline hardly anything, with some spread."""
    if key.arm == "full":
        return result(key, step(*ALL) if key.repeat > 1 else step("core", "edge"))
    return result(key, step("docs") if key.repeat > 1 else step())


def judged(
    tmp_path,
    *,
    result_of=clear,
    cases=SIX,
    repeats=3,
    simulated=False,
    seen=None,
    ended="complete",
    **plan,
):
    sealed = register(
        cases=cases,
        arms=("full", "baseline"),
        repeats=repeats,
        simulated=simulated,
        **{"margin": 0.2, **plan},
    )
    found = [result_of(key) for key in sealed.schedule]
    bodies = attempts(*(one for one in found if one is not None))
    journal = record(tmp_path, sealed, bodies, ended=ended)
    return gates.judge(analyse(seen or sealed, journal, RATES))


def gate(analysis, name):
    return next(found for found in analysis.gates if found.name == name)


def verdict(analysis, name):
    return gate(analysis, name).verdict


def with_steps(result_of, **changed):
    """The results, each step changed; a change may depend on the trial's key."""

    def changed_of(key):
        found = result_of(key)
        steps = tuple(
            msgspec.structs.replace(
                one, **{name: of(key, one) for name, of in changed.items()}
            )
            for one in found.steps
        )
        return msgspec.structs.replace(found, steps=steps)

    return changed_of


def nothing(_):
    """No trial was begun."""


def test_gates_stand_in_the_order_a_reader_asks(tmp_path):
    assert [found.name for found in judged(tmp_path).gates] == [
        "evidence real",
        "registration intact",
        "isolation as registered",
        "graders proven",
        "verdicts repeat",
        "blocks complete",
        "budget not hit",
        "treatment arrived",
        "usage complete",
        "sample",
        "not saturated",
        "difference detectable",
        "difference seen",
    ]


def test_the_best_status_asks_people_for_a_review(tmp_path):
    found = judged(tmp_path)
    unasked = {"verdicts repeat", "treatment arrived"}
    assert {verdict(found, name) for name in unasked} == {"unknown"}
    others = [other for other in found.gates if other.name not in unasked]
    assert {other.verdict for other in others} == {"pass"}
    assert found.status == "review-required"


def test_a_scripted_agent_is_synthetic_only_whatever_else_fails(tmp_path):
    found = judged(tmp_path, cases=("a", "b"), simulated=True)
    assert verdict(found, "evidence real") == verdict(found, "sample") == "fail"
    assert found.status == "synthetic-only"


def test_a_single_simulated_trial_makes_the_run_synthetic(tmp_path):
    def result_of(key):
        return msgspec.structs.replace(clear(key), simulated=key.repeat == 1)

    assert judged(tmp_path, result_of=result_of).status == "synthetic-only"


def test_three_cases_are_too_few_for_tasks_like_these(tmp_path):
    found = judged(tmp_path, cases=("a", "b", "c"))
    assert found.status == "insufficient-sample"


def test_a_case_without_a_whole_block_is_no_case_of_the_sample(tmp_path):
    def result_of(key):
        return infrastructure(key) if key.case == "f" else clear(key)

    found = judged(tmp_path, result_of=result_of)
    assert (found.design.n_cases, verdict(found, "sample")) == (5, "fail")


@pytest.mark.parametrize(("n_lost", "expected"), [(1, "pass"), (2, "fail")])
def test_nine_blocks_in_ten_must_be_whole(tmp_path, n_lost, expected):
    lost = {(case, 1) for case in SIX[:n_lost]}

    def result_of(key):
        return infrastructure(key) if (key.case, key.repeat) in lost else clear(key)

    found = judged(tmp_path, result_of=result_of)
    assert verdict(found, "blocks complete") == expected
    assert (found.status == "inconclusive") == (expected == "fail")


def test_an_edited_registration_fails_its_gate(tmp_path):
    sealed = register(cases=SIX, arms=("full", "baseline"), repeats=3)
    edited = msgspec.structs.replace(sealed, run_source="2" * 64)
    found = judged(tmp_path, seen=edited)
    assert verdict(found, "registration intact") == "fail"
    assert found.status == "inconclusive"


def test_a_journal_of_another_registration_fails_its_gate(tmp_path):
    other = register(cases=SIX, arms=("full", "baseline"), repeats=3, seed=2)
    found = judged(tmp_path, seen=other)
    assert verdict(found, "registration intact") == "fail"


def test_another_isolation_than_registered_fails_its_gate(tmp_path):
    def result_of(key):
        return msgspec.structs.replace(clear(key), isolation="none")

    found = judged(tmp_path, result_of=result_of)
    assert verdict(found, "isolation as registered") == "fail"


def test_no_clear_difference_is_inconclusive(tmp_path):
    def result_of(key):
        return result(key, step(*ALL) if key.repeat > 1 else step("core"))

    found = judged(tmp_path, result_of=result_of)
    assert verdict(found, "difference seen") == "fail"
    assert found.status == "inconclusive"


def test_arms_that_are_all_alike_leave_the_difference_unknown(tmp_path):
    found = judged(tmp_path, result_of=lambda key: result(key, step(*ALL)))
    assert verdict(found, "difference seen") == "unknown"
    assert found.status == "inconclusive"


def test_every_gate_says_a_sentence_and_shows_its_evidence(tmp_path):
    for found in judged(tmp_path).gates:
        assert found.sentence.endswith(".")
        assert found.evidence


def with_treatment(given):
    return with_steps(clear, treatment=lambda key, _: given(key))


def as_delivered(key):
    """Two skills at home and one in the prompt of `full`; all of it seen."""
    if key.arm != "full":
        return Treatment((), (), (), (), (), ())
    return Treatment(("a", "b"), ("a",), (), (), ("a", "b"), ("a",))


def test_a_treatment_that_every_request_shows_has_arrived(tmp_path):
    found = judged(tmp_path, result_of=with_treatment(as_delivered))
    assert verdict(found, "treatment arrived") == "pass"
    assert found.status == "review-required"


def test_a_treatment_at_which_nobody_looked_is_unknown_and_closes_nothing(tmp_path):
    found = judged(tmp_path)
    assert verdict(found, "treatment arrived") == "unknown"
    assert found.status == "review-required"


def test_a_step_at_which_nobody_looked_leaves_the_treatment_unknown(tmp_path):
    def given(key):
        return Treatment((), (), (), ()) if key.repeat == 1 else as_delivered(key)

    found = judged(tmp_path, result_of=with_treatment(given))
    assert verdict(found, "treatment arrived") == "unknown"


@pytest.mark.parametrize(
    "seen",
    [
        {"listed": ("a",)},
        {"carried": ()},
        {"listed": ("a", "b", "of-somebody-else")},
    ],
)
def test_a_single_step_that_got_another_treatment_makes_a_run_inconclusive(
    tmp_path, seen
):
    def given(key):
        right = as_delivered(key)
        if (key.case, key.arm, key.repeat) != ("a", "full", 1):
            return right
        return msgspec.structs.replace(right, **seen)

    found = judged(tmp_path, result_of=with_treatment(given))
    assert verdict(found, "treatment arrived") == "fail"
    assert found.status == "inconclusive"
    assert [stray.trial for stray in found.strays] == ["a.full.r1"]


@pytest.mark.parametrize(("n_lost", "expected"), [(2, "pass"), (3, "fail")])
def test_two_blocks_of_twenty_may_be_lost_and_three_may_not(tmp_path, n_lost, expected):
    sealed = register(cases=("a", "b", "c", "d"), arms=("full", "baseline"), repeats=5)
    lost = {("a", repeat) for repeat in range(1, n_lost + 1)}

    def result_of(key):
        return infrastructure(key) if (key.case, key.repeat) in lost else clear(key)

    journal = synthetic.run(tmp_path, sealed, result_of)
    found = gates.judge(analyse(sealed, journal, RATES))
    assert len(found.lost_blocks) == n_lost
    assert verdict(found, "blocks complete") == expected


def test_too_many_lost_blocks_are_inconclusive_even_where_the_sample_is_small(tmp_path):
    def result_of(key):
        return infrastructure(key) if key.repeat == 1 else clear(key)

    found = judged(tmp_path, result_of=result_of, cases=("a", "b"))
    assert verdict(found, "sample") == "fail"
    assert found.status == "inconclusive"


def test_a_run_without_results_leaves_unknown_what_only_results_tell(tmp_path):
    found = judged(tmp_path, result_of=nothing, ended="interrupted")
    unknown = {one.name for one in found.gates if one.verdict == "unknown"}
    assert unknown == {
        "isolation as registered",
        "graders proven",
        "verdicts repeat",
        "budget not hit",
        "treatment arrived",
        "usage complete",
        "not saturated",
        "difference detectable",
        "difference seen",
    }
    assert found.status == "inconclusive"


def test_a_run_that_never_began_leaves_its_registration_unknown(tmp_path):
    sealed = register(cases=SIX, arms=("full", "baseline"), repeats=3)
    journal = record(tmp_path, sealed, [])
    silent = analyse(sealed, journal, RATES)
    none = msgspec.structs.replace(silent.integrity, n_starts=0)
    found = gates.judge(msgspec.structs.replace(silent, integrity=none))
    assert verdict(found, "registration intact") == "unknown"
    assert found.status == "inconclusive"


def test_a_grade_by_another_grader_than_the_proven_one_closes_every_claim(tmp_path):
    def graded(key, one):
        other = "f" * 64 if (key.case, key.repeat) == ("c", 2) else synthetic.GRADER
        return msgspec.structs.replace(one.grade, grader_digest=other)

    found = judged(tmp_path, result_of=with_steps(clear, grade=graded))
    assert verdict(found, "graders proven") == "fail"
    assert "c: graded by another digest" in gate(found, "graders proven").evidence
    assert [row.n_other for row in found.graders] == [0, 0, 2, 0, 0, 0]
    assert found.status == "inconclusive"


def test_a_proof_for_other_digests_than_the_sealed_ones_proves_nothing(tmp_path):
    sealed = register(cases=SIX, arms=("full", "baseline"), repeats=3)
    swapped = msgspec.structs.replace(sealed.cases[0], proof="a-0123456789ab.json")
    edited = msgspec.structs.replace(sealed, cases=(swapped, *sealed.cases[1:]))
    found = judged(tmp_path, seen=edited)
    assert [row.bound for row in found.graders] == [False, *[True] * 5]
    assert "a: no proof" in gate(found, "graders proven").evidence
    assert verdict(found, "graders proven") == "fail"


@pytest.mark.parametrize("ended", ["budget", "deadline"])
def test_a_run_that_its_budget_stopped_says_so_and_closes_nothing(tmp_path, ended):
    found = judged(tmp_path, ended=ended)
    assert verdict(found, "budget not hit") == "fail"
    assert "closes no claim" in gate(found, "budget not hit").sentence
    assert found.status == "review-required"


@pytest.mark.parametrize("ended", ["interrupted", "drift", "fault", "infrastructure"])
def test_a_run_that_something_else_stopped_leaves_its_budget_unknown(tmp_path, ended):
    assert verdict(judged(tmp_path, ended=ended), "budget not hit") == "unknown"


def test_a_trial_of_unknown_usage_informs_and_closes_nothing(tmp_path):
    def requests(key, one):
        return () if (key.case, key.repeat) == ("a", 1) else one.requests

    found = judged(tmp_path, result_of=with_steps(clear, requests=requests))
    assert verdict(found, "usage complete") == "fail"
    assert "34 of 36 trials" in gate(found, "usage complete").evidence
    assert found.status == "review-required"


def test_a_request_of_unknown_usage_leaves_usage_incomplete(tmp_path):
    def unknown(key, _):
        return int((key.case, key.arm, key.repeat) == ("a", "full", 1))

    found = judged(tmp_path, result_of=with_steps(clear, n_unknown_requests=unknown))
    assert verdict(found, "usage complete") == "fail"
    assert "1 request of unknown usage" in gate(found, "usage complete").evidence


def test_reporters_that_differ_are_named_and_usage_is_still_complete(tmp_path):
    def differs(key, _):
        return "gateway 9, session 8" if key.arm == "full" else None

    found = judged(tmp_path, result_of=with_steps(clear, disagreement=differs))
    shown = gate(found, "usage complete")
    assert shown.verdict == "pass"
    assert "differ in 18 steps (a.full.r1, task; " in shown.evidence
    assert shown.evidence.endswith("; ...)")
    assert "most trustworthy" in shown.sentence


def test_a_margin_below_what_can_be_found_informs_and_closes_nothing(tmp_path):
    found = judged(tmp_path, margin=0.1)
    shown = gate(found, "difference detectable")
    assert shown.verdict == "fail"
    assert "(seen); the registered margin is 0.1" in shown.evidence
    assert found.status == "review-required"


def test_the_table_names_what_closes_a_claim_and_only_that(tmp_path):
    held = judged(tmp_path / "held", margin=0.1)
    assert "None of these closes" in tables.gates(held).note
    closed = judged(tmp_path / "closed", cases=SIX[:3], margin=0.1)
    assert "No claim stands against: sample. " in tables.gates(closed).note


def test_without_any_spread_nothing_says_what_could_be_found(tmp_path):
    found = judged(tmp_path, result_of=lambda key: result(key, step(*ALL)), margin=0.1)
    shown = gate(found, "difference detectable")
    assert shown.verdict == "unknown"
    assert "no spread was seen" in shown.evidence


def test_one_trial_of_a_case_does_not_say_what_could_be_found(tmp_path):
    found = judged(tmp_path, repeats=1)
    assert verdict(found, "difference detectable") == "unknown"


def test_for_passing_nobody_reckons_what_could_be_found(tmp_path):
    shown = gate(judged(tmp_path, outcome="passed"), "difference detectable")
    assert shown.verdict == "unknown"
    assert "the outcome is passed" in shown.evidence


def test_only_declared_contrasts_are_asked_for_what_they_could_find(tmp_path):
    # Auto is spread so widely that no difference from it could be found.
    def result_of(key):
        if key.arm == "auto":
            return result(key, step(*ALL) if key.repeat % 2 else step())
        return result(key, step(*(ALL if key.repeat > 1 else ("core", "edge"))))

    def asked(folder, **plan):
        sealed = register(cases=SIX, repeats=4, margin=0.2, **plan)
        journal = synthetic.run(folder, sealed, result_of)
        return gates.judge(analyse(sealed, journal, RATES))

    declared = asked(tmp_path / "a", confirmatory=("full against baseline",))
    assert verdict(declared, "difference detectable") == "pass"
    assert verdict(asked(tmp_path / "b"), "difference detectable") == "fail"


@pytest.mark.parametrize(
    ("again", "expected", "status"),
    [
        (("core", "edge"), "pass", "review-required"),
        (ALL, "fail", "inconclusive"),
    ],
)
def test_verdicts_given_again_must_be_the_same(tmp_path, again, expected, status):
    sealed = register(cases=SIX, arms=("full", "baseline"), repeats=3)
    key = TrialKey("a", "full", 1)
    bodies = [
        *attempts(*map(clear, sealed.schedule)),
        Regraded(result(key, step(*again)), "from the answers"),
    ]
    found = gates.judge(analyse(sealed, record(tmp_path, sealed, bodies), RATES))
    assert verdict(found, "verdicts repeat") == expected
    assert found.status == status


def test_cases_that_all_solve_leave_no_room_for_a_difference(tmp_path):
    def result_of(key):
        return result(key, step(*ALL)) if key.case in "abc" else clear(key)

    found = judged(tmp_path, result_of=result_of)
    assert verdict(found, "not saturated") == "fail"
    assert found.status == "inconclusive"


def test_only_declared_comparisons_can_show_a_difference(tmp_path):
    def seen(confirmatory):
        sealed = register(
            cases=SIX,
            arms=("full", "auto", "baseline"),
            repeats=3,
            confirmatory=confirmatory,
        )
        folder = tmp_path / (confirmatory[0] if confirmatory else "none")
        journal = synthetic.run(
            folder,
            sealed,
            lambda key: clear(key) if key.arm == "full" else result(key, step("docs")),
        )
        found = gates.judge(analyse(sealed, journal, RATES))
        return next(gate for gate in found.gates if gate.name == "difference seen")

    declared = seen(("full against baseline",))
    assert (declared.verdict, "1 declared" in declared.evidence) == ("pass", True)
    other = seen(("auto against baseline",))
    assert other.verdict != "pass"
    nothing = seen(None)
    assert nothing.verdict == "unknown"
    assert "0 declared comparisons" in nothing.evidence
