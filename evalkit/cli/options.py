"""What several commands share: their options, and how they print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from evalkit.parameters import PlanParameters

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
OtherArgument = Annotated[str, typer.Argument(help="Id or folder of another run.")]
HERE = Path()
DEFAULTS = PlanParameters()
NAMES = frozenset(PlanParameters.__struct_fields__)


def show(document: Any, as_json: bool, lines: list[str]) -> None:
    """One JSON document, or lines for a reader."""
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(document)).decode()
        typer.echo(text)
    else:
        for line in lines:
            typer.echo(line)
