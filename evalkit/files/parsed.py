"""What files hold, as records: TOML that people wrote, JSON that evalkit wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalkit.errors import InputError
from evalkit.files.regular import read_regular

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        InputError: It is missing, not UTF-8, or not TOML; names file and line.
    """
    data = read_regular(path)
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            path, expected="TOML in UTF-8", found=str(error), cure="mend the file"
        ) from error


def convert(table: object, kind: type[T], where: object) -> T:
    """Convert parsed TOML to a record.

    Raises:
        InputError: A key is unknown, missing or of a wrong type.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise InputError(
            where,
            expected="the keys and types of its kind of file",
            found=str(error),
            cure="mend the key named",
        ) from error


def decode_json(data: bytes, kind: type[T], where: object) -> T:
    """Decode JSON that evalkit wrote.

    Raises:
        InputError: It is no such record.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            where,
            expected=f"a {kind.__name__} as evalkit wrote it",
            found=str(error),
            cure="restore the file from a copy",
        ) from error


def encode_json(value: object) -> bytes:
    """Readable JSON of a record, keys in a fixed order, with a final newline."""
    encoded = msgspec.json.encode(value, order="deterministic")
    return msgspec.json.format(encoded, indent=1) + b"\n"
