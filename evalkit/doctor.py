"""What this machine lacks for evalkit, and how to get it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from evalkit import process, sandbox, skills
from evalkit.errors import EvalkitError
from evalkit.records import Record

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Finding(Record, frozen=True):
    """One thing looked at; without a needed one, evalkit cannot work as meant."""

    what: str
    found: str
    cure: str
    well: bool
    needed: bool


def examine(root: Path) -> tuple[Finding, ...]:
    """Look at everything evalkit uses on this machine; changes nothing."""
    version = ".".join(map(str, sys.version_info[:3]))
    return (
        Finding(
            "Python",
            version,
            "install Python 3.11 or later",
            well=sys.version_info >= (3, 11),
            needed=True,
        ),
        _try("sandbox", _sandbox, needed=True),
        _try("legacy library (arm ecc-legacy)", lambda: _legacy(root), needed=False),
        _browser(),
    )


def _sandbox() -> str:
    return sandbox.open_box("bwrap", allow_unsandboxed=False).isolation.detail


def _legacy(root: Path) -> str:
    return skills.load_legacy(root, arm="ecc-legacy").source


def _browser() -> Finding:
    found = next(filter(None, map(process.find_program, BROWSERS)), None)
    return Finding(
        "browser (for the report's tests)",
        found or "none",
        "apt-get install --no-install-recommends chromium fonts-dejavu-core",
        well=found is not None,
        needed=False,
    )


def _try(what: str, look: Callable[[], str], *, needed: bool) -> Finding:
    try:
        return Finding(what, look(), "", well=True, needed=needed)
    except EvalkitError as error:
        return Finding(what, "not usable", str(error), well=False, needed=needed)
