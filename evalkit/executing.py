"""Execute any notebook in a kernel of its own; what ran is kept, whatever happens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from ipykernel.kernelspec import RESOURCES
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets.config import Config

from evalkit import errors, files
from evalkit.errors import EvalkitError, InputError, NotebookError
from evalkit.jupyter import (
    DeadKernelError,
    PapermillExecutionError,
    nbformat,
    papermill,
)
from evalkit.parameters import KINDS, Parameters, check_parameters
from evalkit.saving import ENGINE, save_whole

_BANNER = "evalkit-died"


class OwnKernel(AsyncKernelManager):
    """Starts the kernel of this very interpreter, whatever else is installed."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(kernel_spec_manager=_OwnSpecs(), **traits)


class _OwnSpecs(KernelSpecManager):
    def _kernel_dirs_default(self) -> list[str]:
        return []

    def find_kernel_specs(self) -> dict[str, str]:
        return {"python3": RESOURCES}


def execute(parameters: Parameters, *, folder: Path, cwd: Path) -> Path:
    """Execute the notebook that these parameters belong to, in its own kernel.

    Args:
        parameters: Of the notebook; their type says which one.
        folder: Where the executed notebook is written, as `<name>.ipynb`.
        cwd: Working folder of the kernel.

    Returns:
        The executed notebook.

    Raises:
        InputError: A parameter is of a wrong type; nothing was written.
        NotebookError: A cell failed or the kernel died; the notebook is kept as
            far as it came, and says so at its top.
    """
    name = name_of(parameters)
    values = msgspec.structs.asdict(parameters)
    check_parameters(type(parameters), values)
    folder.mkdir(parents=True, exist_ok=True)
    return _execute(source_of(name), folder / f"{name}.ipynb", values, cwd)


def name_of(parameters: Parameters) -> str:
    """The notebook that these parameters belong to."""
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


def _execute(source: Path, output: Path, values: dict[str, Any], cwd: Path) -> Path:
    save_whole(output.resolve())
    # Sockets have short paths at most, so they lie in a folder of their own.
    with files.private_folder() as private:
        wiring = {"transport": "ipc", "connection_file": str(private / "k.json")}
        try:
            papermill.execute_notebook(
                source.resolve(),
                output.resolve(),
                parameters=values,
                engine_name=ENGINE,
                kernel_name="python3",
                progress_bar=False,
                cwd=cwd,
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
