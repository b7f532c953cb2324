"""The way from a call to its model, and what is known of it afterwards.

Through the gateway, which holds the credential and counts; directly, with the
credential in the agent's hands; or not at all, for an agent that calls no model.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from evalkit import prices, sandbox
from evalkit.agents import Agent, Command, Credential, Endpoint, reach
from evalkit.gateway import (
    INSIDE_PORT,
    INSIDE_URL,
    Caps,
    Gateway,
    Header,
    Provider,
    Trial,
)
from evalkit.records import Access, Exchange, Network, Plan
from evalkit.sandbox import Mount
from evalkit.tapes import Tapes

FORWARD = Path(__file__).parent / "inside" / "forward.py"
FORWARD_SEEN = "/opt/way/forward.py"
SOCKET_SEEN = "/run/gateway.sock"


class Way(NamedTuple):
    """What a call is given to reach its model; None and nothing where it has none."""

    endpoint: Endpoint | None = None
    network: Network = Network.NONE
    socket: Path | None = None

    def lead(self, command: Command) -> Command:
        """The command, so that it finds its model and nothing else."""
        if self.socket is None:
            return msgspec.structs.replace(command, network=self.network)
        forward = (sandbox.python(), "-I", "-S", "-B", FORWARD_SEEN)
        mounts = Mount(FORWARD, FORWARD_SEEN), Mount(self.socket, SOCKET_SEEN)
        return msgspec.structs.replace(
            command,
            argv=(*forward, SOCKET_SEEN, str(INSIDE_PORT), *command.argv),
            binds=(*command.binds, *mounts),
            network=self.network,
        )


class Ledger(Protocol):
    """Opens ways; may be used from many threads."""

    def open(self, name: str, trial: str, marks: Mapping[str, str]) -> Way:
        """A way for one call.

        Args:
            name: Path of the call's evidence in the run's folder.
            trial: All calls of one attempt, which share its caps.
            marks: Texts to look for in requests, by what they show.
        """
        ...

    def close(self, way: Way) -> tuple[Exchange, ...]:
        """Close it; its requests, where anybody saw them."""
        ...


class NoModel:
    """For an agent that calls none."""

    def open(self, name: str, trial: str, marks: Mapping[str, str]) -> Way:  # noqa: ARG002
        """No way."""
        return Way()

    def close(self, way: Way) -> tuple[Exchange, ...]:  # noqa: ARG002
        """Nothing was asked."""
        return ()


class Direct:
    """To the vendor, with the credential: nobody but the agent sees what is asked."""

    def __init__(self, url: str, credential: Credential) -> None:
        self._endpoint = Endpoint(url, credential)

    def open(self, name: str, trial: str, marks: Mapping[str, str]) -> Way:  # noqa: ARG002
        """The vendor's own address, over the machine's network."""
        return Way(self._endpoint, Network.OPEN)

    def close(self, way: Way) -> tuple[Exchange, ...]:  # noqa: ARG002
        """Nobody saw anything."""
        return ()


class Through:
    """Through a running gateway, by a socket into the sandbox where there is one.

    In a replay the gateway is given what was recorded of each call.
    """

    def __init__(
        self,
        gateway: Gateway,
        caps: Caps,
        *,
        sandboxed: bool,
        tapes: Tapes | None = None,
    ) -> None:
        self._gateway = gateway
        self._caps = caps
        self._sandboxed = sandboxed
        self._tapes = tapes

    def open(self, name: str, trial: str, marks: Mapping[str, str]) -> Way:
        """A token of its own, and the gateway's address."""
        taped = self._tapes.call(name) if self._tapes else None
        opened = self._gateway.open(Trial(name, trial, self._caps, dict(marks)), taped)
        token = Credential(opened.token, Header.API_KEY.value)
        if not self._sandboxed:
            return Way(Endpoint(opened.url, token), Network.OPEN)
        return Way(Endpoint(INSIDE_URL, token), Network.MODEL_ONLY, opened.socket)

    def close(self, way: Way) -> tuple[Exchange, ...]:
        """End what is under way; all it asked."""
        assert way.endpoint is not None
        return self._gateway.close(way.endpoint.credential.value)


@contextmanager
def open_ledger(
    plan: Plan,
    agent: Agent,
    run: Path,
    *,
    sandboxed: bool,
    tapes: Tapes | None = None,
    at_once: int | None = None,
) -> Generator[Ledger]:
    """The ledger of a run, with the credential from our environment.

    Args:
        plan: Names model, access and limits.
        agent: Who makes the calls.
        run: The run's folder.
        sandboxed: Whether calls are made in a sandbox.
        tapes: What answers in a replay, which needs no credential.
        at_once: Model requests under way at most, where that is less than the plan's.

    Raises:
        InfrastructureError: There is no credential, or the gateway does not start.
    """
    vendor = agent.vendor
    if vendor is None:
        yield NoModel()
        return
    url = reach.provider_url(plan, vendor)
    credential = reach.unused(vendor) if tapes else reach.find_credential(plan, vendor)
    if plan.access is Access.DIRECT:
        yield Direct(url, credential)
        return
    header = Header(credential.header)
    limits = plan.limits
    with Gateway(
        run,
        Provider(vendor.dialect, url, credential.value, header),
        (plan.model,),
        record=plan.record,
        varies=tapes.rules if tapes else None,
        rates=prices.rates(),
        accounting=plan.accounting,
        at_once=at_once or plan.max_requests_at_once,
        retry_wait_ms=limits.retry_wait_ms,
    ) as gateway:
        caps = Caps(limits.max_requests, limits.max_tokens, limits.max_usd)
        yield Through(gateway, caps, sandboxed=sandboxed, tapes=tapes)
