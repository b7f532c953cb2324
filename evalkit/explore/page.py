"""A page of a transcript: whole without a script, and allowed to run or load nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit import files, wording
from evalkit.errors import EvalkitError, InputError
from evalkit.explore.article import Entry
from evalkit.explore.terminal import style_of
from evalkit.markup import escape
from evalkit.sanitise import faults

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
SHOWN_ALL = "Nothing was redacted: secrets of the transcript stand here as they are."
_OWN_LINK = re.compile(r' href="(?:[\w.%-]+/|\.\./)?[\w%-]+\.html(?:#[\w.%-]+)?"')


class UnsafePageError(EvalkitError):
    """A page would run a program or load something; it was not written."""

    exit_code = 1


def document(
    title: str,
    body: str,
    *,
    notes: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    stamp: str | None = None,
) -> str:
    """A whole page.

    Args:
        title: Its heading.
        body: HTML of its parts.
        notes: Sentences that stand at its top.
        links: Words of the links to pages beside it, and where they lead.
        stamp: Of its run, where that measures no model; see `Registration.stamp`.
    """
    stamped = ""
    if stamp:
        stamped = f'<header><p class="stamp">{escape(warning(stamp))}</p></header>'
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    above, below = (_nav(links or {}, name) for name in ("Pages", "Pages, at the end"))
    sheet = files.package_data("transcript.css").decode() + style_of(body)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{sheet}</style></head>\n<body>{stamped}{above}"
        f'<main><h1>{escape(title)}</h1><div class="notes">{told}</div>\n{body}</main>'
        f"{below}</body></html>\n"
    )


def warning(stamp: str) -> str:
    """What stands on a page of a run that measures no model."""
    return f"{stamp}: nothing here is about a model"


def write_page(path: Path, page: str) -> Path:
    """Write a page, whole or not at all.

    Raises:
        UnsafePageError: It would run or load something; nothing is written.
        InputError: Its folder cannot be made.
    """
    found = faults(_OWN_LINK.sub("", page))
    if found:
        raise UnsafePageError(
            f"{path}: expected a page that runs and loads nothing, found "
            f"{'; '.join(found[:5])}; nothing was written: mend what makes it"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            path.parent,
            expected="a folder to write pages to",
            found=error.strerror or str(error),
            cure="name another with --out",
        ) from error
    files.write_atomic(path, page.encode(errors="replace"))
    return path


def contents(entries: Sequence[Entry], pages: Mapping[str, str] | None = None) -> str:
    """Entries as links in the order of time.

    Args:
        entries: What to list.
        pages: The page of each anchor that stands on another one.
    """
    rows = [
        f'<li class="{entry.what}"><span class="what">{entry.what}</span> '
        f'<a href="{(pages or {}).get(f"m{entry.n}", "")}#m{entry.n}">#{entry.n}</a> '
        f'<span class="meta">{escape(entry.time)}</span> {escape(entry.line)}</li>'
        for entry in entries
    ]
    return f'<ul class="contents">{"".join(rows)}</ul>' if rows else ""


def grid(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; the first of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        f'<tr><th scope="row">{first}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="wide" role="group" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def told_hidden(counts: Mapping[str, int], n_cut: int, *, on: bool) -> list[str]:
    """What a page leaves out: its secrets by kind, and texts that were cut."""
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items()))
    n = sum(counts.values())
    hidden = f"{wording.n_of(n, 'secret')} redacted here" + (
        f": {kinds}." if n else "."
    )
    cut = f"{wording.n_of(n_cut, 'item')} cut; where, is said in the text."
    return [hidden if on else SHOWN_ALL, *([cut] if n_cut else [])]


def _nav(links: Mapping[str, str], name: str) -> str:
    shown = "".join(
        f'<a href="{escape(address)}">{escape(word)}</a>'
        for word, address in links.items()
    )
    return f'<nav class="pages" aria-label="{name}">{shown}</nav>' if shown else ""
