"""Trials on other machines: workers of a Dask cluster, each with places for attempts.

The runner stays the only writer: an attempt's evidence comes back whole, is checked,
made durable, and journaled here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from evalkit import files
from evalkit.crew import Hire
from evalkit.errors import (
    AttemptLostError,
    DriftError,
    EvalkitError,
    InfrastructureError,
    InputError,
    StoppedEarlyError,
)
from evalkit.evidence import Evidence
from evalkit.gateway import notes
from evalkit.gateway.recording import FOLDER as RECORDINGS
from evalkit.inputs import Inputs
from evalkit.machines import bundle, place
from evalkit.machines.cluster import (
    RESOURCE,
    Cluster,
    Worker,
    WorkerGoneError,
    connected,
)
from evalkit.machines.terms import (
    Answers,
    Carried,
    Fault,
    Missing,
    Order,
    Ready,
    Refused,
    encode,
    read_answer,
)
from evalkit.records import Registration, TrialResult, TrialSpec
from evalkit.trial import conclude

JOIN_S = 60.0
"""For a worker to come where none has a place left."""
RAISED: dict[Fault, type[EvalkitError]] = {
    Fault.DRIFT: DriftError,
    Fault.STOPPED: AttemptLostError,
}


def at(scheduler: str) -> Hire:
    """Hires the workers of a cluster, by its scheduler's address.

    Hiring raises InfrastructureError where there is no scheduler or no worker,
    DriftError where a worker differs from what is registered, and InputError for a
    replay, which needs what lies here alone.
    """

    @contextmanager
    def hire(
        folder: Path, registration: Registration, inputs: Inputs, n_workers: int
    ) -> Generator[Fleet]:
        if registration.replay is not None:
            raise InputError(
                "--scheduler",
                expected="a run whose model answers by itself",
                found="a replay, whose recordings are here alone",
                cure="run it without --scheduler",
            )
        packed = bundle.pack(registration, inputs)
        with connected(scheduler) as cluster:
            fleet = Fleet(cluster, folder, packed, inputs, n_workers)
            fleet.make_ready()
            yield fleet

    return hire


class Fleet:
    """A crew of workers.

    Args:
        cluster: Where they are.
        folder: The run's.
        packed: Bytes of the bundle that they need.
        inputs: Of the run.
        n_workers: Attempts at once; 0 is as many as there are places now.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        packed: bytes,
        inputs: Inputs,
        n_workers: int,
    ) -> None:
        self._cluster = cluster
        self._folder = folder
        self._packed = packed
        self._digest = files.sha256(packed)
        self._ids: dict[str, str] = {}
        self._refused: set[str] = set()
        self._limit = inputs.plan.max_requests_at_once
        wanted = n_workers or max(self._n_places(), 1)
        self.n_workers = min(wanted, self._limit or wanted)
        self._n_busy: Counter[str] = Counter()
        self._writing = threading.Lock()
        self._notes = folder / notes.FILE
        if self._notes.exists():
            notes.cut_half_line(self._notes)

    def make_ready(self) -> None:
        """See that everybody who is there can carry out an attempt.

        Raises:
            DriftError: A worker differs from what is registered; all are named.
            InfrastructureError: One has no credential, or no sandbox; or none is there.
        """
        workers = [*self._cluster.there.values()]
        if not workers:
            raise InfrastructureError(
                f"scheduler: expected workers with the resource {RESOURCE}, found none; "
                f'start some with `dask worker ADDRESS --resources "{RESOURCE}=1"`'
            )
        with ThreadPoolExecutor(len(workers)) as pool:
            found = [error for error in pool.map(self._fault_of, workers) if error]
        for kind in (DriftError, InfrastructureError):
            if told := [str(error) for error in found if isinstance(error, kind)]:
                raise kind("\n".join(told))

    def room(self) -> int:
        """Attempts at once now: fewer where workers have gone."""
        return max(1, min(self.n_workers, self._n_places()))

    def carry(self, spec: TrialSpec, inputs: Inputs) -> TrialResult:
        """Carry out an attempt on a worker that has a place.

        Raises:
            AttemptLostError: The worker left, or was none to be used.
            DriftError: Something there is no more as registered.
            InfrastructureError: No worker is left, or a fault of the worker's machine.
        """
        worker = self._take()
        try:
            carried = self._carry_at(worker, spec)
        except WorkerGoneError as error:
            self._ids.pop(worker.address, None)
            raise AttemptLostError(str(error)) from error
        finally:
            self._give_back(worker)
        self._keep(spec, carried, worker)
        return conclude(Evidence(self._folder, spec.key, spec.attempt), inputs)

    def end_all(self) -> None:
        """End all that is under way there."""
        if self._cluster.end(StoppedEarlyError("ended on request")):
            self._cluster.on_all(place.stop, self._folder.name)

    def _carry_at(self, worker: Worker, spec: TrialSpec) -> Carried:
        if worker.address not in self._ids and (error := self._fault_of(worker)):
            if not isinstance(error, AttemptLostError):
                self._refused.add(worker.address)
            raise AttemptLostError(str(error)) from error
        share = self._limit and max(1, self._limit // self.n_workers)
        order = encode(Order(self._digest, self._folder.name, spec, share))
        told = self._ask(worker, place.carry, order, self._ids[worker.address])
        if isinstance(told, Refused):
            self._ids.pop(worker.address, None)
            _refuse(worker, told)
        assert isinstance(told, Carried)
        return told

    def _fault_of(self, worker: Worker) -> EvalkitError | None:
        """Why a worker cannot be used, if it cannot."""
        try:
            told = self._ask(worker, place.examine, self._digest)
            if isinstance(told, Refused):
                _refuse(worker, told)
        except WorkerGoneError as error:
            return AttemptLostError(str(error))
        except EvalkitError as error:
            return error
        assert isinstance(told, Ready)
        self._ids[worker.address] = told.worker
        return None

    def _ask(
        self, worker: Worker, function: Callable[..., bytes], *given: object
    ) -> Answers:
        """Ask a worker, who is given the bundle first where it has none."""
        told = read_answer(self._cluster.ask(worker, function, *given))
        if isinstance(told, Missing):
            self._cluster.ask(worker, place.install, self._packed)
            told = read_answer(self._cluster.ask(worker, function, *given))
        return told

    def _take(self) -> Worker:
        """A place for an attempt, from now on taken."""
        found = self._cluster.wait_for(self._take_free, JOIN_S)
        if found is None:
            raise InfrastructureError(
                f"workers: expected one with a place within {JOIN_S:.0f} s, found none: "
                "all have gone, or differ; start some, then run again"
            )
        return found

    def _take_free(self) -> Worker | None:
        for worker in self._usable():
            if self._n_busy[worker.address] < worker.n_places:
                self._n_busy[worker.address] += 1
                return worker
        return None

    def _give_back(self, worker: Worker) -> None:
        with self._cluster.changed:
            self._n_busy[worker.address] -= 1
            self._cluster.changed.notify_all()

    def _usable(self) -> list[Worker]:
        there = self._cluster.there.values()
        return [one for one in there if one.address not in self._refused]

    def _n_places(self) -> int:
        return sum(worker.n_places for worker in self._usable())

    def _keep(self, spec: TrialSpec, carried: Carried, worker: Worker) -> None:
        """Make durable what came, the evidence last."""
        if files.sha256(carried.evidence) != carried.digest:
            raise AttemptLostError(f"{worker}: what came is not what it sent")
        if carried.notes:
            with self._writing, self._notes.open("ab") as opened:
                opened.write(carried.notes)
        if carried.recordings:
            files.unpack(carried.recordings, self._folder / RECORDINGS)
        Evidence(self._folder, spec.key, spec.attempt).receive(carried.evidence)


def _refuse(worker: Worker, told: Refused) -> NoReturn:
    kind = RAISED.get(told.fault, InfrastructureError)
    raise kind(f"{worker} refuses: {told.said}")
