"""The commands: each parses, makes one call, and prints what came back."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from evalkit.errors import EvalkitError
from evalkit.parameters import PlanParameters

app = typer.Typer(
    help="Does the context you give a coding agent change what it delivers, "
    "and at what cost?\n\n"
    "Start with `evalkit doctor`, then `evalkit verify`, `evalkit plan --seal`, "
    "`evalkit run`, `evalkit report`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
corpus_app = typer.Typer(help="List corpora, or show one.", no_args_is_help=True)
app.add_typer(corpus_app, name="corpus")

RootOption = Annotated[
    Path, typer.Option("--root", help="Folder with cases, graders, reference, runs.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout.")
]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, help="How many at once.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the random inputs.")]
IsolationOption = Annotated[
    str, typer.Option("--isolation", help="bwrap, or none (needs consent).")
]
UnsandboxedOption = Annotated[
    bool,
    typer.Option("--allow-unsandboxed", help="Consent to isolation none."),
]
AgainOption = Annotated[
    str | None,
    typer.Option("--isolation", help="Default: as registered; none needs consent."),
]
RunArgument = Annotated[str, typer.Argument(help="Id or folder of a sealed run.")]
HERE = Path()
DEFAULTS = PlanParameters()
NAMES = frozenset(PlanParameters.__struct_fields__)


def main() -> None:
    """Run the command line; every expected error ends with its exit code."""
    _open_closed_streams()
    try:
        app()
    except EvalkitError as error:
        typer.echo(f"evalkit: {error}", err=True)
        sys.exit(error.exit_code)


def _open_closed_streams() -> None:
    """Keep what is opened later from being taken for a stream that was closed."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


@app.command()
def verify(
    cases: Annotated[
        list[str] | None, typer.Argument(help="Cases; all if none.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="All cases of a corpus.")] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Grade mutants of `correct`, too.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Only so many mutants of each case."),
    ] = None,
    root: RootOption = HERE,
    workers: WorkersOption = 2,
    seed: SeedOption = 1,
    isolation: IsolationOption = "bwrap",
    allow_unsandboxed: UnsandboxedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Prove graders: grade every overlay and hold it against what it must get."""
    from evalkit import console, proof, sandbox, strength
    from evalkit.corpus import case_ids

    box = sandbox.open_box(isolation, allow_unsandboxed=allow_unsandboxed, root=root)
    chosen = case_ids(root, cases or [], corpus)
    mutants = mutants or sample is not None
    started = time.monotonic()
    with console.bar("graded") as told:
        proofs = proof.verify(
            root, chosen, box=box, n_workers=workers, seed=seed, done=told
        )
    lines = console.proof_lines(proofs)
    lines += console.effort_lines(proofs, workers, time.monotonic() - started)
    strengths: tuple[strength.Strength, ...] = ()
    if mutants and all(found.holds for found in proofs):
        with console.bar("mutants") as told:
            strengths = strength.measure(
                root,
                chosen,
                box=box,
                n_workers=workers,
                seed=seed,
                sample=sample,
                done=told,
            )
        lines += console.strength_lines(strengths)
    document = {"proofs": proofs, "mutants": strengths} if mutants else proofs
    _show(document, as_json, lines)
    if not all(found.holds for found in (*proofs, *strengths)):
        sys.exit(1)


@app.command()
def grade(
    case: Annotated[str, typer.Argument(help="Case id.")],
    workspace: Annotated[Path, typer.Argument(help="Folder to grade.")],
    step: Annotated[int, typer.Option(help="Step of a chain, from 1.")] = 1,
    root: RootOption = HERE,
    seed: SeedOption = 1,
    isolation: IsolationOption = "bwrap",
    allow_unsandboxed: UnsandboxedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Grade any folder as if an agent had delivered it."""
    from evalkit import console, proof, sandbox
    from evalkit.corpus import load_case, step_number

    loaded = load_case(root, case)
    box = sandbox.open_box(isolation, allow_unsandboxed=allow_unsandboxed, root=root)
    found = proof.grade_folder(
        root, loaded, step_number(loaded, step), workspace, box=box, seed=seed
    )
    _show(found, as_json, console.grade_lines(found))
    if found.died or not all(check.passed for check in found.checks):
        sys.exit(1)


@app.command()
def plan(
    file: Annotated[
        Path | None, typer.Argument(help="Plan as TOML, instead of flags.")
    ] = None,
    corpus: Annotated[str, typer.Option(help="Corpus to run.")] = DEFAULTS.corpus,
    arms: Annotated[
        str, typer.Option(help="Comma-separated; default: preset.")
    ] = DEFAULTS.arms,
    repeats: Annotated[
        int, typer.Option(min=0, help="0: the corpus' preset.")
    ] = DEFAULTS.repeats,
    agent: Annotated[str, typer.Option(help="Agent under test.")] = DEFAULTS.agent,
    model: Annotated[str, typer.Option(help="Model the agent uses.")] = DEFAULTS.model,
    effort: Annotated[
        str, typer.Option(help="How hard it thinks, where it takes that.")
    ] = DEFAULTS.effort,
    executable: Annotated[
        str, typer.Option(help="The agent's program; default: the one found.")
    ] = DEFAULTS.executable,
    access: Annotated[
        str, typer.Option(help="gateway, or direct (needs consent).")
    ] = DEFAULTS.access,
    provider_url: Annotated[
        str, typer.Option(help="Where its model answers; default: the vendor.")
    ] = DEFAULTS.provider_url,
    allow_real_provider: Annotated[
        bool, typer.Option("--allow-real-provider", help="Consent to what costs money.")
    ] = False,
    allow_credentialed_tools: Annotated[
        bool,
        typer.Option(
            "--allow-credentialed-tools", help="Consent to tools that see the key."
        ),
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Keep requests and answers.")
    ] = False,
    library: Annotated[
        str, typer.Option(help="Skills: folder or folder@ref.")
    ] = DEFAULTS.library,
    isolation: IsolationOption = DEFAULTS.isolation,
    allow_unsandboxed: UnsandboxedOption = False,
    call_timeout_ms: Annotated[
        int, typer.Option(min=1, help="Wall clock of a call.")
    ] = DEFAULTS.call_timeout_ms,
    trial_max_requests: Annotated[
        int, typer.Option(min=0, help="Cap of a trial by the gateway; 0: none.")
    ] = DEFAULTS.trial_max_requests,
    trial_max_tokens: Annotated[
        int, typer.Option(min=0, help="Of all kinds; 0: none.")
    ] = DEFAULTS.trial_max_tokens,
    trial_max_usd: Annotated[
        float, typer.Option(min=0, help="By the plan's accounting; 0: none.")
    ] = DEFAULTS.trial_max_usd,
    retry_wait_ms: Annotated[
        int, typer.Option(min=1, help="Pause after a provider's fault.")
    ] = DEFAULTS.retry_wait_ms,
    max_calls: Annotated[
        int, typer.Option(min=1, help="Budget of agent calls.")
    ] = DEFAULTS.max_calls,
    max_tokens: Annotated[
        int, typer.Option(min=0, help="Budget of tokens; 0: none.")
    ] = DEFAULTS.max_tokens,
    max_usd: Annotated[
        float, typer.Option(min=0, help="Budget of dollars; 0: none.")
    ] = DEFAULTS.max_usd,
    deadline_ms: Annotated[
        int, typer.Option(min=1, help="Wall clock of a run.")
    ] = DEFAULTS.deadline_ms,
    seed: Annotated[
        int, typer.Option(help="Of order, inputs and policy.")
    ] = DEFAULTS.seed,
    n_candidates: Annotated[
        int, typer.Option("--candidates", min=1, help="Skills ranked for a step.")
    ] = DEFAULTS.n_candidates,
    workspace_words: Annotated[
        bool, typer.Option(help="Rank by words of the workspace as well.")
    ] = DEFAULTS.workspace_words,
    min_rank_score: Annotated[
        float, typer.Option(min=0, help="Below it no model is asked to choose.")
    ] = DEFAULTS.min_rank_score,
    seal: Annotated[
        bool, typer.Option("--seal", help="Write the registration.")
    ] = False,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Say what would run; with --seal, register it."""
    given = {name: value for name, value in locals().items() if name in NAMES}
    from evalkit import console
    from evalkit.plan import draft, load_plan
    from evalkit.registration import write_registration
    from evalkit.run import utc_now

    wanted = load_plan(file) if file else PlanParameters(**given).plan
    drafted = draft(wanted, root, now=utc_now)
    sealed = write_registration(root, drafted.registration) if seal else None
    document = {"outline": drafted.outline, "sealed": sealed.name if sealed else None}
    name = sealed.name if sealed else None
    _show(document, as_json, console.outline_lines(drafted.outline, name))


@app.command()
def run(
    run: RunArgument,
    workers: WorkersOption = 1,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Carry out a sealed plan; run it again to go on where it stopped."""
    from evalkit import console
    from evalkit.parameters import find_run
    from evalkit.run import run_plan

    with console.bar("trials") as told:
        found = run_plan(
            find_run(run, root),
            root,
            n_workers=workers,
            progress=lambda status: told(status.n_done, status.n_planned),
        )
    _show(found, as_json, console.status_lines(found, datetime.now(UTC)))


@app.command()
def status(
    run: RunArgument, root: RootOption = HERE, as_json: JsonOption = False
) -> None:
    """Say where a run stands, from its journal."""
    from evalkit import console
    from evalkit.parameters import find_run
    from evalkit.standing import status as status_of

    found = status_of(find_run(run, root))
    _show(found, as_json, console.status_lines(found, datetime.now(UTC)))


@app.command()
def regrade(
    run: RunArgument,
    workers: WorkersOption = 1,
    isolation: AgainOption = None,
    allow_unsandboxed: UnsandboxedOption = False,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Grade a run's evidence again with the graders of now; first verdicts stay.

    Exit 1 where a verdict came out otherwise than the first one.
    """
    from evalkit import console
    from evalkit.parameters import find_run
    from evalkit.regrade import regrade as give_again
    from evalkit.run import utc_now
    from evalkit.sandbox import open_box

    folder = find_run(run, root)
    level = isolation or _registered_level(folder)
    box = open_box(level, allow_unsandboxed=allow_unsandboxed, root=root)
    with console.bar("attempts") as told:
        found = give_again(
            folder, root, box=box, now=utc_now, n_workers=workers, done=told
        )
    _show(found, as_json, console.regrade_lines(found))
    if found.differs:
        sys.exit(1)


@app.command()
def audit(
    name: Annotated[str, typer.Argument(help="A corpus, or a run's id or folder.")],
    workers: WorkersOption = 1,
    isolation: AgainOption = None,
    allow_unsandboxed: UnsandboxedOption = False,
    root: RootOption = HERE,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Of a run: check record and evidence, make each verdict again; writes nothing.

    Of a corpus about injected knowledge: try every plausible fix, look for leaks;
    the verdict is saved. Exit 1 where anything fails or is flagged.
    """
    from evalkit import ambiguity, console, sandbox
    from evalkit.audit import audit as examine
    from evalkit.corpus import load_corpora
    from evalkit.parameters import find_run

    if (root / "cases").is_dir() and name in load_corpora(root):
        box = sandbox.open_box(
            isolation or DEFAULTS.isolation,
            allow_unsandboxed=allow_unsandboxed,
            root=root,
        )
        with console.bar("graded") as told:
            verdict = ambiguity.audit_corpus(
                root, name, box=box, n_workers=workers, seed=seed, done=told
            )
        _show(verdict, as_json, console.ambiguity_lines(verdict))
        if verdict.flagged:
            sys.exit(1)
        return
    with console.bar("attempts") as told:
        found = examine(
            find_run(name, root),
            root,
            isolation=isolation,
            allow_unsandboxed=allow_unsandboxed,
            n_workers=workers,
            done=told,
        )
    _show(found, as_json, console.audit_lines(found))
    if found.verdict == "fail":
        sys.exit(1)


@app.command()
def report(
    run: RunArgument, root: RootOption = HERE, as_json: JsonOption = False
) -> None:
    """Analyse a run, execute its report notebook and export it as HTML."""
    from evalkit.parameters import find_run
    from evalkit.publish import publish_report

    path = publish_report(find_run(run, root))
    _show({"report": str(path)}, as_json, [str(path)])


@app.command()
def route(
    query: Annotated[
        str | None, typer.Option("--query", help="What a user would type.")
    ] = None,
    probes: Annotated[
        bool, typer.Option("--probes", help="Answer the library's probes.toml.")
    ] = False,
    ask: Annotated[
        Path | None,
        typer.Option("--ask", help="Plan as TOML: have its agent choose, once each."),
    ] = None,
    library: Annotated[
        str, typer.Option(help="Skills: folder or folder@ref.")
    ] = "current",
    workers: WorkersOption = 2,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Rank a library's skills for a text, or for its probes; asks no model unless told."""
    from evalkit import console, skills
    from evalkit.probes import open_probes, score_offline
    from evalkit.ranking import Ranker
    from evalkit.routing import choose, to_ask

    if (query is None) != probes or (ask and not probes):
        raise typer.BadParameter("give --query TEXT or --probes; --ask needs --probes")
    found = skills.open_library(root, library, name="route")
    if query is not None:
        chosen = choose(Ranker(found).rank(query, n=DEFAULTS.n_candidates))
        asked = to_ask(chosen, DEFAULTS.min_rank_score)
        _show(chosen, as_json, console.route_lines(chosen, asks=bool(asked)))
        return
    listed = open_probes(root, library, found)
    if ask is None:
        scores = score_offline(listed, found)
        _show(scores, as_json, console.probe_lines(scores))
        return
    from evalkit.plan import load_plan, open_plan
    from evalkit.probing import ask_probes

    inputs = open_plan(load_plan(ask), root)
    folder = root / "runs" / f"probes-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    with console.bar("probes") as told:
        answered = ask_probes(
            listed, found, inputs, folder, n_workers=workers, done=told
        )
    _show(answered, as_json, console.asked_lines(answered, folder.name))


@app.command()
def doctor(root: RootOption = HERE, as_json: JsonOption = False) -> None:
    """Say what this machine lacks, and how to get it."""
    from evalkit import console
    from evalkit.doctor import examine

    found = examine(root)
    _show(found, as_json, console.doctor_lines(found))
    if any(finding.needed and not finding.well for finding in found):
        sys.exit(4)


@corpus_app.command("list")
def corpus_list(root: RootOption = HERE, as_json: JsonOption = False) -> None:
    """List the corpora of a root."""
    from evalkit import corpus

    found = corpus.load_corpora(root)
    lines = [f"{name}: {', '.join(entry.cases)}" for name, entry in found.items()]
    _show(found, as_json, lines)


@corpus_app.command("show")
def corpus_show(
    name: Annotated[str, typer.Argument(help="Corpus name.")],
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show a corpus: its cases, steps, hypotheses and digest."""
    from evalkit import console, corpus

    found = corpus.load_corpus(root, name)
    _show(found, as_json, console.corpus_lines(found))


def _registered_level(run: Path) -> str:
    from evalkit.registration import load_registration

    return load_registration(run).isolation.level


def _show(document: Any, as_json: bool, lines: list[str]) -> None:
    """One JSON document, or lines for a reader."""
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(document)).decode()
        typer.echo(text)
    else:
        for line in lines:
            typer.echo(line)


if __name__ == "__main__":
    main()
