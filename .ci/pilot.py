#!/usr/bin/env python
"""A preset end to end: `pilot.py [CORPUS]`.

Proves the graders, plans, seals, runs with the scripted agent and reports, each
through its notebook.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from evalkit import corpus, proof, publish, reference, sandbox
from evalkit.console.advance import bar
from evalkit.console.following import following
from evalkit.console.proving import proof_lines
from evalkit.console.running import status_lines
from evalkit.errors import EvalkitError, ProofError, SandboxUnavailableError
from evalkit.parameters import PlanParameters, RunParameters
from evalkit.records import Case
from evalkit.standing import status

ROOT = Path(__file__).resolve().parent.parent
N_WORKERS = 8
"""More than two cores need: graders mostly wait for what they grade."""


def main(*named: str) -> int:
    """Carry out a corpus as it is preset; prints the report's path last."""
    box = open_box()
    plan = PlanParameters(
        *named,
        isolation=box.isolation.level,
        allow_unsandboxed=box.isolation.level == "none",
        seal=True,
    )
    prove(plan, box)
    run = seal(plan)
    say("2/3 carrying out all trials with the scripted agent (SIMULATED)")
    with following(run):
        chosen = RunParameters(run.name, workers=N_WORKERS)
        publish.execute(chosen, folder=run / "notebooks", cwd=ROOT)
    say("\n".join(status_lines(status(run), datetime.now(UTC))))
    say("3/3 analysing and reporting")
    print(publish.publish_report(run).relative_to(ROOT))
    return 0


def open_box() -> sandbox.Box:
    """The sandbox, or for this control none, saying so."""
    try:
        return sandbox.open_box("bwrap", allow_unsandboxed=False, root=ROOT)
    except SandboxUnavailableError as error:
        say(f"{error}\ngoing on WITHOUT a sandbox (--allow-unsandboxed), since the")
        say("scripted control is our own; the report will show isolation none")
        return sandbox.open_box("none", allow_unsandboxed=True)


def prove(plan: PlanParameters, box: sandbox.Box) -> None:
    """Prove every grader of the corpus that is not proven yet."""
    say(f"1/3 proving the graders of {plan.corpus}")
    cases = [
        case.id
        for case in corpus.load_corpus(ROOT, plan.corpus).cases
        if not is_proven(case)
    ]
    with bar("gradings") as told:
        proofs = proof.verify(
            ROOT, cases, box=box, n_workers=N_WORKERS, seed=plan.seed, done=told
        )
    say("\n".join(proof_lines(proofs)))
    if not all(found.holds for found in proofs):
        raise ProofError("a grader is not proven; the rows above say where")


def is_proven(case: Case) -> bool:
    """Has it a proof that holds, at the present digests?"""
    try:
        reference.load_proof(ROOT, case)
    except ProofError:
        return False
    return True


def seal(plan: PlanParameters) -> Path:
    """Execute the plan notebook, which seals; returns the new run's folder."""
    before = sealed_runs()
    drafts = ROOT / "runs" / "drafts"
    executed = publish.execute(plan, folder=drafts, cwd=ROOT)
    (run,) = sealed_runs() - before
    (run / "notebooks").mkdir()
    executed.rename(run / "notebooks" / executed.name)
    return run


def sealed_runs() -> set[Path]:
    """Folders of the runs that are sealed."""
    return {path.parent for path in (ROOT / "runs").glob("*/registration.json")}


def say(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:2]))
    except EvalkitError as error:
        say(f"evalkit: {error}")
        sys.exit(error.exit_code)
