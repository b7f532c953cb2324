"""Commands that look: at a run, a corpus, this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.options import (
    HERE,
    JsonOption,
    OtherArgument,
    RootOption,
    RunArgument,
    show,
)


def report(
    run: RunArgument,
    transcripts: Annotated[
        bool,
        typer.Option("--transcripts", help="Write the pages of every trial first."),
    ] = False,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Analyse a run, execute its report notebook and export it as HTML."""
    from evalkit.parameters import find_run
    from evalkit.publish import publish_report

    found = find_run(run, root)
    pages = _write_transcripts(found) if transcripts else []
    path = publish_report(found)
    show({"report": str(path), "transcripts": pages}, as_json, [str(path)])


def _write_transcripts(run: Path) -> list[str]:
    """The pages of every trial that counts; returns the first page of each."""
    from evalkit.console.advance import bar
    from evalkit.explore.redaction import secrets_of
    from evalkit.explore.trial_pages import export_counted
    from evalkit.parameters import find_root

    with bar("transcripts") as told:
        made = export_counted(
            run, find_root(run), known=secrets_of(os.environ), done=told
        )
    return [one.index for one in made]


def export(
    run: RunArgument,
    to: Annotated[str, typer.Option("--to", help="csv, parquet or json.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder; default: export in the run's folder."),
    ] = None,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Write every frame of a run as a file, with a data dictionary and a stamp."""
    from evalkit.loading import load
    from evalkit.parameters import find_run

    written = [str(path) for path in load(find_run(run, root)).export(to, out)]
    show({"files": written}, as_json, written)


def replicate(
    run: RunArgument,
    other: OtherArgument,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show the contrasts of two runs of one corpus side by side; nothing is tested."""
    from evalkit.console.running import replication_lines
    from evalkit.parameters import find_run
    from evalkit.replication import REFUSAL, replication_rows

    rows = replication_rows(find_run(run, root), find_run(other, root))
    lines = [*replication_lines(rows), REFUSAL]
    show({"rows": rows, "refusal": REFUSAL}, as_json, lines)


def compare(run: RunArgument, other: OtherArgument) -> None:
    """Refuse to test one run against another, and say what there is instead."""
    from evalkit import replication

    replication.compare(run, other)


def doctor(root: RootOption = HERE, as_json: JsonOption = False) -> None:
    """Say what this machine lacks, and how to get it."""
    from evalkit.console.running import doctor_lines
    from evalkit.doctor import examine

    found = examine(root)
    show(found, as_json, doctor_lines(found))
    if any(finding.needed and not finding.well for finding in found):
        sys.exit(4)


def corpus_list(root: RootOption = HERE, as_json: JsonOption = False) -> None:
    """List the corpora of a root."""
    from evalkit import corpus

    found = corpus.load_corpora(root)
    lines = [f"{name}: {', '.join(entry.cases)}" for name, entry in found.items()]
    show(found, as_json, lines)


def corpus_show(
    name: Annotated[str, typer.Argument(help="Corpus name.")],
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show a corpus: its cases, steps, hypotheses and digest."""
    from evalkit import corpus
    from evalkit.console.proving import corpus_lines

    found = corpus.load_corpus(root, name)
    show(found, as_json, corpus_lines(found))
