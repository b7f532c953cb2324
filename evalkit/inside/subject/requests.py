"""Requests to a check's services, and the receivers that its services may call.

What speaks HTTP is imported when it is first needed: most gradings never do.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from evalkit.inside.subject.bounds import (
    MAX_WAIT_S,
    TYPE_CHECKING,
    Any,
    Json,
    RefusedError,
    refuse_constant,
)
from evalkit.inside.subject.family import Family
from evalkit.inside.subject.services import Commands

if TYPE_CHECKING:
    from evalkit.inside.subject.exchange import Exchange
    from evalkit.inside.subject.sink import Sink


class Requests:
    """Sends requests to services, keeps sinks, and asks again until it fits.

    Args:
        family: Carries signals to services.
        commands: Knows the services.
    """

    def __init__(self, family: Family, commands: Commands) -> None:
        self._family = family
        self._commands = commands
        self._sinks: dict[int, Sink] = {}
        self.ops: dict[str, Callable[[Json], Any]] = {
            "http": self.http,
            "http_many": self.http_many,
            "sink": self.sink,
            "sink_calls": self.sink_calls,
            "until": self.until,
        }

    def clear(self) -> None:
        """Close all sinks."""
        for sink in self._sinks.values():
            sink.end()
        self._sinks.clear()

    def http(self, question: Json) -> Json:
        """Send one request: the fields of `Reply`."""
        exchange = self._exchange(question)
        exchange.connect()
        return exchange.carry_out()

    def http_many(self, question: Json) -> list[Json]:
        """Connect all, then send all behind one barrier."""
        exchanges = [self._exchange(request) for request in question["requests"]]
        replies: list[Json] = [{} for _ in exchanges]
        barrier = threading.Barrier(len(exchanges) or 1)

        def live(n: int) -> None:
            exchanges[n].connect(again=True)
            barrier.wait()
            replies[n] = exchanges[n].carry_out()

        threads = [
            threading.Thread(target=live, args=(n,), daemon=True)
            for n in range(len(exchanges))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return replies

    def sink(self, question: Json) -> Json:
        """Open a scripted receiver."""
        from evalkit.inside.subject.sink import Sink

        sink = Sink(question["replies"] or [{"status": 200}])
        number = len(self._sinks) + 1
        self._sinks[number] = sink
        return {"sink": number, "url": f"http://127.0.0.1:{sink.server_port}"}

    def sink_calls(self, question: Json) -> list[Json]:
        """What a sink received so far: the fields of `SinkCall`."""
        number = question["sink"]
        if number not in self._sinks:
            raise RefusedError(f"no such sink: {number}")
        with self._sinks[number].lock:
            return list(self._sinks[number].calls)

    def until(self, question: Json) -> Json:
        """Ask for a reply or a sink's calls again, until they fit."""
        polled, test = question["question"], question["test"]
        ask = {"http": self.http, "sink_calls": self.sink_calls}.get(polled.get("op"))
        if ask is None:
            raise RefusedError(f"cannot wait for {polled.get('op')}")
        started = time.monotonic()
        n_polls = 0
        while True:
            last = ask(polled)
            n_polls += 1
            ok = _holds(test, last)
            elapsed_s = time.monotonic() - started
            if ok or elapsed_s >= min(question["within_s"], MAX_WAIT_S):
                break
            time.sleep(max(float(question["every_s"]), 0.001))
        elapsed_s = round(elapsed_s, 6)
        return {"ok": ok, "last": last, "polls": n_polls, "elapsed_s": elapsed_s}

    def _exchange(self, question: Json) -> Exchange:
        from evalkit.inside.subject.exchange import Exchange

        service = self._commands.service(question)

        def signal_service(name: str) -> None:
            self._family.signal(service.pid, name)

        return Exchange(question, service.port, signal_service)


def _holds(test: Json, last: Any) -> bool:
    if isinstance(last, list):
        calls: list[Any] = last
        return len(calls) >= (test.get("calls") or 0)
    if test.get("status") is not None and last["status"] != test["status"]:
        return False
    if "json" not in test:
        return last["status"] is not None
    try:
        body = json.loads(last.get("body", ""), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return False
    return fits(test["json"], body)


def fits(wanted: Any, seen: Any) -> bool:
    """True where `seen` equals `wanted`; objects may hold more keys."""
    if isinstance(wanted, dict):
        parts: Json = wanted
        return isinstance(seen, dict) and all(
            key in seen and fits(value, seen[key]) for key, value in parts.items()
        )
    if isinstance(wanted, list):
        items: list[Any] = wanted
        return (
            isinstance(seen, list)
            and len(items) == len(seen)
            and all(map(fits, items, seen))
        )
    return isinstance(wanted, bool) == isinstance(seen, bool) and bool(wanted == seen)
