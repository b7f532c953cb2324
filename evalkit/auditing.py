"""Publish what an auditor reads of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from evalkit.audit import Audit, record
from evalkit.dossier import AUDIT
from evalkit.jupyter import nbformat
from evalkit.parameters import AuditParameters, find_root
from evalkit.publish import publish


class PublishedAudit(NamedTuple):
    """The page of an audit, and all that it found."""

    page: Path
    found: Audit


def publish_audit(
    run: Path,
    root: Path,
    *,
    isolation: str | None = None,
    allow_unsandboxed: bool = False,
    n_workers: int = 1,
) -> PublishedAudit:
    """Audit a run and all it rests on; write the executed notebook and its page.

    Args:
        run: Folder of a run, finished or not.
        root: Root with the cases and graders that were registered.
        isolation: Level at which subjects are questioned; None is as registered.
        allow_unsandboxed: Consent to level `none`.
        n_workers: How many attempts are examined at once.

    Returns:
        The page, `audit.html` in the run's folder, and what it tells.

    Raises:
        InputError: There is no registration or no root, or the run's folder cannot be
            written.
        NotebookError: A cell failed; so does one at `none` without consent.
        UnsafePageError: The page would run or load something.
    """
    record.read_registration(run)
    run, root = run.resolve(), find_root(root)
    chosen = AuditParameters(
        os.path.relpath(run, root), n_workers, isolation or "", allow_unsandboxed
    )
    title = f"Would I believe it? {run.name}"
    notebook, page = publish(chosen, run, cwd=root, title=title)
    return PublishedAudit(page, _told(notebook))


def _told(notebook: Path) -> Audit:
    """What an executed audit tells programs."""
    cells = nbformat.read(notebook, as_version=4).cells
    shown = (output.get("data", {}) for c in cells for output in c.get("outputs", ()))
    return next(msgspec.convert(data[AUDIT], Audit) for data in shown if AUDIT in data)
