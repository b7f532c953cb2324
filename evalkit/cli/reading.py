"""Commands that look: at a run, a library, a corpus, this machine."""

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
    from evalkit import console
    from evalkit.explore.redaction import secrets_of
    from evalkit.explore.trial_pages import export_counted
    from evalkit.parameters import find_root

    with console.bar("transcripts") as told:
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
    from evalkit import console
    from evalkit.parameters import find_run
    from evalkit.replication import REFUSAL, replication_rows

    rows = replication_rows(find_run(run, root), find_run(other, root))
    lines = [*console.replication_lines(rows), REFUSAL]
    show({"rows": rows, "refusal": REFUSAL}, as_json, lines)


def compare(run: RunArgument, other: OtherArgument) -> None:
    """Refuse to test one run against another, and say what there is instead."""
    from evalkit import replication

    replication.compare(run, other)


def show_transcript(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|RUN", help="A transcript, of any run or none; or a run."
        ),
    ],
    trial: Annotated[
        str | None,
        typer.Argument(metavar="[TRIAL]", help="Of the run, as case.arm.rN."),
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Write pages that need no program.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of the pages; default: FILE-pages here, or transcripts in the run.",
        ),
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option("--attempt", min=1, help="Default: the one that counts."),
    ] = None,
    no_redact: Annotated[
        bool, typer.Option("--no-redact", help="Leave secrets in the pages.")
    ] = False,
    root: RootOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Sum up a transcript of Claude Code or Codex, or a trial; --html: read it whole."""
    if not html and (out or no_redact):
        raise typer.BadParameter("--out and --no-redact are of pages; add --html")
    if trial is None and attempt is not None:
        raise typer.BadParameter("--attempt is of a trial; name the run and the trial")
    if html:
        _write_pages(target, trial, out, attempt, root, as_json, not no_redact)
    elif trial is None:
        from evalkit.explore import account, summary_lines

        summed = account(Path(target))
        show(summed, as_json, summary_lines(summed))
    else:
        from evalkit.explore.trial import find_trial, told, trial_lines
        from evalkit.parameters import find_run

        found = find_trial(find_run(target, root), trial, attempt)
        show(told(found), as_json, trial_lines(found))


def _write_pages(
    target: str,
    trial: str | None,
    out: Path | None,
    attempt: int | None,
    root: Path,
    as_json: bool,
    redacts: bool,
) -> None:
    from evalkit.explore.export import export_transcript, written_lines
    from evalkit.explore.redaction import Redactor, secrets_of
    from evalkit.explore.trial import find_trial
    from evalkit.explore.trial_pages import export_trial
    from evalkit.paged import pages_folder
    from evalkit.parameters import find_root, find_run

    redactor = Redactor(secrets_of(os.environ), on=redacts)
    if trial is None:
        path = Path(target)
        made = export_transcript(
            path, out or Path(f"{path.stem}-pages"), redactor=redactor
        )
    else:
        run = find_run(target, root)
        found = find_trial(run, trial, attempt)
        tried = None if found.counts else found.attempt
        folder = out or pages_folder(run, found.trial.key, tried)
        made = export_trial(found, find_root(run), folder, redactor=redactor)
    lines = written_lines(made.index, len(made.pages), made.redacted)
    show(made, as_json, lines)


def doctor(root: RootOption = HERE, as_json: JsonOption = False) -> None:
    """Say what this machine lacks, and how to get it."""
    from evalkit import console
    from evalkit.doctor import examine

    found = examine(root)
    show(found, as_json, console.doctor_lines(found))
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
    from evalkit import console, corpus

    found = corpus.load_corpus(root, name)
    show(found, as_json, console.corpus_lines(found))
