"""The commands: each parses, makes one call, and prints what came back."""

from __future__ import annotations

import os
import sys

import typer

from evalkit.cli import calibrating, choosing, proving, reading, running, showing
from evalkit.errors import EvalkitError

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
_COMMANDS = (
    proving.verify,
    proving.grade,
    running.plan,
    running.run,
    running.status,
    running.regrade,
    running.replay,
    proving.audit,
    proving.new_case,
    proving.gate,
    proving.preflight,
    calibrating.calibrate,
    reading.report,
    reading.export,
    reading.replicate,
    reading.compare,
    choosing.route,
    reading.doctor,
)
for _command in _COMMANDS:
    app.command()(_command)
app.command("show")(showing.show_transcript)
corpus_app = typer.Typer(help="List corpora, or show one.", no_args_is_help=True)
app.add_typer(corpus_app, name="corpus")
corpus_app.command("list")(reading.corpus_list)
corpus_app.command("show")(reading.corpus_show)


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
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - they stay open
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
