"""How a call ended, as far as its process and its model requests say. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit.process import Finished
from evalkit.records import Ended, Exchange, Passage, Request

BY_STATUS = {
    401: Ended.LOGIN_FAILED,
    403: Ended.LOGIN_FAILED,
    404: Ended.MODEL_MISSING,
}
"""What an answer with an error says; every other one is a fault of the provider."""
KILLED = frozenset({-15, -9, -2, 130, 137, 143})
"""Exit codes of a process ended by SIGTERM, SIGKILL or SIGINT, or its sandbox's."""
UNBILLED = frozenset(
    {
        Passage.FAILED,
        Passage.HELD,
        Passage.REFUSED,
        Passage.UNREACHABLE,
        Passage.DEPARTED,
    }
)
TOO_LONG = re.compile(r"too long|too large|context.{0,3}length|maximum context", re.I)
"""What providers say of a request that an agent let grow beyond the model."""
STALLED_SHARE = 0.25
"""Of a call's time: so long without a byte of an answer, or with its requests held
back, no limit of the agent's was reached."""
NAMES = {
    Passage.TRUNCATED: "the provider's answer was cut short",
    Passage.UNREACHABLE: "the provider did not answer",
    Passage.FAILED: "the provider answered with an error",
    Passage.HELD: "a request was held back until it was given up",
}


def stopped_by_us(
    finished: Finished, exchanges: Sequence[Exchange]
) -> tuple[Ended, str] | None:
    """The limit of ours, or the end of a recording, that ended a call, if one did."""
    for one in exchanges:
        if one.passage is Passage.DEPARTED:
            return Ended.DEPARTED, f"request {one.n}: {one.detail}"
    caps = [one.refused_by for one in exchanges if one.refused_by]
    if caps:
        told = f"the trial's registered cap of {caps[0]} was reached"
        return Ended.AGENT_LIMIT, told
    if finished.timed_out:
        stalled = _stalled(finished, exchanges)
        return stalled or (Ended.TIMED_OUT, "the call's time was up")
    return (Ended.AGENT_LIMIT, finished.excess) if finished.excess else None


def unfinished(
    finished: Finished, exchanges: Sequence[Exchange], n_lines: int
) -> tuple[Ended, str]:
    """Why a call ended that said nothing of its end itself.

    Args:
        finished: How its process ended.
        exchanges: Its requests.
        n_lines: It wrote to its standard output.
    """
    code = finished.exit_code
    fault = last_fault(exchanges)
    if code in KILLED:
        return Ended.INTERRUPTED, f"exit {code} before its result"
    if finished.truncated:
        return Ended.AGENT_LIMIT, "its output passed the cap"
    if fault:
        return fault
    if n_lines == 0 and code != 0:
        return Ended.SANDBOX_FAULT, f"it did not start: exit {code}; see agent.stderr"
    return Ended.AGENT_ERROR, f"exit {code} without a result"


def last_fault(exchanges: Sequence[Exchange]) -> tuple[Ended, str] | None:
    """The fault that the last request met, if it met one."""
    last = exchanges[-1] if exchanges else None
    if last is None:
        return None
    if last.passage is Passage.COMPLETE and last.is_priced and not last.request(0):
        return Ended.PROVIDER_FAULT, "the provider's answer was none of its protocol"
    if last.passage not in NAMES:
        return None
    status = last.http_status if last.passage is Passage.FAILED else None
    ended = BY_STATUS.get(status or 0, Ended.PROVIDER_FAULT)
    if status in {400, 413} and TOO_LONG.search(last.detail):
        ended = Ended.AGENT_ERROR
    said = f" {status}" if status else ""
    return ended, f"{NAMES[last.passage]}{said}{f': {last.detail}' * bool(last.detail)}"


def _stalled(
    finished: Finished, exchanges: Sequence[Exchange]
) -> tuple[Ended, str] | None:
    """That a call's time ran out over a provider that was busy, or did not answer."""
    held_s = sum(one.held_ms for one in exchanges) / 1000
    if held_s >= STALLED_SHARE * finished.wall_s:
        told = f"requests were held back for {held_s:.0f} s"
        return Ended.PROVIDER_FAULT, told
    last = exchanges[-1] if exchanges else None
    if last is None or last.passage not in {Passage.CLOSED, Passage.CLIENT_GONE}:
        return None
    waited_s = last.total_ms / 1000
    silent = last.first_byte_ms is None or (last.http_status or 0) >= 400
    if silent and waited_s >= STALLED_SHARE * finished.wall_s:
        told = f"the provider left a request unanswered for {waited_s:.0f} s"
        return Ended.PROVIDER_FAULT, told
    return None


def requests_of(exchanges: Sequence[Exchange]) -> tuple[Request, ...]:
    """Usage of the requests whose usage is known."""
    found = (one.request(0) for one in exchanges)
    return tuple(request for request in found if request is not None)


def count_unknown(exchanges: Sequence[Exchange]) -> int:
    """Requests that may have used tokens that nobody told us of."""
    return sum(
        one.request(0) is None and one.passage not in UNBILLED and one.is_priced
        for one in exchanges
    )


def unknown_usage(exchanges: Sequence[Exchange]) -> str | None:
    """The same in words; None where there is none."""
    n_unknown = count_unknown(exchanges)
    return f"requests of unknown usage: {n_unknown}" if n_unknown else None
