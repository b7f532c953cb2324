"""Works on the jobs of a file."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vanbook import courier
from vanbook.courier import Busy, CourierError, Unreached
from vanbook.transport import TransportError

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
    pauses = list(PAUSES_S)
    while job["state"] == "queued":
        job["attempts"] += 1
        try:
            job.update(state="booked", booking=courier.book(job, transport))
        except (Busy, Unreached) as error:
            if pauses:
                sleep(pauses.pop(0))
            else:
                fail(job, error.__cause__ or error)
        except (CourierError, TransportError) as error:
            fail(job, error)


def fail(job: Job, error: BaseException) -> None:
    """Give a job up."""
    job.update(state="failed", error=f"{type(error).__name__}: {error}")


def save(path: str | Path, jobs: list[Job]) -> None:
    """Replace the file as a whole."""
    partial = Path(f"{path}.part")
    partial.write_text(json.dumps(jobs, indent=1), "utf-8")
    os.replace(partial, path)
