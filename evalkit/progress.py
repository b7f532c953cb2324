"""How far a run is, and what it spent of what it may: a table, and a few lines."""

from __future__ import annotations

from datetime import datetime

from evalkit import wording
from evalkit.markup import Column, Table
from evalkit.standing import Status
from evalkit.wording import count, k_of, listed, seconds, usd


def table(status: Status) -> Table:
    """How far a run is."""
    outcomes = [f"{n} {name}" for name, n in sorted(status.outcomes.items())]
    current = [("Now", listed(status.current))] if status.current else []
    rows = [
        ("State", wording.stamped(status.state, status.stamp)),
        ("Trials with a result", k_of(status.n_done, status.n_planned)),
        *current,
        ("Attempts", count(status.n_attempts)),
        *((what, f"{used}, {capped(cap)}") for what, used, cap in spent(status)),
        *(("Replayed usage", told) for told in _replayed(status)),
        *([("Ends at the latest", status.deadline_at)] if status.deadline_at else []),
        ("Outcomes of attempts", listed(outcomes)),
    ]
    columns = (Column("What"), Column("Found"))
    return Table(f"Run {status.run}", columns, tuple(rows))


def spent(status: Status) -> tuple[tuple[str, str, str | None], ...]:
    """What, how much of it was used, and its cap (None: there is none)."""
    # Calls of which none told what it used are no sign that nothing was; a replay's
    # took nothing, whatever they told.
    n_unreported = 0 if status.replayed else status.n_unreported
    silent = n_unreported > 0 and status.n_tokens == 0
    n_tokens, dollars = (None, None) if silent else (status.n_tokens, status.usd)
    least = "at least " if n_unreported and not silent else ""
    max_tokens = None if status.max_tokens is None else count(status.max_tokens)
    max_usd = None if status.max_usd is None else usd(status.max_usd)
    # What a scripted agent tells of is paid by nobody.
    made = " simulated" if status.simulated and dollars else ""
    return (
        ("Calls", count(status.n_calls), count(status.max_calls)),
        ("Tokens", f"{least}{count(n_tokens)}", max_tokens),
        ("Dollars", f"{least}{usd(dollars)}{made}", max_usd),
    )


def _replayed(status: Status) -> list[str]:
    """What a replay's recorded answers took, where it is one."""
    if (found := status.replayed) is None:
        return []
    return [
        f"{count(found.n_tokens)} tokens, {usd(found.usd)}, paid for by run {found.of}"
    ]


def capped(cap: str | None) -> str:
    """A cap in words."""
    return "no cap" if cap is None else f"at most {cap}"


def lines(status: Status, now: datetime, pace_s: float | None) -> tuple[str, ...]:
    """Lines of a run under way.

    Args:
        status: Where it stands.
        now: The time, with its zone.
        pace_s: Seconds between two trials that ended; None where not known.
    """
    current = f"; now {listed(status.current)}" if status.current else ""
    n_left = status.n_planned - status.n_done
    left = [] if pace_s is None else [f"about {seconds(pace_s * n_left)} at this pace"]
    if status.deadline_at:
        until = (datetime.fromisoformat(status.deadline_at) - now).total_seconds()
        left.append(f"{seconds(max(until, 0.0))} until the deadline")
    used = ", ".join(
        f"{what.lower()} {shown} ({capped(cap)})" for what, shown, cap in spent(status)
    )
    return (
        f"{k_of(status.n_done, status.n_planned)} trials done{current}",
        f"spent: {used}",
        *(f"replayed usage: {told}" for told in _replayed(status)),
        *([f"time left: {', '.join(left)}"] if left and n_left else []),
    )
