"""A new case: every file of one that works, for its author to change step by step.

The templates are `evalkit/data/case/<form>/`. Their files end in `.in`, since a template is
no source of evalkit's. In paths and texts `@NAME@` and `@KIND@` are the case's. What
stands between the lines `# @EACH@` and `# @END@`, and each file with `@SLUG@` in its
path, is there once for each step of a chain.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from evalkit import corpus, files
from evalkit.errors import InputError
from evalkit.records import Kind, Record
from evalkit.scaffold import corpora
from evalkit.scaffold.lock import alone

TEMPLATES = Path(__file__).parent.parent / "data" / "case"
SUFFIX = ".in"
PARTS = {"cases": "case", "graders": "grader", "reference": "reference"}
"""Folders of a root that hold a case's files, and those of a template."""
EACH = re.compile(r"^# @EACH@\n(.*?)^# @END@\n", re.DOTALL | re.MULTILINE)


class Scaffold(Record, frozen=True):
    """What was made, as paths from the root, and the commands to go on with.

    `made` goes no deeper than the folders at the top of the case's three.
    """

    case: str
    corpus: str
    made: tuple[str, ...]
    commands: tuple[str, ...]


def new_case(
    root: Path,
    name: str,
    *,
    kind: Kind | None = None,
    chain: Sequence[str] = (),
    into: str | None = None,
) -> Scaffold:
    """Make a small case that proves at once, and put it into a corpus.

    A root that is empty, or not there, becomes one; what a root lacks is made.

    Args:
        root: Root with cases, graders, reference and runs.
        name: The case's id.
        kind: By default a chain where there are steps, else a feature.
        chain: Slugs of its steps, in order; none for a case without steps.
        into: The corpus; by default one of the case's own name.

    Raises:
        InputError: A name is bad or taken, the corpus is released or holds cases of
            another sort, the root is none or cannot be written, or another process
            keeps it locked. Nothing is made.
    """
    kind = kind or (Kind.CHAIN if chain else Kind.FEATURE)
    into = into or name
    _check_names(name, kind, chain)
    try:
        with alone(root), ExitStack() as undo:
            _check_root(root, name)
            made = [*_complete(root, undo)]
            table = root / "cases" / "corpora.toml"
            text = corpora.with_case(root, into, name, knowing=kind is Kind.KNOWLEDGE)
            made += _put_in(root, name, _rendered(name, kind, chain), undo)
            files.write_atomic(table, text.encode())
            undo.pop_all()
    except OSError as error:
        raise InputError(
            root,
            expected="a root whose folders can be written",
            found=str(error),
            cure="mend that, or name another root",
        ) from error
    made = dict.fromkeys((*made, "cases/corpora.toml"))
    return Scaffold(name, into, tuple(made), _commands(root, name, into, kind))


# --- what is refused --------------------------------------------------------


def _check_names(name: str, kind: Kind, chain: Sequence[str]) -> None:
    for what, given in (("case id", name), *(("step", slug) for slug in chain)):
        if not corpus.CASE_ID.fullmatch(given):
            raise InputError(
                f"{what} {given!r}",
                expected="lower-case words joined by hyphens",
                found=repr(given),
                cure="choose such a name",
            )
    if kind is Kind.KNOWLEDGE and chain:
        raise InputError(
            "--chain",
            expected="no steps in a case about injected knowledge",
            found=", ".join(chain),
            cure="leave --chain out, or choose another --kind",
        )
    if kind is not Kind.CHAIN and not chain:
        return
    if not 2 <= len(set(chain)) == len(chain) <= corpus.MAX_STEPS:
        raise InputError(
            "--chain",
            expected=f"2 to {corpus.MAX_STEPS} steps, each named once",
            found=", ".join(chain) or "none",
            cure="give --chain SLUG for every step, in their order",
        )


def _check_root(root: Path, name: str) -> None:
    cases = root / "cases"
    if root.exists() and not cases.is_dir():
        there = [path.name for path in root.iterdir()] if root.is_dir() else ["a file"]
        if visible := sorted(one for one in there if not one.startswith(".")):
            raise InputError(
                root,
                expected="a folder with cases/, or an empty one to begin in",
                found=", ".join(visible[:5]),
                cure="name another folder with --root",
            )
    taken = [root / folder / name for folder in PARTS]
    for path in taken:
        if path.exists() or path.is_symlink():
            raise InputError(
                path,
                expected="nothing of this name yet",
                found="a folder or file",
                cure="choose another name, or remove it",
            )


# --- what is made -----------------------------------------------------------


def _complete(root: Path, undo: ExitStack) -> Iterator[str]:
    """Make what a root lacks; yields the files."""
    for folder in [root / folder for folder in (*PARTS, "runs")]:
        if not folder.is_dir():
            folder.mkdir()
            undo.callback(folder.rmdir)
    for entry in files.read_tree(TEMPLATES / "root"):
        path = entry.path.removesuffix(SUFFIX)
        if not (root / path).exists():
            (root / path).write_bytes(entry.data)
            undo.callback((root / path).unlink)
            yield path


def _rendered(
    name: str, kind: Kind, chain: Sequence[str]
) -> dict[str, tuple[files.Entry, ...]]:
    """The files of a case, by the folder of the root they go to."""
    form = "chain" if chain else "knowledge" if kind is Kind.KNOWLEDGE else "plain"
    words = {"@NAME@": name, "@KIND@": kind.value}
    steps = [
        {
            **words,
            "@NN@": f"{n:02}",
            "@SLUG@": slug,
            "@MODULE@": slug.replace("-", "_"),
        }
        for n, slug in enumerate(chain, 1)
    ]
    return {
        folder: tuple(
            made
            for entry in files.read_tree(TEMPLATES / form / part)
            for made in _filled_entries(entry, words, steps)
        )
        for folder, part in PARTS.items()
    }


def _filled_entries(
    entry: files.Entry, words: Mapping[str, str], steps: Sequence[Mapping[str, str]]
) -> Iterator[files.Entry]:
    path = entry.path.removesuffix(SUFFIX)
    for given in steps if "@SLUG@" in path else [words]:
        text = EACH.sub(
            lambda block: "".join(_filled(block[1], step) for step in steps),
            entry.data.decode(),
        )
        yield files.Entry(_filled(path, given), _filled(text, given).encode())


def _filled(text: str, words: Mapping[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _put_in(
    root: Path,
    name: str,
    parts: Mapping[str, tuple[files.Entry, ...]],
    undo: ExitStack,
) -> Iterator[str]:
    """Write all beside its place, then move it there; yields what stands on top."""
    beside = Path(tempfile.mkdtemp(prefix=f".new-{name}-", dir=root))
    try:
        for folder, entries in parts.items():
            files.write_entries(entries, beside / folder)
        for folder, entries in parts.items():
            target = root / folder / name
            (beside / folder).rename(target)
            undo.callback(files.remove_tree, target)
            yield from (
                f"{folder}/{name}/{top}{'/' if inner else ''}"
                for entry in entries
                for top, inner, _ in [entry.path.partition("/")]
            )
    finally:
        files.remove_tree(beside)


# --- what comes next --------------------------------------------------------


def _commands(root: Path, name: str, into: str, kind: Kind) -> tuple[str, ...]:
    """Commands to go on with, in their order."""
    at = "" if root == Path() else f" --root {shlex.quote(str(root))}"
    knowing = (
        f"audit {into}",
        f"plan --design gate --corpus {into}",
        f"preflight {into}",
    )
    commands = (
        f"verify {name}",
        f"verify {name} --mutants",
        *(knowing if kind is Kind.KNOWLEDGE else ()),
        f"plan --corpus {into}",
    )
    return tuple(f"evalkit {command}{at}" for command in commands)
