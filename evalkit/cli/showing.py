"""The command that shows transcripts: of any file, of a trial, of two side by side."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalkit.cli.options import HERE, JsonOption, RootOption, show

if TYPE_CHECKING:
    from evalkit.explore.binding import ExportedPages
    from evalkit.explore.redaction import Redactor
    from evalkit.explore.trial import FoundTrial


def show_transcript(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|RUN", help="A transcript, of any run or none; or a run."
        ),
    ],
    trial: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL", help="Of the run, as case.arm.rN."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside",
            metavar="ARM|TRIAL",
            help="Another arm of the trial's block, to be aligned with it.",
        ),
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
    """Sum up a transcript of Claude Code or Codex, a run, a trial, or two; --html: read them whole."""
    if not html and (out or no_redact):
        raise typer.BadParameter("--out and --no-redact are of pages; add --html")
    if trial is None and (attempt is not None or beside is not None):
        raise typer.BadParameter(
            "--attempt and --beside are of a trial; name the run and the trial"
        )
    pages = _Pages(out, redacts=not no_redact, as_json=as_json) if html else None
    if trial is None:
        run = None if Path(target).is_file() else _run_named(target, root)
        if run is None:
            _show_file(Path(target), pages, as_json=as_json)
        elif html:
            raise typer.BadParameter(
                "name a trial of the run; `evalkit report RUN --transcripts` writes all"
            )
        else:
            _show_run(run, as_json=as_json)
        return
    from evalkit.explore.trial import find_trial
    from evalkit.parameters import find_run

    found = find_trial(find_run(target, root), trial, attempt)
    if beside is None:
        _show_trial(found, pages, as_json=as_json)
    else:
        _show_pair(found, beside, pages, as_json=as_json)


class _Pages:
    """Where pages go, whether secrets are taken out of them, and how that is told."""

    def __init__(self, out: Path | None, *, redacts: bool, as_json: bool) -> None:
        self.out = out
        self.redactor = _redactor(on=redacts)
        self._as_json = as_json

    def tell(self, made: ExportedPages) -> None:
        """Say what was written."""
        from evalkit.explore.export import written_lines

        lines = written_lines(made.index, len(made.pages), made.redacted)
        show(made, self._as_json, lines)


def _redactor(*, on: bool = True) -> Redactor:
    from evalkit.explore.redaction import Redactor, secrets_of

    return Redactor(secrets_of(os.environ), on=on)


def _run_named(target: str, root: Path) -> Path | None:
    from evalkit.errors import InputError
    from evalkit.parameters import find_run

    try:
        return find_run(target, root)
    except InputError:
        return None


def _show_run(run: Path, *, as_json: bool) -> None:
    from evalkit.explore.catalogue import Catalogue, run_lines

    listed = Catalogue(run).run(str(run))
    show(listed, as_json, run_lines(listed))


def _show_file(path: Path, pages: _Pages | None, *, as_json: bool) -> None:
    if pages:
        from evalkit.explore.export import export_transcript

        out = pages.out or Path(f"{path.stem}-pages")
        pages.tell(export_transcript(path, out, redactor=pages.redactor))
        return
    from evalkit.explore import account, summary_lines

    summed = account(path)
    show(summed, as_json, summary_lines(summed))


def _show_trial(found: FoundTrial, pages: _Pages | None, *, as_json: bool) -> None:
    if pages:
        from evalkit.explore.trial_pages import export_trial
        from evalkit.parameters import find_root

        out = pages.out or _folder(found)
        root = find_root(found.run)
        pages.tell(export_trial(found, root, out, redactor=pages.redactor))
        return
    from evalkit.explore.trial import told, trial_lines

    show(told(found), as_json, trial_lines(found))


def _show_pair(
    found: FoundTrial, beside: str, pages: _Pages | None, *, as_json: bool
) -> None:
    from evalkit.explore.pair_pages import export_pair
    from evalkit.explore.pair_summary import pair_lines, told
    from evalkit.explore.pairing import find_other, pair
    from evalkit.explore.telling import Teller

    tell = Teller(pages.redactor if pages else _redactor())
    both = pair(found, find_other(found, beside), tell)
    if pages:
        folder = _folder(found)
        beside_it = folder.with_name(f"{folder.name}-beside-{both.right.arm}")
        out = pages.out or beside_it
        pages.tell(export_pair(both, out, tell=tell))
    elif as_json:
        show(told(both, tell), as_json, [])
    else:
        show(None, as_json, pair_lines(both, tell))


def _folder(found: FoundTrial) -> Path:
    from evalkit.paged import pages_folder

    tried = None if found.counts else found.attempt
    return pages_folder(found.run, found.trial.key, tried)
