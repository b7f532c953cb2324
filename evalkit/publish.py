"""Execute any notebook, export it; the report of a run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import papermill
from ipykernel.kernelspec import RESOURCES
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from evalkit import console, errors, files
from evalkit.errors import EvalkitError, InputError, NotebookError
from evalkit.export import export
from evalkit.files import disk
from evalkit.loading import load
from evalkit.parameters import (
    KINDS,
    Parameters,
    ReportParameters,
    check_parameters,
)
from evalkit.registration import load_registration
from evalkit.standing import JOURNAL

AUTOSAVE_S = 10
_BANNER = "evalkit-died"
_ENDED = b'"type":"attempt-ended"'


class OwnKernel(AsyncKernelManager):
    """Starts the kernel of this very interpreter, whatever else is installed."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(kernel_spec_manager=_OwnSpecs(), **traits)


class _OwnSpecs(KernelSpecManager):
    def _kernel_dirs_default(self) -> list[str]:
        return []

    def find_kernel_specs(self) -> dict[str, str]:
        return {"python3": RESOURCES}


def execute(
    parameters: Parameters, *, folder: Path, cwd: Path, watch: Path | None = None
) -> Path:
    """Execute the notebook that these parameters belong to, in its own kernel.

    Args:
        parameters: Of the notebook; their type says which one.
        folder: Where the executed notebook is written, as `<name>.ipynb`.
        cwd: Working folder of the kernel.
        watch: Run whose trials the terminal's bar counts.

    Returns:
        The executed notebook.

    Raises:
        InputError: A parameter is of a wrong type; nothing was written.
        NotebookError: A cell failed or the kernel died; the notebook is kept as
            far as it came, and says so at its top.
    """
    name = _name_of(parameters)
    values = msgspec.structs.asdict(parameters)
    check_parameters(type(parameters), values)
    folder.mkdir(parents=True, exist_ok=True)
    return _execute(source_of(name), folder / f"{name}.ipynb", values, cwd, watch)


def _name_of(parameters: Parameters) -> str:
    return next(name for name, kind in KINDS.items() if type(parameters) is kind)


def source_of(name: str) -> Path:
    """The stored notebook of a name: beside the package, else as installed.

    Raises:
        InputError: There is none.
    """
    beside = Path(__file__).parent.parent / "notebooks"
    installed = Path(sys.prefix, "share", "evalkit", "notebooks")
    for place in (beside, installed):
        if (place / f"{name}.ipynb").is_file():
            return place / f"{name}.ipynb"
    raise InputError(
        f"notebook {name!r}",
        expected=f"{name}.ipynb in {beside} or {installed}",
        found="none",
        cure="install evalkit again",
    )


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
    name = _name_of(parameters)
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


def _execute(
    source: Path, output: Path, values: dict[str, Any], cwd: Path, watch: Path | None
) -> Path:
    # Sockets have short paths at most, so they lie in a folder of their own.
    with files.private_folder() as private, _bar(watch):
        wiring = {"transport": "ipc", "connection_file": str(private / "k.json")}
        try:
            papermill.execute_notebook(
                source.resolve(),
                output.resolve(),
                parameters=values,
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                cwd=cwd,
                autosave_cell_every=AUTOSAVE_S,
                kernel_manager_class=OwnKernel,
                config=Config(KernelManager=wiring),
            )
        except PapermillExecutionError as error:
            raise _failed(output, error) from error
        except DeadKernelError as error:
            where = _mark_dead(output)
            raise NotebookError(
                f"{output}: the kernel died in {where}; the notebook is kept as far "
                f"as it came, and nothing that was journalled is lost: execute it again"
            ) from error
    return output


def _failed(output: Path, error: PapermillExecutionError) -> NotebookError:
    """The error of a failed cell, with the exit code of what it raised."""
    kind = getattr(errors, error.ename, None)
    where = _cell_name(error.cell_index, error.source)
    raised = NotebookError(
        f"{output}: {where} failed: {error.ename}: {error.evalue}; the notebook is "
        f"kept with everything up to there"
    )
    if isinstance(kind, type) and issubclass(kind, EvalkitError):
        raised.exit_code = kind.exit_code
    return raised


def _mark_dead(output: Path) -> str:
    """Put a banner over a notebook whose kernel died; returns the cell's name.

    papermill calls the cell completed; it is the last one that began.
    """
    nb = nbformat.read(output, as_version=4)
    begun = [
        n
        for n, cell in enumerate(nb.cells)
        if cell.cell_type == "code"
        and cell.metadata.get("papermill", {}).get("start_time")
    ]
    last = begun[-1] if begun else 0
    where = _cell_name(last, nb.cells[last].source)
    text = (
        f"**The kernel died in {where}.** What stands below came before. The journal "
        f"is whole: execute this notebook again and it goes on from there."
    )
    banner = nbformat.v4.new_markdown_cell(text, metadata={"tags": [_BANNER]})
    nb.cells.insert(0, banner)
    files.write_atomic(output, nbformat.writes(nb).encode())
    return where


def _cell_name(index: int, source: str) -> str:
    lines = [line for line in source.splitlines() if line.strip()]
    return f"cell {index + 1} (`{lines[0] if lines else ''}`)"


@contextmanager
def _bar(run: Path | None) -> Generator[None]:
    """A bar on stderr that counts a run's ended attempts from its journal."""
    if run is None:
        yield
        return
    total = len(load_registration(run).schedule)
    over = threading.Event()
    with console.bar("trials") as told:
        counter = threading.Thread(
            target=_count, args=(run / JOURNAL, total, told, over)
        )
        counter.start()
        try:
            yield
        finally:
            over.set()
            counter.join()


def _count(
    journal: Path, total: int, told: Callable[[int, int], None], over: threading.Event
) -> None:
    while not over.wait(0.5):
        if journal.is_file():
            told(journal.read_bytes().count(_ENDED), total)
