"""The stored notebooks: their form, their parameters, and that they run."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import msgspec
import nbformat
import papermill
import pytest
import tinyroot
from conftest import REPOSITORY

from evalkit import executing, publish, registration, standing
from evalkit import run as running
from evalkit.errors import InputError, NotebookError
from evalkit.parameters import (
    KINDS,
    PlanParameters,
    ReportParameters,
    RunParameters,
    check_parameters,
    find_run,
    read_parameters,
)
from evalkit.records import Plan

PATHS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
BANNED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While,
    ast.Try, ast.With,
)  # fmt: skip
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def test_there_is_a_notebook_for_every_kind_of_parameters():
    assert [path.stem for path in PATHS] == sorted(KINDS)


@each
def test_a_notebook_is_valid_and_stored_without_outputs(path):
    nb = read(path)
    nbformat.validate(nb)
    assert set(nb.metadata) <= {"kernelspec", "language_info"}
    for cell in code_cells(path):
        assert cell.outputs == []
        assert cell.execution_count is None


@each
def test_a_notebook_has_one_first_heading_and_it_comes_first(path):
    lines = [
        line
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
    ]
    assert [line for line in lines if line.startswith("# ")] == lines[:1]


@each
def test_the_second_cell_alone_holds_parameters_and_the_third_imports(path):
    cells = read(path).cells
    tagged = [
        n for n, c in enumerate(cells) if "parameters" in c.metadata.get("tags", [])
    ]
    assert tagged == [1]
    imports = ast.parse(cells[2].source).body
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in imports)
    for cell in code_cells(path)[2:]:
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, ast.Import | ast.ImportFrom)


@each
def test_cells_are_thin(path):
    for cell in code_cells(path)[1:]:
        assert len(cell.source.splitlines()) <= 10
        assert not cell.source.lstrip().startswith(("!", "%"))
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, BANNED), cell.source


@each
def test_every_section_has_a_heading_and_shows_something(path):
    cells = read(path).cells[3:]
    assert cells[0].source.startswith("## ")
    starts = [n for n, cell in enumerate(cells) if cell.source.startswith("## ")]
    for start, end in zip(starts, [*starts[1:], len(cells)], strict=True):
        assert "code" in {cell.cell_type for cell in cells[start:end]}


@each
def test_parameters_are_those_of_the_record_with_its_defaults_and_help(path):
    found = papermill.inspect_notebook(str(path))
    record = KINDS[path.stem]
    assert list(found) == list(record.__struct_fields__)
    for name, parameter in found.items():
        assert parameter["help"].strip(), name
        assert ast.literal_eval(parameter["default"]) == getattr(record(), name)
        types = {str: "str", int: "int", bool: "bool", float: "float"}
        assert parameter["inferred_type_name"] == types[type(getattr(record(), name))]


def test_no_parameters_cell_is_a_single_line():
    """One line that begins with `run:` would be taken for the magic %run."""
    for path in PATHS:
        assert len(code_cells(path)[0].source.splitlines()) > 1


def test_plan_parameters_left_alone_are_the_defaults_of_a_plan():
    assert PlanParameters().plan == Plan("complex-tasks@1")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"run": 7, "workers": 1, "consent": False}, "got `int`"),
        ({"run": None, "workers": 1, "consent": False}, "got `null`"),
        ({"run": "x", "workers": "1", "consent": False}, "got `str`"),
        ({"run": "x", "workers": True, "consent": False}, "got `bool`"),
        ({"run": "x", "workers": 1}, "consent"),
        ({"run": "x", "workers": 1, "consent": False, "speed": 1}, "speed"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(values, said):
    with pytest.raises(InputError, match=said):
        check_parameters(RunParameters, values)


def test_a_name_that_papermill_put_in_and_nobody_knows_is_refused():
    history = ["", '# Parameters\nrun = "x"\nspeed = 3\n']
    with pytest.raises(InputError, match="speed"):
        read_parameters(ReportParameters, {"In": history, "run": "x", "speed": 3})


def test_names_of_the_notebook_itself_are_no_parameters():
    found = read_parameters(ReportParameters, {"In": ["x = 1"], "run": "a", "x": 1})
    assert found == ReportParameters("a")


def test_an_unknown_run_is_refused_and_the_known_ones_are_named(own_root):
    with pytest.raises(InputError, match="no runs"):
        find_run("nowhere", own_root / "runs")


def test_a_wrong_parameter_is_refused_before_anything_is_written(tmp_path):
    wrong = msgspec.structs.replace(ReportParameters(), run=7)
    with pytest.raises(InputError):
        executing.execute(wrong, folder=tmp_path / "notebooks", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def plan_parameters(**changes):
    level = tinyroot.isolation()
    return PlanParameters(
        corpus="tiny", isolation=level, allow_unsandboxed=level == "none", **changes
    )


@pytest.fixture(scope="module")
def carried_out(proven_root, tmp_path_factory):
    """Plan sealed by its notebook, run carried out by its notebook."""
    root = Path(shutil.copytree(proven_root, tmp_path_factory.mktemp("nb") / "root"))
    folder = root / "runs" / "notebooks"
    sealed = executing.execute(plan_parameters(seal=True), folder=folder, cwd=root)
    (path,) = (root / "runs").glob("*/registration.json")
    run = path.parent
    executing.execute(RunParameters(run.name), folder=run / "notebooks", cwd=root)
    return root, run, sealed


def test_a_draft_is_shown_and_nothing_is_written(own_root, tmp_path):
    before = sorted(own_root.rglob("*"))
    executing.execute(plan_parameters(), folder=tmp_path, cwd=own_root)
    assert sorted(own_root.rglob("*")) == before


def test_the_notebooks_seal_and_carry_out_a_plan(carried_out):
    _, run, sealed = carried_out
    status = standing.status(run)
    assert (status.state, status.n_done) == ("complete", status.n_planned)
    assert run.name in sealed.read_text()


def test_progress_is_one_output_that_the_last_trial_wrote(carried_out):
    _, run, _ = carried_out
    nb = read(run / "notebooks" / "run.ipynb")
    kind = "application/x-evalkit-progress+json"
    shown = [
        o for c in nb.cells for o in c.get("outputs", []) if kind in o.get("data", {})
    ]
    assert len(shown) == 1
    total = len(registration.load_registration(run).schedule)
    assert shown[0].data[kind] == {"n_done": total, "n_planned": total}


def test_running_the_run_notebook_again_does_nothing_more(carried_out):
    root, run, _ = carried_out
    journal = (run / "journal.jsonl").read_bytes()
    executing.execute(RunParameters(run.name), folder=run / "notebooks", cwd=root)
    assert (run / "journal.jsonl").read_bytes() == journal


def test_the_report_of_a_real_run_is_published(carried_out):
    _, run, _ = carried_out
    page = publish.publish_report(run).read_text()
    assert "SIMULATED" in page
    assert "Traceback" not in page
    assert (run / "analysis.json").is_file()


def test_a_real_agent_needs_consent(own_root):
    run = registration.write_registration(own_root, unsimulated(own_root))
    with pytest.raises(NotebookError, match="consent"):
        executing.execute(
            RunParameters(run.name), folder=run / "notebooks", cwd=own_root
        )


def unsimulated(root):
    from evalkit.plan import draft

    sealed = draft(tinyroot.plan(), root, now=running.utc_now).registration
    agent = msgspec.structs.replace(sealed.agent, simulated=False)
    return registration.seal(msgspec.structs.replace(sealed, agent=agent))
