"""The command that has skills ranked and chosen."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.options import (
    DEFAULTS,
    HERE,
    JsonOption,
    RootOption,
    WorkersOption,
    show,
)


def route(
    query: Annotated[
        str | None, typer.Option("--query", help="What a user would type.")
    ] = None,
    probes: Annotated[
        bool, typer.Option("--probes", help="Answer the library's probes.toml.")
    ] = False,
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask", help="Plan as TOML, or a sealed run: have its agent choose."
        ),
    ] = None,
    for_run: Annotated[
        str | None,
        typer.Option("--for", help="Sealed run: keep the answers for its report."),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(help="Skills: folder or folder@ref; default: current."),
    ] = None,
    workers: WorkersOption = 2,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Rank a library's skills for a text, or for its probes; asks no model unless told."""
    from evalkit import skills
    from evalkit.console.choosing import probe_lines, route_lines
    from evalkit.ranking import Ranker
    from evalkit.routing import choose, to_ask

    if (query is None) != probes or ((ask or for_run) and not probes):
        raise typer.BadParameter(
            "give --query TEXT or --probes; --ask and --for need --probes"
        )
    if ask and for_run:
        raise typer.BadParameter("give --for RUN or --ask RUN, not both")
    run = for_run if ask is None or _is_plan(ask) else ask
    if run and library:
        raise typer.BadParameter(
            f"{run} has its own library, as it was sealed; leave --library out"
        )
    source = library or "current"
    if ask is not None:
        _ask_probes(ask, source, workers, root, as_json)
    elif for_run is not None:
        _rank_probes(for_run, root, as_json)
    else:
        found = skills.open_library(root, source, name="route")
        if query is not None:
            chosen = choose(Ranker(found).rank(query, n=DEFAULTS.n_candidates))
            asked = to_ask(chosen, DEFAULTS.min_rank_score)
            show(chosen, as_json, route_lines(chosen, asks=bool(asked)))
            return
        from evalkit.probes import open_probes
        from evalkit.probing import rank_probes

        listed = open_probes(root, source, found)
        scores = rank_probes(listed, found, datetime.now(UTC)).scores
        show(scores, as_json, probe_lines(scores))


def _is_plan(ask: str) -> bool:
    return ask.endswith(".toml")


def _rank_probes(run: str, root: Path, as_json: bool) -> None:
    from evalkit.console.choosing import answered_lines
    from evalkit.parameters import find_run
    from evalkit.probing import keep, open_routed, rank_probes
    from evalkit.registration import load_registration

    registration = load_registration(find_run(run, root))
    library, listed = open_routed(registration, root)
    now = datetime.now(UTC)
    answered = rank_probes(listed, library, now, registration.plan)
    folder = _probes_folder(root, now)
    keep(answered, folder)
    show(answered, as_json, answered_lines(answered, folder.name))


def _ask_probes(ask: str, source: str, workers: int, root: Path, as_json: bool) -> None:
    from evalkit import skills
    from evalkit.console.advance import bar
    from evalkit.console.choosing import answered_lines
    from evalkit.parameters import find_run
    from evalkit.plan import load_plan, open_plan
    from evalkit.probes import open_probes
    from evalkit.probing import ask_probes, open_asked, open_routed
    from evalkit.registration import load_registration

    if _is_plan(ask):
        inputs = open_plan(load_plan(Path(ask)), root)
        library = skills.open_library(root, source, name="route")
        listed = open_probes(root, source, library)
    else:
        registration = load_registration(find_run(ask, root))
        library, listed = open_routed(registration, root)
        inputs = open_asked(registration, root)
    now = datetime.now(UTC)
    folder = _probes_folder(root, now)
    with bar("probes") as told:
        answered = ask_probes(
            listed, library, inputs, folder, at=now, n_workers=workers, done=told
        )
    show(answered, as_json, answered_lines(answered, folder.name))


def _probes_folder(root: Path, now: datetime) -> Path:
    return root / "runs" / f"probes-{now:%Y%m%d-%H%M%S-%f}"
