"""`cases/corpora.toml` with one more case in it; all else in it stays as it was."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from evalkit import corpus, files
from evalkit.choices import load_arms
from evalkit.errors import InputError
from evalkit.records import Wording

CORPUS_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(@[0-9]+)?")
MARK = "\N{REPLACEMENT CHARACTER}"
"""Stands in no name that is a case's or corpus'."""
LINE_END = re.compile(r"(?P<comma>[ \t]*,)?(?P<rest>[ \t]*(?:#[^\n]*)?)(?=\n)")
REPEATS = {True: 3, False: 2}
"""Of a new corpus, by whether it is about knowledge."""


def with_case(root: Path, into: str, name: str, *, knowing: bool) -> str:
    """The text of the file with a case in a corpus, which may be a new one.

    Args:
        root: Root whose file it is.
        into: The corpus.
        name: The case.
        knowing: Is the case about injected knowledge?

    Raises:
        InputError: The case is in a corpus already, or the corpus is released, has
            arms for cases of another sort, or would have a bad name or no arms.
    """
    where = root / "cases" / "corpora.toml"
    entries = corpus.load_corpora(root)
    text = files.read_regular(where).decode()
    for other, entry in entries.items():
        if name in entry.cases:
            raise InputError(
                f"{where} [{other}] cases",
                expected="no case of this name yet",
                found=name,
                cure="choose another name",
            )
    if into not in entries:
        return text + _table(root, text, into, name, knowing=knowing)
    entry = entries[into]
    if entry.digest is not None:
        raise InputError(
            f"{where} [{into}] digest",
            expected="a corpus that is not released",
            found="a pinned digest",
            cure="choose another corpus: a released one does not move",
        )
    if knowing != any(arm in _telling(root) for arm in entry.arms):
        raise InputError(
            f"{where} [{into}] arms",
            expected=f"arms that {'tell' if knowing else 'do not tell'} a case's knowledge",
            found=", ".join(entry.arms),
            cure="choose another corpus, or another --kind",
        )
    return _listed(text, into, name, f"{where} [{into}] cases")


def _telling(root: Path) -> set[str]:
    """The arms that tell a case's knowledge, or stand for one that does."""
    arms = load_arms(root).arms.values()
    return {arm.name for arm in arms if arm.prompt is Wording.INJECTION}


def _table(root: Path, text: str, into: str, name: str, *, knowing: bool) -> str:
    """A new table, after what is there: with all arms that such a case can be given."""
    if not CORPUS_NAME.fullmatch(into):
        raise InputError(
            f"corpus {into!r}",
            expected="lower-case words joined by hyphens, and @N where it has versions",
            found=repr(into),
            cure="choose such a name",
        )
    telling = _telling(root)
    arms = [
        arm.name
        for arm in load_arms(root).arms.values()
        if (
            arm.name in telling or (not arm.library and arm.prompt is Wording.BARE)
            if knowing
            else arm.name not in telling and arm.library in {None, "current"}
        )
    ]
    if not arms or (knowing and not telling):
        raise InputError(
            root / "cases" / "arms.toml",
            expected=f"arms for a case of this kind{', with an injection' * knowing}",
            found=", ".join(load_arms(root).arms) or "none",
            cure="add `[baseline]`, and what is compared with it",
        )
    key = into if "@" not in into else json.dumps(into)
    gap = "\n" * (bool(text) + (not text.endswith("\n")))
    return (
        f"{gap}[{key}]\ncases = {json.dumps([name])}\narms = {json.dumps(arms)}\n"
        f"repeats = {REPEATS[knowing]}\n"
    )


def _listed(text: str, into: str, name: str, where: str) -> str:
    """The text with one more case in a table, written as the last one there is."""
    wanted = tomllib.loads(text)
    last = wanted[into]["cases"][-1]
    wanted[into]["cases"].append(name)
    if found := _place(text, into, last):
        end, before = found.end(), text[: found.start()].rpartition("\n")[2]
        new = f'{text[:end]}, "{name}"{text[end:]}'
        ending = LINE_END.match(text, end)
        if ending and not before.strip():
            kept = f"{ending['comma'] or ','}{ending['rest']}"
            added = f'{before}"{name}"{"," if ending["comma"] else ""}'
            new = f"{text[:end]}{kept}\n{added}{text[ending.end() :]}"
        if _parsed(new) == wanted:
            return new
    raise InputError(
        where,
        expected="names in quotes, written as they are",
        found=f"{last!r} in another form",
        cure=f"write it so, or add {name!r} to another corpus",
    )


def _place(text: str, into: str, last: str) -> re.Match[str] | None:
    """Where the last case of a table is written.

    The same name is in quotes elsewhere too: as a case of another table, in a comment,
    as a key. So all are numbered, and the text is read once to see which one it is.
    """
    numbered: dict[str, re.Match[str]] = {}
    marked: list[str] = []
    end = 0
    for n, place in enumerate(re.finditer(rf"([\"'])({re.escape(last)})\1", text)):
        numbered[f"{last}{MARK}{n}"] = place
        marked += text[end : place.end(2)], f"{MARK}{n}"
        end = place.end(2)
    for key, table in _parsed("".join(marked) + text[end:]).items():
        if (last if key in numbered else key) == into:
            return numbered.get(table["cases"][-1])
    return None


def _parsed(text: str) -> dict[str, Any]:
    """What a text says; nothing where it is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
