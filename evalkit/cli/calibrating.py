"""The command that holds the statistics against planted effects."""

from __future__ import annotations

from typing import Annotated

import typer

from evalkit.cli.options import JsonOption, SeedOption, WorkersOption, show


def calibrate(
    runs: Annotated[
        int, typer.Option("--runs", min=1, help="Simulated runs for each effect.")
    ] = 2000,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="Only this one; may be repeated."),
    ] = None,
    workers: WorkersOption = 2,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Plant effects in simulated runs: do intervals and p values keep their word?

    A rate that is flagged is a finding, not a fault: the command ends with 0.
    """
    from evalkit.calibration import calibrate as simulate
    from evalkit.calibration import choose, telling
    from evalkit.console.advance import bar

    chosen = choose(scenario or [])
    with bar("runs") as told:
        found = simulate(chosen, n_runs=runs, seed=seed, n_workers=workers, done=told)
    show(found, as_json, telling.lines(found))
