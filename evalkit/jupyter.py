"""What a report takes of Jupyter, imported at half the price.

jsonschema, by which nbformat checks notebooks, builds a parser of international
addresses (RFC 3987) as soon as it is imported, wherever that optional package is
installed, which JupyterLab sees to: 0.8 s of CPU, for a format that no notebook's
schema names. Here it is imported without; a program that has imported it before keeps
what it has.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def _as_if_missing(package: str) -> Generator[None]:
    """None in `sys.modules` is what an import takes for a missing package."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        del sys.modules[package]


with _as_if_missing("rfc3987_syntax"):
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError
    from nbconvert.exporters import HTMLExporter
    from nbconvert.filters import markdown2html
    from nbconvert.preprocessors import Preprocessor
    from papermill.engines import (
        NBClientEngine,
        NotebookExecutionManager,
        papermill_engines,
    )
    from papermill.exceptions import PapermillExecutionError
    from papermill.iorw import LocalHandler, papermill_io

__all__ = [
    "DeadKernelError",
    "HTMLExporter",
    "LocalHandler",
    "NBClientEngine",
    "NotebookExecutionManager",
    "PapermillExecutionError",
    "Preprocessor",
    "markdown2html",
    "nbformat",
    "papermill",
    "papermill_engines",
    "papermill_io",
]
