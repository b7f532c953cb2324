"""What is shipped to a machine before its first trial, known by its digest."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec

from evalkit import files
from evalkit.inputs import Inputs
from evalkit.records import Library, Record, Registration

ROOT_FOLDERS = ("cases", "graders", "reference")
LEVEL = 1
"""Of compression: what is shipped is text, and soon small enough."""


class Bundle(Record, frozen=True):
    """A registration, and what it was sealed on: the root's folders, the libraries."""

    registration: Registration
    folders: dict[str, bytes]
    libraries: dict[str, Library | None]


def pack(registration: Registration, inputs: Inputs) -> bytes:
    """The bytes of a bundle; the same content gives the same bytes."""
    bundle = Bundle(
        registration,
        {
            name: files.pack(files.read_tree(inputs.root / name))
            for name in ROOT_FOLDERS
        },
        inputs.libraries,
    )
    encoded = msgspec.msgpack.encode(bundle, order="deterministic")
    return zlib.compress(encoded, LEVEL)


def unpack(packed: bytes) -> Bundle:
    """The bundle in some bytes."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=Bundle)


def lay_out(bundle: Bundle, root: Path) -> None:
    """Write the folders of a bundle below a root that did not exist."""
    for name, archive in bundle.folders.items():
        files.unpack(archive, root / name)
