"""Shared parts: what this machine can do, and a tiny root that is quick to run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import tinyroot

from evalkit import process, sandbox, skills
from evalkit.agents import claude, codex
from evalkit.errors import EvalkitError

REPOSITORY = Path(__file__).parent.parent
NO_SKIP = "EVALKIT_NO_SKIP"
"""Where this variable is set, a test that cannot run fails instead of skipping."""


def _lacks_sandbox() -> str | None:
    try:
        sandbox.open_box("bwrap", allow_unsandboxed=False)
    except EvalkitError as error:
        return f"bubblewrap: {error}"
    return None


def _lacks_browser() -> str | None:
    if process.find_program("chromium"):
        return None
    return "chromium: apt-get install --no-install-recommends chromium"


def _lacks_history() -> str | None:
    try:
        skills.load_legacy(REPOSITORY, arm="ecc-legacy")
    except EvalkitError as error:
        return f"git history: {error}"
    return None


def _lacks_claude() -> str | None:
    try:
        claude.find()
    except EvalkitError as error:
        return f"Claude Code: {error}"
    return _lacks_sandbox()


def _lacks_codex() -> str | None:
    try:
        codex.find()
    except EvalkitError as error:
        return f"Codex: {error}"
    return _lacks_sandbox()


def _lacks_root() -> str | None:
    return (
        None if os.geteuid() == 0 else "root: only it makes a network of its own here"
    )


LACKS = {
    "needs_root": _lacks_root,
    "needs_claude": _lacks_claude,
    "needs_codex": _lacks_codex,
    "needs_sandbox": _lacks_sandbox,
    "needs_browser": _lacks_browser,
    "needs_history": _lacks_history,
}
_known: dict[str, str | None] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip by name what this machine cannot run; fail where skips are forbidden."""
    for marker, lacks in LACKS.items():
        if item.get_closest_marker(marker) is None:
            continue
        if marker not in _known:
            _known[marker] = lacks()
        missing = _known[marker]
        if missing and os.environ.get(NO_SKIP):
            pytest.fail(f"{marker}: {missing}")
        if missing:
            pytest.skip(missing)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one trivial case, four skills, three arms."""
    return tinyroot.make(tmp_path / "root")


@pytest.fixture(scope="session")
def proven_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny root with its proof; copy it before changing anything."""
    made = tinyroot.make(tmp_path_factory.mktemp("proven") / "root")
    tinyroot.prove(made)
    return made


@pytest.fixture
def own_root(proven_root: Path, tmp_path: Path) -> Path:
    """A copy of the proven tiny root that a test may change."""
    return Path(shutil.copytree(proven_root, tmp_path / "own"))
