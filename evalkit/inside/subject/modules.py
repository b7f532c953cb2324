"""A child that runs a module, as a service.

Most of those serve HTTP: what that takes is loaded once, before the first of them.
"""

from __future__ import annotations

import http.server  # noqa: F401 # pyright: ignore[reportUnusedImport]
import io
import runpy
import sys
import threading
from typing import cast

from evalkit.inside.subject.bounds import Json
from evalkit.inside.subject.calls import become_fresh


def run_module(job: Json) -> int:
    """Do as `python -m MODULE` does, in this process."""
    _, _, module, *rest = job["argv"]
    become_fresh(job["cwd"], [module, *rest])
    cast(io.TextIOWrapper, sys.stdout).reconfigure(line_buffering=True)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        while others := [
            thread
            for thread in threading.enumerate()
            if thread is not threading.current_thread() and not thread.daemon
        ]:
            others[0].join()
    return 0
