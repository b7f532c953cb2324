"""The house rules: each gate is one test, so nothing depends on anybody's hooks."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

import evalkit

BIN = Path(sys.executable).parent
BANNED_IN_GRADERS = {
    "datetime", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil",
    "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid",
}  # fmt: skip
CONSTANTS_IN_GRADERS = {
    "sys.stdlib_module_names", "pathlib.PurePosixPath",
    "datetime.UTC", "datetime.datetime", "datetime.timedelta", "datetime.timezone",
}  # fmt: skip
CLOCKS = {"now", "today", "utcnow"}


def _gate(*command: str) -> None:
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def _tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", pattern],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [REPOSITORY / name for name in listed.stdout.split("\0") if name]


def test_lint_is_clean():
    _gate("ruff", "check", "--no-cache")


def test_format_is_clean():
    _gate("ruff", "format", "--check", "--no-cache")


def test_types_are_clean():
    _gate("pyright")


def test_layers_hold():
    _gate("lint-imports")


def test_spelling_is_clean():
    _gate("codespell")


def test_notebooks_are_stored_stripped():
    notebooks = sorted(map(str, (REPOSITORY / "notebooks").glob("*.ipynb")))
    assert notebooks
    _gate("nbstripout", "--verify", *notebooks)


def test_the_module_map_names_every_module():
    package = Path(evalkit.__file__).parent
    there = {path.stem for path in package.glob("*.py")} - {"__init__"}
    there |= {
        path.name for path in package.iterdir() if (path / "__init__.py").exists()
    }
    named = re.findall(r"^    (\w+)  +\S", evalkit.__doc__ or "", re.MULTILINE)
    assert sorted(named) == sorted(there)


def test_every_public_name_can_be_had():
    for name in evalkit.__all__:
        assert getattr(evalkit, name) is not None


def test_the_run_path_starts_without_the_reading_libraries():
    heavy = (
        "pandas pyarrow scipy matplotlib papermill nbconvert statsmodels bm25s Stemmer "
        "distributed"
    )
    code = (
        f"import sys, evalkit.run; found = set('{heavy}'.split()) & set(sys.modules);"
        "assert not found, found"
    )
    _gate("python", "-c", code)


@pytest.mark.parametrize(
    "path",
    sorted((REPOSITORY / "graders").glob("*/grade.py")),
    ids=lambda p: p.parent.name,
)
def test_a_grader_has_no_clock_randomness_or_processes_of_its_own(path):
    for node in ast.walk(ast.parse(path.read_text())):
        used = []
        if isinstance(node, ast.Import):
            used = [alias.name for alias in node.names if alias.name != "sys"]
        elif isinstance(node, ast.ImportFrom):
            used = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used = [f"sys.{node.attr}"] if node.value.id == "sys" else []
            assert node.attr not in CLOCKS, (path, node.lineno)
        banned = {
            name
            for name in used
            if name.partition(".")[0] in BANNED_IN_GRADERS
            and name not in CONSTANTS_IN_GRADERS
        }
        assert not banned, (path, banned)
        if isinstance(node, ast.For | ast.comprehension):
            assert not isinstance(node.iter, ast.Set | ast.SetComp), path


def test_no_file_names_a_machine_path_or_a_package_index():
    hosts = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian|npmjs\.com")
    places = re.compile(r"(?<![\w.])/(?:root/|work/|home/(?!agent)\w)")
    for path in _tracked("*"):
        if path == Path(__file__) or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        assert not hosts.search(text), path
        if path.suffix not in {".jsonl"}:
            assert not places.search(text), (path, places.search(text))
