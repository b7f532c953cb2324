"""What adapters share: an installed CLI's seal, an environment, a reading, a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evalkit import usage
from evalkit.agents import faults, reach
from evalkit.agents.installed import Installed
from evalkit.agents.protocol import Reading, Vendor
from evalkit.errors import InputError
from evalkit.outcomes import TASK
from evalkit.process import Finished
from evalkit.records import AgentSeal, Call, Ended, Exchange, Plan, Request
from evalkit.sandbox import Mount

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
MAX_DETAIL = 200
"""Characters kept of what an agent said of its own failure."""
_TEMPORARY = "tmp"


class InstalledAgent:
    """What adapters of a CLI that is installed here have alike.

    Args:
        plan: Names model, effort and access.
        found: Its executable.
    """

    name: ClassVar[str]
    vendor: ClassVar[Vendor]

    def __init__(self, plan: Plan, found: Installed) -> None:
        self._plan = plan
        self._found = found
        self.watched = (found.path,)
        self.simulated = reach.stands_in(plan, self.vendor)

    def seal(self) -> AgentSeal:
        """What is registered of it."""
        return AgentSeal(
            name=self.name,
            version=self._found.version,
            sha256=self._found.sha256,
            executable=self._found.path.name,
            simulated=self.simulated,
            provider=reach.provider_url(self._plan, self.vendor),
            access=self._plan.access,
        )


def environment(home: Mount, *, path: str = SYSTEM_PATH) -> dict[str, str]:
    """What every agent finds in its environment; makes its temporary folder."""
    (home.host / _TEMPORARY).mkdir(exist_ok=True)
    return {
        "PATH": path,
        "HOME": home.seen,
        "TMPDIR": f"{home.seen}/{_TEMPORARY}",
        "LANG": "C.UTF-8",
    }


def reading(
    how: tuple[Ended, str],
    finished: Finished,
    exchanges: Sequence[Exchange],
    *,
    model: str | None,
    witnesses: Sequence[Sequence[Request]] = (),
    agent_reported_usd: float | None = None,
    invoked: tuple[str, ...] = (),
    read: tuple[str, ...] = (),
) -> Reading:
    """What a call comes to: the gateway's rows are believed before other witnesses.

    Args:
        how: How it ended, and in words why.
        finished: How its process ended.
        exchanges: Its requests as the gateway saw them.
        model: The one that answered.
        witnesses: The agent's own accounts of its usage, the best one first.
        agent_reported_usd: What it says it cost.
        invoked: Skills it invoked.
        read: Skills whose text it opened.
    """
    ended, detail = how
    settled = usage.settle([faults.requests_of(exchanges), *witnesses])
    notes = filter(None, (settled.disagreement, faults.unknown_usage(exchanges)))
    return Reading(
        call=Call(
            purpose=TASK,
            ended=ended,
            exit_code=finished.exit_code,
            wall_s=finished.wall_s,
            cpu_s=finished.cpu_s,
            detail=detail,
            model=model,
            agent_reported_usd=agent_reported_usd,
        ),
        requests=settled.requests,
        disagreement="; ".join(notes) or None,
        invoked=invoked,
        read=read,
    )


def expect_effort(plan: Plan, taken: Sequence[str]) -> None:
    """Refuse an effort that an agent does not take.

    Raises:
        InputError: It takes others, or none.
    """
    if plan.effort is not None and plan.effort not in taken:
        raise InputError(
            "effort",
            expected=f"one that {plan.agent} takes: {', '.join(taken) or 'none'}",
            found=repr(plan.effort),
            cure="name one of these, or leave it out",
        )
