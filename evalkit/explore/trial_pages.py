"""A trial as pages: what it came to, what stands beside it, its transcripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from evalkit.errors import InputError
from evalkit.explore import beside
from evalkit.explore.binding import ExportedPages
from evalkit.explore.export import Exported, export_transcript
from evalkit.explore.page import document, grid, told_hidden, write_page
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.trial import (
    KEEPS_NONE,
    FoundTrial,
    Kept,
    counted_trials,
    keeps_none,
    standing,
    transcripts_of,
)
from evalkit.markup import escape
from evalkit.paged import INDEX, pages_folder

_TRANSCRIPTS = ("Transcript", "Of", "Items", "Pages")


def export_trial(
    found: FoundTrial, root: Path, out: Path, *, redactor: Redactor
) -> ExportedPages:
    """Write a trial's page, and a folder of pages for each of its transcripts.

    Args:
        found: The trial.
        root: Where its case is, for the fixture it began with.
        out: Folder to write to.
        redactor: Takes secrets out, or does not.
    """
    tell = Teller(redactor)
    rows: list[tuple[str, ...]] = []
    pages: list[str] = []
    n_cut = 0
    for kept in transcripts_of(found):
        name, told = escape(tell.name(kept.name)), escape(f"{kept.step}: {kept.what}")
        try:
            made = _transcript(found, kept, out, redactor)
        except InputError as error:
            rows.append((name, told, escape(tell(str(error))), ""))
            continue
        pages += [made.index, *made.pages]
        n_cut += made.n_cut
        link = f'<a href="{kept.name}/{INDEX}">{name}</a>'
        rows.append((link, told, f"{made.n_items:,}", f"{len(made.pages):,}"))
    before, cut_before = redactor.counts.copy(), tell.n_cut
    body = _body(found, root, tell, rows)
    counts, n_own = redactor.counts - before, tell.n_cut - cut_before
    hidden = told_hidden(counts, n_own, on=redactor.on)
    page = document(
        str(found.trial.key),
        body,
        notes=[tell(standing(found)), *_warnings(found, tell), *hidden],
        stamp=found.stamp,
    )
    index = write_page(out / INDEX, page)
    return ExportedPages(
        index=str(index),
        pages=tuple(pages),
        redacted=dict(redactor.counts),
        n_cut=n_cut + n_own,
    )


def export_counted(
    run: Path,
    root: Path,
    *,
    known: Sequence[str],
    done: Callable[[int, int], None],
) -> list[ExportedPages]:
    """Write the pages of every trial that counts to where a report looks for them.

    Args:
        run: Folder of the run.
        root: Where its cases are.
        known: Secrets that are taken out wherever they stand, beside all that look so.
        done: Told after each trial how many of how many are done.

    Raises:
        InputError: The run cannot be read, or its folder not be written.
    """
    trials = counted_trials(run)
    made: list[ExportedPages] = []
    for found in trials:
        folder = pages_folder(run, found.trial.key)
        made.append(export_trial(found, root, folder, redactor=Redactor(known)))
        done(len(made), len(trials))
    return made


def _transcript(
    found: FoundTrial, kept: Kept, out: Path, redactor: Redactor
) -> Exported:
    return export_transcript(
        kept.path,
        out / kept.name,
        redactor=redactor,
        title=f"{found.trial.key}, {kept.step}: {kept.what}",
        stamp=found.stamp,
        links={"The trial": f"../{INDEX}"},
    )


def _body(
    found: FoundTrial, root: Path, tell: Teller, rows: list[tuple[str, ...]]
) -> str:
    transcripts = (
        grid("Transcripts of this attempt", _TRANSCRIPTS, rows)
        if rows
        else f"<p>None: {KEEPS_NONE}.</p>"
        if keeps_none(found.registration)
        else "<p>None was kept.</p>"
    )
    parts = {
        "What the grader found": beside.checks(found, tell),
        "Transcripts": transcripts,
        "What changed in the workspace": beside.workspace(found, root, tell),
        "Routing": beside.routing(found, tell),
        "Why checks failed: what was asked and answered": beside.check_evidence(
            found, tell
        ),
    }
    return "".join(f"<h2>{escape(head)}</h2>{part}" for head, part in parts.items())


def _warnings(found: FoundTrial, tell: Teller) -> list[str]:
    notes = [f"NOT AS SEALED: {tell(found.damage)}"] if found.damage else []
    if found.trial.regraded and found.counts:
        notes.append(
            f"It was graded again ({found.trial.regraded}); what stands here is the "
            "first verdict, which counts."
        )
    return notes
