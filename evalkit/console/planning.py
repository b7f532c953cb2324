"""What a plan will do, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.console.choosing import recall_lines, scored
from evalkit.console.layout import align

if TYPE_CHECKING:
    from evalkit.plan import Outline


def outline_lines(outline: Outline, sealed: str | None) -> list[str]:
    """What a plan will do."""
    arms = [
        (
            arm.arm,
            f"{arm.n_skills} skills at home",
            _bytes_put(arm.n_injected_bytes_least, arm.n_injected_bytes_most),
            arm.library or "no library",
        )
        for arm in outline.arms
    ]
    routes = [
        (
            f"{route.case}/{route.step}",
            f"picks {route.picked or 'none'} ({route.how})"
            f"{', asks a model' if route.asks else ''}",
            f"canonical {', '.join(route.canonical) or 'none'}",
            f"candidates {scored(route.candidates)}",
        )
        for route in outline.routes
    ]
    agent = f"{outline.agent}{' (SIMULATED)' if outline.simulated else ''}"
    return [
        f"corpus {outline.corpus}: {', '.join(outline.cases)}",
        f"agent {agent}, model {outline.model}, isolation {outline.isolation}",
        f"{outline.n_trials} trials = {len(outline.cases)} cases x "
        f"{len(outline.arms)} arms x {outline.repeats} repeats",
        f"{outline.n_planned_calls} planned calls of at most {outline.max_calls}, "
        f"within {outline.deadline_ms / 60_000:.0f} minutes",
        *_cost_lines(outline),
        *_design_lines(outline),
        *_foresight_lines(outline),
        f"order: random blocks ({', '.join(outline.first_blocks)}, ...), arms by a "
        f"Williams square, imbalance {outline.imbalance}",
        "arms:",
        *align(arms),
        *(["routing, before any model:", *align(routes)] if routes else []),
        *(recall_lines(outline.recall) if outline.recall else []),
        f"sealed as {sealed}; next: evalkit run {sealed}"
        if sealed
        else "a draft: nothing was written; add --seal to register it",
    ]


def _design_lines(outline: Outline) -> list[str]:
    lines: list[str] = []
    if outline.gate_rule:
        lines.append(
            f"a gate run: a case is ready where baseline passes at most "
            f"{outline.gate_rule.most_baseline} of {outline.repeats} and injected at "
            f"least {outline.gate_rule.least_injected}"
        )
    if outline.gate:
        stamp = " (SIMULATED, satisfies nothing)" if outline.gate.simulated else ""
        lines.append(
            f"rests on gate run {outline.gate.run}: {outline.gate.verdict}{stamp}"
        )
    return lines


def _foresight_lines(outline: Outline) -> list[str]:
    """What the design can find between two arms, and what more would buy."""
    found = outline.foresight
    rows = [
        (
            name,
            f"{design.n_cases} x {design.repeats}",
            f"{design.sd:.1f}",
            "nothing to say from one trial"
            if design.difference is None
            else f"{design.difference:.2f}"
            if design.difference <= 1
            else "nothing within 0 to 1",
            f"{design.p_least:.2g}",
        )
        for name, designs in (
            ("this design", found.planned),
            ("others", found.others),
            ("cases like these", found.beyond),
        )
        for design in designs
    ]
    return [
        f"declared: {outline.outcome}, margin {outline.margin}, "
        f"{', '.join(outline.confirmatory) or 'no comparison'}; others are exploratory",
        f"one comparison by itself finds, in {found.power:.0%} of runs, by spread of trials:",
        *align([("", "cases x repeats", "spread", "difference", "least p"), *rows]),
        *([] if found.beyond else ["  cases like these: nothing, with so few cases"]),
    ]


def _cost_lines(outline: Outline) -> list[str]:
    """Who is paid, and how much that may be, before anything is."""
    found = outline.estimate
    if found is None:
        return ["it calls no model: nothing is paid"]
    tokens = f"{found.n_tokens_least:,} to {found.n_tokens_most:,} tokens"
    dollars = "dollars not known: the model has no price here"
    if found.usd_least is not None and found.usd_most is not None:
        dollars = f"${found.usd_least:,.2f} to ${found.usd_most:,.2f}"
    return [
        f"provider {outline.provider}, access {outline.access}",
        f"may cost {dollars}, {tokens} ({found.basis}); cap it with --max-usd",
    ]


def _bytes_put(least: int, most: int) -> str:
    if most == 0:
        return "nothing put into prompts"
    return f"{least:,} to {most:,} bytes put into prompts"
