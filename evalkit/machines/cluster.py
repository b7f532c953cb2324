"""A Dask cluster as its client sees it: who is there, and orders to one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from distributed import Client

from evalkit.errors import EvalkitError, InfrastructureError

RESOURCE = "agent"
"""What a worker says it has for each attempt that it may carry out at once."""
CONNECT_S = 20.0
LOOK_S = 0.5
GATHER_S = 5.0
CLOSE_S = 2.0
T = TypeVar("T")


class Worker(NamedTuple):
    """One worker; its address is its own as long as it is there."""

    address: str
    name: str
    n_places: int

    def __str__(self) -> str:
        return f"worker {self.name} at {self.address}"


class WorkerGoneError(Exception):
    """A worker left before it answered."""


class Cluster:
    """May be used from many threads; whoever waits holds `changed`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._over: EvalkitError | None = None
        self._closed = threading.Event()
        self.changed = threading.Condition()
        self.there: dict[str, Worker] = {}
        """Workers that have a place at all, by address."""

    def ask(self, worker: Worker, function: Callable[..., T], *given: object) -> T:
        """Have one worker, and no other, do something.

        Raises:
            WorkerGoneError: It left.
            EvalkitError: What `end` was told.
            InfrastructureError: It could not be asked.
        """
        future: Any = self._client.submit(
            function,
            *given,
            workers=[worker.address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
        )
        future.add_done_callback(lambda _: self.tell())
        try:
            return self._await(worker, future)
        finally:
            # Of a scheduler that is gone there is none to end.
            with suppress(Exception):
                future.cancel()

    def wait_for(self, found: Callable[[], T | None], timeout_s: float) -> T | None:
        """Wait until something is found, for some time; None where it is not.

        Args:
            found: Gives it, or None; may take it, since it is asked with `changed` held.
            timeout_s: The time.

        Raises:
            EvalkitError: What `end` was told.
        """
        with self.changed:
            got: Any = self.changed.wait_for(lambda: self._over or found(), timeout_s)
            self._raise_if_over()
            return got

    def tell(self) -> None:
        """Have everybody who waits look again."""
        with self.changed:
            self.changed.notify_all()

    def end(self, error: EvalkitError) -> bool:
        """Have everybody who waits, now or later, raise this; False if so already."""
        with self.changed:
            is_first, self._over = self._over is None, self._over or error
            self.changed.notify_all()
        return is_first

    def on_all(self, function: Callable[..., None], *given: object) -> None:
        """Have every worker do something at once, whatever else it does."""
        with suppress(Exception):  # one that is gone does nothing any more
            self._client.run(function, *given, on_error="ignore")

    def look(self) -> None:
        """See who is there."""
        told: Any = self._client.scheduler_info(n_workers=-1)
        found = [
            Worker(address, str(one["name"]), int(one["resources"].get(RESOURCE, 0)))
            for address, one in told["workers"].items()
        ]
        with self.changed:
            self.there = {one.address: one for one in found if one.n_places}
            self.changed.notify_all()

    def watch(self) -> None:
        """See who is there, again and again."""
        while not self._closed.wait(LOOK_S):
            try:
                self.look()
                lost = "" if self._client.status == "running" else "no connection"
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
                lost = f"{type(error).__name__}: {error}"
            if lost:
                self.end(self._lost(lost))
                return

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _await(self, worker: Worker, future: Any) -> Any:
        while True:
            with self.changed:
                self.changed.wait_for(
                    lambda: (
                        self._over or worker.address not in self.there or future.done()
                    )
                )
                self._raise_if_over()
                if worker.address not in self.there:
                    raise WorkerGoneError(f"{worker} is gone")
            try:
                return future.result(timeout=GATHER_S)
            except TimeoutError:
                continue  # its answer is gone with it, or will come
            except CancelledError as error:
                self.end(self._lost("it forgot what it was asked"))
                raise self._lost("it forgot what it was asked") from error
            except Exception as error:
                raise InfrastructureError(
                    f"{worker}: expected that it can be asked, found: "
                    f"{type(error).__name__}: {error}; install the same evalkit there"
                ) from error

    def _raise_if_over(self) -> None:
        if self._over:
            raise type(self._over)(str(self._over))

    def _lost(self, found: str) -> InfrastructureError:
        address = self._client.scheduler.address if self._client.scheduler else ""
        return InfrastructureError(
            f"scheduler {address}: expected that it is there to the end, found: {found}; "
            "what was under way is lost, nothing finished is: start it, then run again"
        )


@contextmanager
def connected(address: str) -> Generator[Cluster]:
    """A cluster, by the address of its scheduler.

    Raises:
        InfrastructureError: There is no scheduler.
    """
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InfrastructureError(
            f"scheduler {address}: expected a Dask scheduler of this version, found: "
            f"{error}; start one with `dask scheduler`, or mend the address"
        ) from error
    cluster = Cluster(client)
    watcher = threading.Thread(target=cluster.watch, daemon=True)
    try:
        cluster.look()
        watcher.start()
        yield cluster
    finally:
        cluster.close()
        watcher.join()
        client.close(timeout=CLOSE_S)
