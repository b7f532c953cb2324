"""The explorer in JupyterLab: one widget that carries messages, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anywidget
from traitlets import Unicode

from evalkit import files
from evalkit.explore.redaction import secrets_of
from evalkit.explore.session import Session
from evalkit.markup import escape
from evalkit.parameters import TranscriptsParameters

SCRIPTS = (
    "parts",
    "list",
    "items",
    "pairing",
    "strip",
    "finder",
    "chooser",
    "aside",
    "main",
)
"""In this order they are one module: only the last one exports."""
NEEDS_KERNEL = (
    "The explorer of transcripts needs a kernel: open this notebook in JupyterLab and "
    "run it. For pages that need no program: evalkit show RUN TRIAL --html"
)


def _data(name: str) -> str:
    return files.package_data(f"viewer/{name}").decode()


class Explorer(anywidget.AnyWidget):
    """A session with a browser in front of it.

    Where no browser is, it waits for nobody: it then says how to get pages.

    Args:
        session: What answers.
    """

    _esm = "\n".join(_data(f"{name}.js") for name in SCRIPTS)
    _style = Unicode(
        files.package_data("transcript.css").decode() + _data("viewer.css")
    ).tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, _buffers: Any) -> None:
        self.send(self._session.answer(content))

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        told = {
            "text/plain": NEEDS_KERNEL,
            "text/html": f"<p>{escape(NEEDS_KERNEL)}</p>",
        }
        return {**data, **told}, metadata


def explore(parameters: TranscriptsParameters) -> Explorer:
    """An explorer of the root around the working folder, or of any file.

    Args:
        parameters: What to begin with; the reader chooses what they leave open.
    """
    known = tuple(secrets_of(os.environ))
    return Explorer(Session(Path.cwd(), parameters, known))
