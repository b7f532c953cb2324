"""Gate runs: what their verdict says, how far it can be trusted, what rests on them."""

from __future__ import annotations

import itertools

import msgspec
import pytest
import synthetic
from synthetic import infrastructure, register, result, step

from evalkit import gates, prices, readiness, tables
from evalkit.analysis import analyse
from evalkit.errors import InputError
from evalkit.records import GateRule, GateSeal, Kind, Layout

ALL = ("core", "edge", "docs")
RATES = prices.rates()
GATE = {"design": Layout.GATE, "gate_rule": GateRule(1, 2)}
ARMS = ("baseline", "injected")


def judged(tmp_path, passes, *, repeats=2, cases=("a",), simulated=False, **plan):
    """The verdict where `passes(case, arm)` trials of a cell pass, the first ones."""
    sealed = register(
        cases=cases, arms=ARMS, repeats=repeats, simulated=simulated, **GATE, **plan
    )
    journal = synthetic.run(tmp_path, sealed, passing(passes))
    return readiness.judge(sealed, journal)


def passing(passes):
    def result_of(key):
        full = key.repeat <= passes(key.case, key.arm)
        return result(key, step(*ALL) if full else step("core"))

    return result_of


@pytest.mark.parametrize("repeats", [2, 3])
def test_every_count_of_passes_gets_the_declared_verdict(tmp_path, repeats):
    counts = itertools.product(range(repeats + 1), repeat=2)
    for baseline, injected in counts:
        told = {"baseline": baseline, "injected": injected}
        found = judged(
            tmp_path / f"{baseline}-{injected}",
            lambda _, arm, told=told: told[arm],
            repeats=repeats,
        )
        if baseline == repeats:
            expected = "stop-and-redesign"
        else:
            expected = "ready" if baseline <= 1 and injected >= 2 else "inconclusive"
        assert found.verdict == found.cases[0].verdict == expected, told
        assert found.satisfies is (expected == "ready")


def test_a_simulated_gate_run_never_satisfies_anything(tmp_path):
    found = judged(tmp_path, lambda _, arm: 2 * (arm == "injected"), simulated=True)
    assert found.verdict == "ready"
    assert not found.satisfies
    assert found.sentence.startswith("SIMULATED")


def test_one_case_that_nobody_needs_to_be_told_stops_the_corpus(tmp_path):
    found = judged(
        tmp_path,
        lambda case, arm: 2 if case == "b" or arm == "injected" else 0,
        cases=("a", "b", "c"),
    )
    assert [case.verdict for case in found.cases] == [
        "ready",
        "stop-and-redesign",
        "ready",
    ]
    assert found.verdict == "stop-and-redesign"


def test_a_case_whose_blocks_are_not_whole_is_not_ready(tmp_path):
    sealed = register(cases=("a",), arms=ARMS, repeats=2, **GATE)

    def result_of(key):
        if (key.arm, key.repeat) == ("baseline", 2):
            return infrastructure(key)
        return passing(lambda _, arm: 2 * (arm == "injected"))(key)

    found = readiness.judge(sealed, synthetic.run(tmp_path, sealed, result_of))
    assert found.verdict == "inconclusive"
    assert "1 of 2 blocks are whole" in found.cases[0].sentence


def test_the_rule_is_told_with_how_often_it_is_fooled(tmp_path):
    two = judged(tmp_path / "two", lambda *_: 0)
    assert two.worst.passes == pytest.approx(0.25)
    assert two.worst.baseline == pytest.approx(0.5**0.5)
    assert next(
        c.passes for c in two.chances if (c.baseline, c.injected) == (0.2, 0.9)
    ) == pytest.approx(0.7776)


def test_a_run_of_another_design_has_no_verdict(tmp_path):
    sealed = register(cases=("a",), arms=ARMS, repeats=2)
    journal = synthetic.run(tmp_path, sealed, passing(lambda *_: 0))
    with pytest.raises(InputError, match="--design gate"):
        readiness.judge(sealed, journal)
    assert analyse(sealed, journal, RATES).gate_verdict is None


def test_a_report_of_a_gate_run_shows_its_verdict_and_rule(tmp_path):
    sealed = register(cases=("a",), arms=ARMS, repeats=2, **GATE)
    result_of = passing(lambda _, arm: 2 * (arm == "injected"))
    journal = synthetic.run(tmp_path, sealed, result_of)
    text = tables.gate_run(gates.judge(analyse(sealed, journal, RATES))).text
    assert "Gate run: ready" in text
    assert "0 of 2" in text
    assert "up to 25%" in text


SEAL = GateSeal(
    "gate-1",
    "9" * 64,
    "8" * 64,
    "made 1.0",
    synthetic.MODEL,
    simulated=False,
    baseline="baseline",
    injected="injected",
    verdict="ready",
)


@pytest.mark.parametrize(
    ("seal", "expected"),
    [
        (SEAL, "pass"),
        (None, "fail"),
        (msgspec.structs.replace(SEAL, simulated=True), "fail"),
        (msgspec.structs.replace(SEAL, verdict="inconclusive"), "fail"),
        (msgspec.structs.replace(SEAL, model="another"), "fail"),
        (msgspec.structs.replace(SEAL, agent="another 1.0"), "fail"),
    ],
)
def test_a_run_on_knowledge_claims_only_what_a_real_gate_run_allowed(
    tmp_path, seal, expected
):
    sealed = register(
        cases=("a",), arms=ARMS, repeats=3, kind=Kind.KNOWLEDGE, gate=seal
    )
    journal = synthetic.run(tmp_path, sealed, passing(lambda *_: 1))
    found = gates.judge(analyse(sealed, journal, RATES))
    verdict = next(gate for gate in found.gates if gate.name == "pilot signal")
    assert verdict.verdict == expected
    shown = tables.gate_run(found).text
    assert (SEAL.run in shown) is (seal is not None)


def test_it_is_the_arm_that_tells_what_a_run_is_about(tmp_path):
    sealed = register(cases=("a",), arms=ARMS, repeats=3, kind=Kind.FEATURE)
    journal = synthetic.run(tmp_path, sealed, passing(lambda *_: 1))
    found = gates.judge(analyse(sealed, journal, RATES))
    assert "pilot signal" in {gate.name for gate in found.gates}


def test_other_runs_are_not_asked_for_a_gate_run(tmp_path):
    sealed = register(cases=("a",), arms=("full", "baseline"), repeats=3)
    journal = synthetic.run(tmp_path, sealed, passing(lambda *_: 1))
    found = gates.judge(analyse(sealed, journal, RATES))
    assert "pilot signal" not in {gate.name for gate in found.gates}
