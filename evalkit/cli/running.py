"""Commands that plan a run and carry it out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalkit.cli.options import (
    DEFAULTS,
    HERE,
    NAMES,
    AgainOption,
    IsolationOption,
    JsonOption,
    RootOption,
    RunArgument,
    UnsandboxedOption,
    WorkersOption,
    show,
)
from evalkit.errors import InputError
from evalkit.parameters import PlanParameters

if TYPE_CHECKING:
    from evalkit.crew import Hire


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
    design: Annotated[
        str, typer.Option(help="blocks; pass3: three trials a cell; gate: a gate run.")
    ] = DEFAULTS.design,
    gate_rule: Annotated[
        str, typer.Option(help="`1,2`: baseline passes at most 1, injected at least 2.")
    ] = DEFAULTS.gate_rule,
    gate_run: Annotated[
        str, typer.Option(help="The gate run that this one rests on.")
    ] = DEFAULTS.gate_run,
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
    max_requests_at_once: Annotated[
        int, typer.Option(min=0, help="Model requests of all trials; 0: any number.")
    ] = DEFAULTS.max_requests_at_once,
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
    from evalkit.console.planning import outline_lines
    from evalkit.plan import draft, load_plan
    from evalkit.registration import write_registration
    from evalkit.run import utc_now

    wanted = load_plan(file) if file else PlanParameters(**given).plan
    drafted = draft(wanted, root, now=utc_now)
    sealed = write_registration(root, drafted.registration) if seal else None
    document = {"outline": drafted.outline, "sealed": sealed.name if sealed else None}
    name = sealed.name if sealed else None
    show(document, as_json, outline_lines(drafted.outline, name))


def run(
    run: RunArgument,
    workers: Annotated[
        int, typer.Option(min=0, help="How many at once; 0: 1, or all of --scheduler.")
    ] = 0,
    scheduler: Annotated[
        str, typer.Option(help="Of Dask: its workers carry out the trials.")
    ] = "",
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Carry out a sealed plan; run it again to go on where it stopped."""
    from evalkit.console.advance import bar
    from evalkit.console.running import status_lines
    from evalkit.parameters import find_run
    from evalkit.run import run_plan

    folder = find_run(run, root)
    _expect_no_replay(folder)
    with bar("trials") as told:
        found = run_plan(
            folder,
            root,
            n_workers=workers if scheduler else max(workers, 1),
            hire=_hired(scheduler),
            progress=lambda status: told(status.n_done, status.n_planned),
        )
    lines = status_lines(found, datetime.now(UTC))
    next_one = "report" if found.state == "complete" else "run"
    show(found, as_json, [*lines, f"next: evalkit {next_one} {run}"])


def _expect_no_replay(folder: Path) -> None:
    """Refuse to carry out a replay without holding it against its run."""
    from evalkit.registration import load_registration

    sealed = load_registration(folder).replay
    if sealed is not None:
        raise InputError(
            f"run {folder.name}",
            expected="a sealed plan",
            found=f"a replay of {sealed.run}",
            cure=f"evalkit replay {sealed.run}, with --out if the replay had it",
        )


def _hired(scheduler: str) -> Hire:
    if not scheduler:
        from evalkit.crew import here

        return here
    try:
        from evalkit.machines import at
    except ModuleNotFoundError as error:
        raise InputError(
            "--scheduler",
            expected="the package distributed",
            found=str(error),
            cure="pip install 'evalkit[distributed]'",
        ) from error
    return at(scheduler)


def status(
    run: RunArgument, root: RootOption = HERE, as_json: JsonOption = False
) -> None:
    """Say where a run stands, from its journal."""
    from evalkit.console.running import status_lines
    from evalkit.parameters import find_run
    from evalkit.standing import status as status_of

    found = status_of(find_run(run, root))
    show(found, as_json, status_lines(found, datetime.now(UTC)))


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
    from evalkit.console.advance import bar
    from evalkit.console.running import regrade_lines
    from evalkit.parameters import find_run
    from evalkit.regrade import regrade as give_again
    from evalkit.run import utc_now
    from evalkit.sandbox import open_box

    folder = find_run(run, root)
    level = isolation or _registered_level(folder)
    box = open_box(level, allow_unsandboxed=allow_unsandboxed, root=root)
    with bar("attempts") as told:
        found = give_again(
            folder, root, box=box, now=utc_now, n_workers=workers, done=told
        )
    show(found, as_json, regrade_lines(found))
    if found.differs:
        sys.exit(1)


def replay(
    run: RunArgument,
    trials: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRIAL...", help="As case.arm.rN; default: all."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder; default: runs/RUN-replay.")
    ] = None,
    workers: WorkersOption = 1,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Play a run that was planned with --record again, offline and for nothing.

    Exit 1 where anything came out otherwise than it was recorded.
    """
    from evalkit.console.advance import bar
    from evalkit.console.running import replay_lines
    from evalkit.parameters import find_run
    from evalkit.replay import replay as play
    from evalkit.run import utc_now

    with bar("trials") as told:
        found = play(
            find_run(run, root),
            root,
            trials=trials or (),
            out=out,
            n_workers=workers,
            now=utc_now,
            progress=lambda status: told(status.n_done, status.n_planned),
        )
    show(found, as_json, replay_lines(found, datetime.now(UTC)))
    if found.differs:
        sys.exit(1)


def _registered_level(run: Path) -> str:
    from evalkit.registration import load_registration

    return load_registration(run).isolation.level
