"""How a run with a real agent went, as its reader sees it: who answered for the
model, how attempts ended, what arrived, and what each kind of call used."""

from __future__ import annotations

import msgspec
import pytest
import synthetic
from synthetic import MODEL, attempts, infrastructure, record, register, result, step

from evalkit import prices, registration, tables
from evalkit.analysis import analyse
from evalkit.gates import judge
from evalkit.records import (
    Access,
    AttemptStarted,
    Call,
    Ended,
    Outcome,
    Request,
    Treatment,
)

RATES = prices.rates()
FINISHED = (Ended.FINISHED, 0, 1.0)
VENDOR = "https://api.anthropic.com"


def sealed_for(provider, access, *, simulated=False, name="claude", **options):
    """A registration whose agent reaches its model there, by this way."""
    made = register(**options)
    agent = msgspec.structs.replace(
        made.agent, provider=provider, access=access, simulated=simulated, name=name
    )
    return registration.seal(msgspec.structs.replace(made, agent=agent))


def judged(tmp_path, sealed, result_of=lambda key: result(key, step("core"))):
    return judge(analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES))


def but(found, **changes):
    """A result with its steps changed."""
    steps = tuple(msgspec.structs.replace(one, **changes) for one in found.steps)
    return msgspec.structs.replace(found, steps=steps)


def rows(table) -> dict[str, tuple[str, ...]]:
    return {first: rest for first, *rest in table.rows}


# --- who answered for the model ----------------------------------------------


def test_a_vendor_behind_the_gateway_is_named(tmp_path):
    found = judged(tmp_path, sealed_for(VENDOR, Access.GATEWAY))
    shown = rows(tables.agent(found))
    assert shown["Who answers for the model"] == ["api.anthropic.com"]
    assert "counts each request" in shown["Way to the model"][0]
    assert shown["sha256 of its executable"] == ["e" * 64]
    assert not any("directly" in limit for limit in found.limits)


def test_direct_access_is_named_as_weaker_in_the_table_and_in_the_limits(tmp_path):
    found = judged(tmp_path, sealed_for(VENDOR, Access.DIRECT))
    (way,) = rows(tables.agent(found))["Way to the model"]
    for said in (way, *(limit for limit in found.limits if "directly" in limit)):
        assert "weaker" in said
        assert "tools could read the credential" in said
        assert "own account" in said
    assert any("directly" in limit for limit in found.limits)


def test_a_program_on_this_machine_is_no_vendor(tmp_path):
    sealed = sealed_for("http://127.0.0.1:9", Access.GATEWAY, simulated=True)
    found = judged(tmp_path, sealed)
    assert "this machine (127.0.0.1), so SIMULATED" in tables.agent(found).text
    said = "a program on this machine stood in for the model"
    assert tables.answer(found).text.startswith(f"SIMULATED: {said}")
    assert found.gates[0].sentence.lower() == f"{said}."
    assert said in found.limits[0]
    assert found.status == "synthetic-only"


def test_an_agent_that_calls_no_model_has_no_way_to_one(tmp_path):
    found = judged(tmp_path, sealed_for(None, Access.GATEWAY))
    assert found.seals.access is None
    (told,) = rows(tables.agent(found))["Model"]
    assert told.startswith("none: it calls no model")
    assert f"Model | {told}" in tables.seals(found).text


@pytest.mark.parametrize(
    ("provider", "access", "why"),
    [
        (None, None, "calls no model"),
        ("https://api.example.com", Access.DIRECT, "leaves the gateway out"),
        ("https://api.example.com", Access.GATEWAY, "no request passed the gateway"),
    ],
)
def test_that_nobody_knows_what_arrived_has_its_reason(tmp_path, provider, access, why):
    found = judged(tmp_path, sealed_for(provider, access))
    (told,) = [gate for gate in found.gates if gate.name == "treatment arrived"]
    assert why in told.sentence


# --- how attempts ended ------------------------------------------------------


@pytest.fixture
def faulty(tmp_path):
    """One trial tried again after a fault, one given up, one interrupted, one cut."""
    sealed = register(cases=("a",), arms=("full", "baseline"), repeats=4)
    first, second, third, fourth, *others = sealed.schedule
    calls = (Call("task", Ended.PROVIDER_FAULT, 1, 1.0, detail="429 slow down"),)
    slow = but(infrastructure(first), calls=calls)
    bodies = [
        *attempts(slow, result(first, step("core"), attempt=2)),
        *attempts(*(infrastructure(second, attempt=n) for n in (1, 2, 3))),
        AttemptStarted(third, 1),
        *attempts(result(fourth, step("core", ended=Ended.TIMED_OUT))),
        *attempts(*(result(key, step("core")) for key in others)),
    ]
    return judge(analyse(sealed, record(tmp_path, sealed, bodies), RATES))


def test_attempts_are_counted_by_what_they_count_as_and_how_they_ended(faulty):
    found = {(row.outcome, row.ended): (row.n, row.n_again) for row in faulty.attempts}
    assert found == {
        ("scored", "finished"): (5, 0),
        ("infrastructure", "provider_fault"): (4, 3),
        ("agent_limit", "timed_out"): (1, 0),
        ("no result", "interrupted"): (1, 0),
    }
    assert "429 slow down" in tables.attempts(faulty).text


def test_a_block_that_is_left_out_says_which_arms_lack_a_result(faulty):
    shown = {(b.case, b.repeat): b.missing for b in faulty.lost_blocks}
    assert shown == {
        ("a", 1): {"baseline": "infrastructure"},
        ("a", 2): {"full": "interrupted"},
    }
    assert "left out of every comparison: 2 of 4" in tables.attempts(faulty).text


def test_an_attempt_whose_grader_died_says_so(tmp_path):
    sealed = register(cases=("a",), arms=("full",), repeats=1)
    found = judged(
        tmp_path, sealed, lambda key: result(key, step(died="out of memory"))
    )
    (row,) = found.attempts
    assert (row.outcome, row.ended) == ("grader_died", "grader_died")
    assert row.details == ("out of memory",)


def test_a_refusal_in_a_chain_tells_more_than_the_steps_that_finished(tmp_path):
    sealed = register(cases=("a",), arms=("full",), repeats=1, steps=("one", "two"))

    def refused(key):
        second = step("core", slug="two", ended=Ended.REFUSED)
        return result(key, step("core", slug="one"), second)

    (row,) = judged(tmp_path, sealed, refused).attempts
    assert (row.outcome, row.ended) == ("scored", "refused")


def test_a_failed_choice_does_not_say_how_its_attempt_ended(tmp_path):
    def chose_nothing(key):
        calls = (Call("select", Ended.AGENT_ERROR, 1, 1.0), Call("task", *FINISHED))
        return but(result(key, step("core")), calls=calls)

    sealed = register(cases=("a",), arms=("auto",), repeats=1)
    (row,) = judged(tmp_path, sealed, chose_nothing).attempts
    assert (row.outcome, row.ended) == ("scored", "finished")


# --- calls by purpose ----------------------------------------------------------


def routed(key):
    """A call that chooses, then one that works; `full` only works."""
    work = step("core", tokens=1000)
    if key.arm != "auto":
        return result(key, work)
    calls = (Call("select", Ended.FINISHED, 0, 1.0), *work.calls)
    requests = (
        Request(0, MODEL, 50, 0, 0, 0, 0, "gateway"),
        Request(1, MODEL, 1000, 0, 0, 0, 0, "gateway"),
    )
    return but(result(key, work), calls=calls, requests=requests)


def test_calls_that_choose_a_skill_are_counted_and_priced_apart(tmp_path):
    sealed = register(cases=("a",), arms=("full", "auto"), repeats=3)
    found = judged(tmp_path, sealed, routed)
    counted = {(r.arm, r.purpose): (r.n_calls, r.tokens) for r in found.purposes}
    assert counted == {
        ("full", "task"): (3, 3000),
        ("auto", "select"): (3, 150),
        ("auto", "task"): (3, 3000),
    }
    prices = {(row.arm, row.purpose): row.usd for row in found.purposes}
    assert prices["auto", "select"] == pytest.approx(prices["full", "task"] / 20)
    (route,) = found.routing[0].rows
    assert route.n_asked == 3


def test_a_step_that_got_its_skill_by_its_own_words_asked_no_model(tmp_path):
    sealed = register(cases=("a",), arms=("auto",), repeats=2)
    (route,) = judged(tmp_path, sealed).routing[0].rows
    assert (route.n_steps, route.n_asked) == (2, 0)


def test_a_call_that_reports_nothing_leaves_only_its_own_purpose_unknown(tmp_path):
    def silent(key):
        found = routed(key)
        own = tuple(r for r in found.steps[0].requests if r.call == 1)
        return but(found, requests=own)

    sealed = register(cases=("a",), arms=("auto",), repeats=2)
    found = {row.purpose: row for row in judged(tmp_path, sealed, silent).purposes}
    assert (found["select"].tokens, found["select"].usd) == (None, None)
    assert found["task"].tokens == 2000


# --- what arrived ----------------------------------------------------------------


def given(**seen):
    treatment = Treatment(("a", "b"), ("a",), (), (), **seen)
    return lambda key: but(result(key, step("core")), treatment=treatment)


@pytest.fixture
def one_arm():
    return register(cases=("a",), arms=("full",), repeats=2)


def test_what_was_given_stands_beside_what_requests_showed(tmp_path, one_arm):
    seen = given(listed=("a", "b"), carried=())
    (row,) = judged(tmp_path, one_arm, seen).treatments
    assert (row.n_offered, row.n_listed, row.n_injected, row.n_carried) == (2, 2, 2, 0)
    assert row.n_looked == 2


def test_a_difference_is_shown_with_its_step_and_its_skills(tmp_path, one_arm):
    found = judged(tmp_path, one_arm, given(listed=("a", "z"), carried=("a",)))
    shown = [(s.not_listed, s.not_carried, s.not_offered) for s in found.strays]
    assert shown == [(("b",), (), ("z",))] * 2
    assert "a.full.r1, task | b | - | z" in tables.treatment(found).text
    assert any("another treatment" in limit for limit in found.limits)


def test_where_nobody_looked_nothing_is_said_of_what_arrived(tmp_path, one_arm):
    found = judged(tmp_path, one_arm, given())
    assert found.strays == ()
    assert found.treatments[0].n_listed is None
    assert "nobody looked" in tables.treatment(found).text


def test_lists_in_a_programs_own_words_are_not_held_against_it(tmp_path):
    sealed = sealed_for(
        VENDOR, Access.GATEWAY, name="command", cases=("a",), arms=("full",), repeats=1
    )
    found = judged(tmp_path, sealed, given(listed=(), carried=()))
    assert [(s.not_listed, s.not_carried) for s in found.strays] == [((), ("a",))]
    (row,) = found.treatments
    assert (row.n_looked, row.n_listed, row.n_carried) == (0, None, 0)
    seen = judged(tmp_path / "seen", sealed, given(listed=(), carried=("a",)))
    (told,) = [gate for gate in seen.gates if gate.name == "treatment arrived"]
    assert "in what words this program tells its model" in told.sentence


# --- how whole usage is ------------------------------------------------------


def test_requests_of_unknown_usage_make_sums_lower_bounds(tmp_path):
    def result_of(key):
        return but(result(key, step("core")), n_unknown_requests=2 * (key.repeat == 1))

    sealed = register(cases=("a",), arms=("full", "baseline"), repeats=2)
    found = judged(tmp_path, sealed, result_of)
    assert [report.n_unknown_requests for report in found.usage] == [2, 2]
    assert [arm.n_understated for arm in found.arms] == [1, 1]
    assert found.cost.all_attempts.n_understated == 2
    assert "full | at least $" in tables.price(found).text
    assert "All attempts | 4 | 4 | at least" in tables.spent(found).text
    assert any("lower bounds" in limit for limit in found.limits)
    tokens = [c for c in found.contrasts if c.measure == "tokens"]
    assert all("more tokens than are counted" in (c.warning or "") for c in tokens)


def test_a_call_of_which_the_gateway_saw_no_served_request_used_nothing(tmp_path):
    """All its requests failed, and the gateway was its only way."""
    sealed = register(cases=("a",), arms=("full",), repeats=1)
    (key,) = sealed.schedule
    failed = but(infrastructure(key), n_unknown_requests=0)
    bodies = attempts(failed, result(key, step("core"), attempt=2))
    spent = analyse(sealed, record(tmp_path, sealed, bodies), RATES).cost.all_attempts
    assert (spent.n_unreported, spent.tokens) == (0, 1000)


def test_requests_nobody_looked_at_are_not_called_none(tmp_path, one_arm):
    found = judged(tmp_path, one_arm)
    assert found.usage[0].n_unknown_requests is None
    assert "nobody looked" in tables.fragility(found).text


def test_requests_that_are_not_complete_are_counted_by_how_they_passed(
    tmp_path, one_arm
):
    def cut(key):
        status = "truncated" if key.repeat == 1 else "closed"
        request = Request(0, MODEL, 9, 0, 0, 0, 0, "gateway", status=status)
        return but(result(key, step("core")), requests=(request,))

    found = judged(tmp_path, one_arm, cut)
    assert found.usage[0].statuses == {"truncated": 1, "closed": 1}
    assert "1 truncated, 1 closed" in tables.fragility(found).text


def test_each_disagreement_on_usage_is_shown_with_what_each_counted(tmp_path, one_arm):
    what = "output: 66 by gateway, 32 by agent"

    def differing(key):
        return but(result(key, step("core")), disagreement=what)

    found = judged(tmp_path, one_arm, differing)
    shown = [(d.trial, d.step, d.what) for d in found.disagreements]
    assert shown == [("a.full.r1", "task", what), ("a.full.r2", "task", what)]
    assert f"a.full.r1, task | {what}" in tables.fragility(found).text


def test_an_outcome_of_attempts_is_one_of_the_registered(faulty):
    registered = {outcome.value for outcome in Outcome}
    assert {row.outcome for row in faulty.attempts} - registered == {"no result"}
