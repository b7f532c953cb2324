"""What must hold before a claim, and the status that follows."""

from __future__ import annotations

import msgspec
import pytest
import synthetic
from synthetic import infrastructure, register, result, step

from evalkit import files, gates, usage
from evalkit.analysis import analyse
from evalkit.records import Treatment

ALL = ("core", "edge", "docs")
SIX = ("a", "b", "c", "d", "e", "f")
RATES = usage.parse_rates(files.package_data("prices.toml"))


def clear(key):
    """Full passes everything, baseline hardly anything, with some spread."""
    if key.arm == "full":
        return result(key, step(*ALL) if key.repeat > 1 else step("core", "edge"))
    return result(key, step("docs") if key.repeat > 1 else step())


def judged(tmp_path, *, result_of=clear, cases=SIX, simulated=False, seen=None):
    sealed = register(
        cases=cases, arms=("full", "baseline"), repeats=3, simulated=simulated
    )
    journal = synthetic.run(tmp_path, sealed, result_of)
    return gates.judge(analyse(seen or sealed, journal, RATES))


def verdict(analysis, name):
    return next(gate.verdict for gate in analysis.gates if gate.name == name)


def test_the_best_status_asks_people_for_a_review(tmp_path):
    found = judged(tmp_path)
    unasked = {"verdicts repeat", "treatment arrived"}
    assert {verdict(found, name) for name in unasked} == {"unknown"}
    others = [gate for gate in found.gates if gate.name not in unasked]
    assert {gate.verdict for gate in others} == {"pass"}
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
    for gate in judged(tmp_path).gates:
        assert gate.sentence.endswith(".")
        assert gate.evidence


def with_treatment(given):
    def result_of(key):
        found = clear(key)
        steps = tuple(
            msgspec.structs.replace(one, treatment=given(key)) for one in found.steps
        )
        return msgspec.structs.replace(found, steps=steps)

    return result_of


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
