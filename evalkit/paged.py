"""Which trials of a run have pages that tell what the agent did, and where they are."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit.conclusions import Analysis
from evalkit.records import TrialKey

TRANSCRIPTS = "transcripts"
INDEX = "index.html"


def pages_folder(run: Path, key: TrialKey, attempt: int | None = None) -> Path:
    """Where the pages of a trial lie; those of an attempt that does not count apart."""
    name = str(key) if attempt is None else f"{key}.attempt-{attempt}"
    return run / TRANSCRIPTS / name


def with_pages(analysis: Analysis, run: Path) -> Analysis:
    """The analysis of a run, with the address of the pages of each analysed trial.

    Args:
        analysis: Of the run.
        run: Its folder, from which addresses are seen.
    """
    keys = [
        TrialKey(row.case, row.arm, point.repeat)
        for row in analysis.case_arms
        for point in row.points
    ]
    pages = {str(key): pages_folder(run, key) / INDEX for key in keys}
    found = {
        key: path.relative_to(run).as_posix()
        for key, path in pages.items()
        if path.is_file()
    }
    return msgspec.structs.replace(analysis, paged=found)
