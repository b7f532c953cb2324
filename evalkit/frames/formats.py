"""Frames as bytes, in three formats, each read back to the frame it was made of.

Parquet holds everything, its origin too. CSV and JSON hold the values, and the
declared types are put on again when they are read. In CSV NA is an empty cell and
empty text is `""`, which `read` tells apart and most other readers do not. So that no
spreadsheet takes text for a formula, an apostrophe is put before text that begins
with `= + - @`, a tab, a line end or an apostrophe; `read` takes one away again.
"""

from __future__ import annotations

import io
from enum import StrEnum
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import compute, parquet

from evalkit.errors import InputError
from evalkit.frames.columns import Table, schema

_compute: Any = compute  # its functions come into being when it is imported
ORIGIN = b"evalkit"
"""Key of the origin in a Parquet file's metadata."""
# The wide forms are taken for the narrow ones by East Asian spreadsheets.
_FORMULA = r"^[=+\-@\t\r\n'\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"


class Format(StrEnum):
    """What frames can be exported to."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        InputError: There is no such format.
    """
    try:
        return Format(name)
    except ValueError as error:
        raise InputError(
            "format",
            expected=" or ".join(Format),
            found=repr(name),
            cure="name one of these",
        ) from error


def encode(table: Table, kind: Format, origin: bytes) -> bytes:
    """A stored frame as the bytes of a file; `origin` is where it comes from."""
    if kind is Format.JSON:
        rows = [msgspec.json.encode(row) for row in table.to_pylist()]
        return b"[\n" + b",\n".join(rows) + b"\n]\n"
    written = io.BytesIO()
    if kind is Format.CSV:
        from pyarrow import csv

        csv.write_csv(_each_text(table, _disarmed), written)
    else:
        noted = {**(table.schema.metadata or {}), ORIGIN: origin}
        parquet.write_table(table.replace_schema_metadata(noted), written)
    return written.getvalue()


def decode(name: str, kind: Format, data: bytes) -> Table:
    """The stored frame `name` in the bytes of a file.

    Raises:
        InputError: It holds no such frame.
    """
    stored = schema(name)
    try:
        return _parsed(stored, kind, data).cast(stored)
    except (pa.ArrowException, msgspec.DecodeError, ValueError, OSError) as error:
        raise InputError(
            f"{name}.{kind}",
            expected=f"the frame {name} as evalkit exported it",
            found=str(error).partition("\n")[0],
            cure="export it again",
        ) from error


def _parsed(stored: Any, kind: Format, data: bytes) -> Table:
    if kind is Format.PARQUET:
        # On this thread alone: pyarrow's own may abort a program that ends meanwhile.
        opened = parquet.ParquetFile(io.BytesIO(data), pre_buffer=False)
        return opened.read(use_threads=False)
    if kind is Format.JSON:
        rows = msgspec.json.decode(data, type=list[dict[str, Any]])
        for row in rows:
            if list(row) != stored.names:
                raise ValueError(f"a row with {', '.join(row)}")
        return pa.Table.from_pylist(rows, schema=stored)
    from pyarrow import csv

    read = csv.read_csv(
        io.BytesIO(data),
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=stored,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return _each_text(read, _armed)


def _each_text(table: Table, change: Any) -> Table:
    """A table with a change made to each column of text."""
    for n, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(n, field, change(table.column(n)))
    return table


def _disarmed(texts: Any) -> Any:
    marked = _compute.binary_join_element_wise("'", texts, "")
    return _compute.if_else(
        _compute.match_substring_regex(texts, _FORMULA), marked, texts
    )


def _armed(texts: Any) -> Any:
    bare = _compute.utf8_slice_codeunits(texts, 1)
    return _compute.if_else(_compute.starts_with(texts, "'"), bare, texts)
