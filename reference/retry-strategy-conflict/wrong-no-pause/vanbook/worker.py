"""Works on the jobs of a file."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vanbook import courier
from vanbook.courier import Busy, CourierError
from vanbook.transport import ConnectionFailed, Timeout, TransportError

PAUSES_S = (1, 2, 4)

Job = dict[str, Any]
Sleep = Callable[[float], object]


def run(path: str | Path, transport: Any, sleep: Sleep = time.sleep) -> None:
    """Work on every queued job of a file, in order."""
    jobs = json.loads(Path(path).read_text("utf-8"))
    for job in jobs:
        if job["state"] == "queued":
            work(job, transport, sleep)
            save(path, jobs)


def work(job: Job, transport: Any, sleep: Sleep) -> None:
    """Bring one job to its end."""
    try:
        job["booking"] = book(job, transport, sleep)
        job["state"] = "booked"
    except (CourierError, TransportError) as error:
        job["state"] = "failed"
        job["error"] = f"{type(error).__name__}: {error}"


def book(job: Job, transport: Any, sleep: Sleep) -> str:
    """Book with as many attempts as it takes, or as there are."""
    for pause in PAUSES_S:
        job["attempts"] += 1
        try:
            return courier.book(job, transport)
        except Timeout:
            raise
        except Busy:
            sleep(pause)
        except ConnectionFailed:
            pass
    job["attempts"] += 1
    return courier.book(job, transport)


def save(path: str | Path, jobs: list[Job]) -> None:
    """Replace the file as a whole."""
    partial = Path(f"{path}.part")
    partial.write_text(json.dumps(jobs, indent=1), "utf-8")
    os.replace(partial, path)
