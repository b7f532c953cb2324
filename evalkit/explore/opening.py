"""A file that is said to be a transcript: is it one, of which kind, and its lines."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from evalkit.errors import InputError
from evalkit.files.untrusted import kind_name
from evalkit.transcript.kinds import Kind, recognise

MAX_HEAD_BYTES = 32 * 2**20
"""Without a row of a transcript in so much, a file is something else."""
BLOCK_BYTES = 2**20
_GEMINI = re.compile(rb'"projectHash"\s*:|"type"\s*:\s*"gemini"')


def kind_of(path: Path) -> Kind:
    """The kind of transcript that a file holds, from its head alone.

    Raises:
        InputError: It is none, or cannot be read.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            folder = stat.S_ISDIR(mode)
            raise _wrong(path, "a folder" if folder else kind_name(mode))
        with path.open("rb") as opened:
            kind, held = recognise(_head(opened))
            opened.seek(0)
            start = opened.read(BLOCK_BYTES)
    except OSError as error:
        raise _wrong(path, (error.strerror or str(error)).lower()) from error
    if kind is not None:
        return kind
    raise _wrong(path, _named(start, held))


def opened(path: Path) -> BufferedReader:
    """A file of a transcript, to be read.

    Raises:
        InputError: It is gone, or may not be read.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(
            path,
            expected="a transcript's file that may be read",
            found=(error.strerror or str(error)).lower(),
            cure="bring it back, or allow to read it, and open the transcript again",
        ) from error


def _head(opened: BinaryIO) -> Iterator[bytes]:
    left = MAX_HEAD_BYTES
    while left > 0 and (line := opened.readline(left)):
        left -= len(line)
        yield line


def _named(start: bytes, held: str) -> str:
    if not start:
        return "an empty file"
    if b"\0" in start:
        return "binary data"
    if _GEMINI.search(start):
        return "a session of Gemini CLI"
    return held


def _wrong(path: Path, found: str) -> InputError:
    return InputError(
        path,
        expected="a transcript of Claude Code or Codex as JSON lines",
        found=found,
        cure="name a session file, stream-json, `codex exec --json` or a rollout",
    )
