"""evalkit: does the context you give a coding agent change what it delivers?

Modules, from what people use to what everything rests on:

    cli            the commands
    auditing       what an auditor reads, published
    publish        a run's notebooks, executed and exported
    calibration    planted effects through the same contrasts
    executing      any notebook, executed in a kernel of its own
    console        text for a terminal
    dossier        what an auditor reads, as tables
    replication    two runs of one corpus side by side, never compared
    export         an executed notebook as one safe page
    notebook       what the notebooks call
    loading        a run with its record, its frames and its numbers
    doctor         what this machine lacks
    explore        a transcript, summed up and page by page
    tables         tables of an analysis
    plots          figures of an analysis
    gates          what must hold before a claim
    outlines       a draft as tables
    progress       how far a run is, as a table and as lines
    audit          is a run what it says it is? read only, trusting nothing
    regrade        verdicts given again, from the same evidence
    replay         a recorded run played again, and held against itself
    probing        probes answered by the ranking, or by a real agent
    probed         answers to probes that belong to a run
    paged          trials with pages that tell what the agent did
    preflight      is everything in place for a main run on injected knowledge?
    ambiguity      can a corpus tell injected knowledge from good practice?
    scaffold       every file of a new case, which works at once
    probes         what people type, and which skill would serve it
    run            walk the schedule, stop at blocks, resume
    proof          grade every overlay, hold it against what it must get
    strength       the share of small faults a grader notices
    plan           inputs -> draft registration -> sealed
    analysis       frames and seal -> every reported number
    trial          run_trial, conclude
    machines       trials on other machines, by Dask
    crew           who carries out attempts: threads here
    turns          which trial begins next, several blocks under way
    readiness      does a gate run show that its cases can tell?
    frames         facts -> tidy frames, their dictionary, files and cache
    calls          calls of the agent in a step
    ledger         the way from a call to its model
    estimate       what a plan may cost before it starts
    tapes          what a replay plays: the calls of the recorded run
    standing       where a run stands
    inputs         everything a plan names, opened
    ranking        skills by the words of a text, when a plan is made
    recall         does the right skill stand among the candidates?
    parameters     of the notebooks, checked
    agents         the programs under test
    gateway        the only way from an agent to a model
    grading        a grader process questions a subject
    choices        what a plan chooses, completed and checked
    corpus         cases and corpora
    reference      overlays, expected rows, proofs
    skills         skill libraries
    registration   the sealed plan
    journal        one chained line per event
    evidence       the folder of an attempt
    facts          journal -> what became of every planned trial
    differences    what two results of one attempt say otherwise
    prices         dollars for tokens, as kept with evalkit
    routing        which of its candidates a step gets
    inflight       work on threads that ends at once on Ctrl-C
    sandbox        the only argv builder of isolation
    process        the only door to processes
    files          the only door to files
    saving         a notebook under execution, saved while it grows
    wire           objects over a socket, one answer to each
    schedule       the order of trials
    outcomes       what counts as what
    scoring        weights, scores, the score line
    usage          tokens and prices
    transcript     what an agent said it did
    foresight      what a design can find, before it is run
    stats          intervals and tests
    markup         prose, tables and figures as HTML
    sanitise       HTML from elsewhere, built anew
    jupyter        what a report takes of Jupyter
    wording        numbers as a reader sees them
    arms           what an arm gives a step
    grader         what a grader is written with
    biting         do delivered tests notice a fault?
    mutants        Python source with one small change
    conclusions    the records of an analysis
    questions      questions to a subject, and their answers
    records        the records
    errors         the errors, with exit codes
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.analysis import analyse
    from evalkit.frames import columns
    from evalkit.loading import load
    from evalkit.plan import draft, load_plan, seal_plan
    from evalkit.proof import verify
    from evalkit.records import Plan
    from evalkit.replication import compare, side_by_side
    from evalkit.run import run_plan
    from evalkit.standing import status

__version__ = "0.1.0"
__all__ = [
    "Plan",
    "analyse",
    "columns",
    "compare",
    "draft",
    "load",
    "load_plan",
    "run_plan",
    "seal_plan",
    "side_by_side",
    "status",
    "verify",
]
_HOMES = {
    "Plan": "records",
    "analyse": "analysis",
    "columns": "frames",
    "compare": "replication",
    "draft": "plan",
    "load": "loading",
    "load_plan": "plan",
    "run_plan": "run",
    "seal_plan": "plan",
    "side_by_side": "replication",
    "status": "standing",
    "verify": "proof",
}


def __getattr__(name: str) -> Any:
    """Import a public name only when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    return getattr(import_module(f"evalkit.{_HOMES[name]}"), name)
