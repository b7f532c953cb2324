"""The program of an agent on this machine: found, looked at, never shipped."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evalkit import files, process
from evalkit.errors import InputError
from evalkit.records import Record

VERSION_TIMEOUT_S = 60.0
MAX_VERSION_CHARS = 200


class Installed(Record, frozen=True):
    """An executable: where it lies, what it says it is, and its sha256."""

    path: Path
    version: str
    sha256: str


def find(name: str, given: str | None, *, wheel: str, inside: str) -> Installed:
    """Find an agent's executable and look at it.

    Args:
        name: Its name on PATH.
        given: Path given by the user, which goes before all else.
        wheel: Import name of the package that brings it, for want of one on PATH.
        inside: Path of the executable in that package.

    Raises:
        InputError: There is none, or it is no native executable.
    """
    path = Path(given) if given else _on_path(name) or _in_wheel(wheel, inside)
    if path is None or not path.is_file():
        raise InputError(
            f"the executable of {name}",
            expected="one on PATH, by --executable, or from its Python package",
            found=str(path) if path else "none",
            cure=f"install it (pip install 'evalkit[{name}]'), or give its path",
        )
    return examine(path.resolve())


@cache
def _examined(path: Path, _: tuple[int, int]) -> Installed:
    with path.open("rb") as opened:
        begins = opened.read(2)
    if begins == b"#!":
        raise InputError(
            path,
            expected="a native executable, which can be sealed by its digest",
            found="a script that starts another program",
            cure="give the path of the program it starts, or install the package",
        )
    with files.private_folder() as home:
        env = {**process.MINIMAL_ENV, "HOME": str(home)}
        command = [str(path), "--version"]
        try:
            said = process.output(command, timeout_s=VERSION_TIMEOUT_S, env=env)
        except process.CommandError as error:
            raise InputError(
                path,
                expected="an executable that says its version",
                found=str(error),
                cure="install it again",
            ) from error
    version = said.decode(errors="replace").strip()[:MAX_VERSION_CHARS]
    return Installed(path, version, files.file_digest(path))


def examine(path: Path) -> Installed:
    """Version and digest of an executable, asked once until the file changes."""
    found = path.stat()
    return _examined(path, (found.st_mtime_ns, found.st_size))


def _on_path(name: str) -> Path | None:
    found = process.find_program(name)
    return Path(found) if found else None


def _in_wheel(package: str, inside: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    places: Sequence[str] = (spec and spec.submodule_search_locations) or ()
    candidates = (Path(place, inside) for place in places)
    return next((path for path in candidates if path.is_file()), None)
