"""Notebooks of a run, executed and exported; the report of a run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from evalkit import files
from evalkit.errors import InputError
from evalkit.executing import execute, name_of
from evalkit.export import export
from evalkit.files import disk
from evalkit.loading import load
from evalkit.parameters import Parameters, ReportParameters


def publish_report(run: Path) -> Path:
    """Analyse a run; write `analysis.json`, the executed report and its page.

    Args:
        run: Folder of a run, finished or not.

    Returns:
        The page, `report.html` in the run's folder.

    Raises:
        InputError: The run cannot be read, or its folder not be written.
        NotebookError: A cell of the report failed.
        UnsafePageError: The page would run or load something.
    """
    run = run.resolve()
    analysis = load(run).analysis
    with _writing(run, "analysis.json"):
        files.write_atomic(run / "analysis.json", files.encode_json(analysis))
    title = f"What changed, and at what price: {run.name}"
    chosen = ReportParameters(run.name)
    _, page = publish(chosen, run, cwd=run.parent, title=title)
    return page


def publish(
    parameters: Parameters, run: Path, *, cwd: Path, title: str
) -> tuple[Path, Path]:
    """Write the executed notebook of a run, and the page beside it.

    Args:
        parameters: Of the notebook.
        run: Folder of the run.
        cwd: Working folder of the kernel.
        title: Of the page.

    Returns:
        Notebook and page.

    Raises:
        InputError: The run's folder cannot be written.
        NotebookError: A cell failed.
        UnsafePageError: The page would run or load something.
    """
    name = name_of(parameters)
    with _writing(run, f"notebooks/{name}.ipynb", f"{name}.html"):
        notebook = execute(parameters, folder=run / "notebooks", cwd=cwd)
        return notebook, export(notebook, run / f"{name}.html", title=title)


@contextmanager
def _writing(run: Path, *paths: str) -> Generator[None]:
    """See to it that files of a run are written, in its folder and nowhere else."""
    try:
        for path in (run / path for path in paths):
            path.parent.mkdir(exist_ok=True)
            files.expect_writable(path)
            if path.parent.resolve() != path.parent:
                raise NotADirectoryError(f"{path.parent} is a link")
        with disk.faults_named(run):
            yield
    except OSError as error:
        raise InputError(
            run,
            expected="a run's folder that can be written",
            found=str(error),
            cure="mend that, or work on a copy of the run",
        ) from error
