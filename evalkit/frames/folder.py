"""A folder of exported frames: a file for each, the data dictionary, and a stamp.

The stamp says what the files were made of and holds their digests, so that a folder
knows which files are its own: nothing else is ever written over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evalkit import files
from evalkit.errors import InputError, expect_subset
from evalkit.files import disk
from evalkit.frames.columns import COLUMNS, Table, columns, frame_of
from evalkit.frames.formats import Format, decode, encode, format_named
from evalkit.records import FORMAT, Record

if TYPE_CHECKING:
    import pandas as pd

DICTIONARY = "columns.csv"
MAX_FILE_BYTES = 16_000_000_000


class Origin(Record, frozen=True):
    """What frames were made of: digests are sha256.

    `journal_head` was verified with the whole chain before it; `journal` is the digest
    of all bytes of the journal, None where it grew meanwhile. `warning` is the stamp
    of a run that measures no model, in a sentence.
    """

    run: str
    registration: str
    journal_head: str
    journal: str | None
    n_events: int
    simulated: bool
    run_source: str
    analysis_source: str
    warning: str | None = None
    format: int = FORMAT


class Stamp(Record, frozen=True):
    """Where the files of a folder come from, and the sha256 of each."""

    origin: Origin
    files: dict[str, str]


def warning_of(stamp: str | None) -> str | None:
    """What stands on the files of a run that measures no model."""
    return None if stamp is None else f"{stamp}: nothing here is about any model"


def stamp_name(kind: Format) -> str:
    """Name of the stamp of files of one format; formats may share a folder."""
    return f"stamp-{kind}.json"


def write_folder(
    folder: Path,
    tables: Mapping[str, Table],
    origin: Origin,
    kind: Format,
    *,
    durable: bool = True,
) -> tuple[Path, ...]:
    """Write frames, their dictionary and their stamp; the stamp comes last.

    Args:
        folder: Where to; made if missing.
        tables: Each frame by its name.
        origin: What they were made of.
        kind: Format of the files.
        durable: Wait for the disk, as `files.write_atomic` does.

    Returns:
        The files.

    Raises:
        InputError: A file is in the way that was not exported from this run, or was
            changed since; nothing is written.
        InfrastructureError: The disk takes no more.
    """
    told = msgspec.json.encode(origin, order="deterministic")
    contents = {
        f"{name}.{kind}": encode(table, kind, told) for name, table in tables.items()
    }
    contents[DICTIONARY] = columns().to_csv(index=False).encode()
    digests = {name: files.sha256(data) for name, data in contents.items()}
    contents[stamp_name(kind)] = files.encode_json(Stamp(origin, digests))
    _refuse_foreign(folder, contents, origin.run)
    with disk.faults_named(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            files.write_atomic(folder / name, data, durable=durable)
    return tuple(folder / name for name in contents)


def read_stamp(folder: Path, kind: Format) -> Stamp:
    """The stamp of the files of one format.

    Raises:
        InputError: There is none, or it is none.
    """
    path = folder / stamp_name(kind)
    return files.decode_json(files.read_regular(path), Stamp, path)


def read_table(folder: Path, name: str, stamp: Stamp, kind: Format) -> Table:
    """A stored frame, of exactly the bytes that its stamp names.

    Raises:
        InputError: It is missing, or holds other bytes.
    """
    path = folder / f"{name}.{kind}"
    data = files.read_regular(path, max_bytes=MAX_FILE_BYTES)
    stamped = stamp.files.get(path.name, "nothing")
    if files.sha256(data) != stamped:
        raise InputError(
            path,
            expected=f"bytes with sha256 {stamped}, by its stamp",
            found=files.sha256(data),
            cure="remove the folder and export again",
        )
    return decode(name, kind, data)


def read_frame(path: Path) -> pd.DataFrame:
    """An exported frame, with its declared types and NA; by its file's name.

    Raises:
        InputError: It is no frame that evalkit exported.
    """
    kind = format_named(path.suffix[1:])
    expect_subset(path, "a frame", {path.stem}, set(COLUMNS))
    data = files.read_regular(path, max_bytes=MAX_FILE_BYTES)
    return frame_of(decode(path.stem, kind, data))


def _refuse_foreign(folder: Path, contents: Mapping[str, bytes], run: str) -> None:
    """Raise InputError where a file is in the way that is not this run's export."""
    own: set[tuple[str, str]] = set()
    for path in folder.glob("stamp-*.json"):
        data = files.read_regular(path)
        stamp = files.decode_json(data, Stamp, path)
        if stamp.origin.run == run:
            own |= {(path.name, files.sha256(data)), *stamp.files.items()}
    for name, data in contents.items():
        path = folder / name
        if not (path.exists() or path.is_symlink()):
            continue
        found = files.read_regular(path, max_bytes=MAX_FILE_BYTES)
        if found != data and (name, files.sha256(found)) not in own:
            raise InputError(
                path,
                expected=f"no file, or one as evalkit exported it from {run}",
                found="another",
                cure="choose another folder, or move that file away",
            )
