"""What a plan chooses, completed by its design and the corpus' preset, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evalkit import arms, files, prices, usage
from evalkit.errors import InputError, expect_subset
from evalkit.records import (
    Arm,
    Corpus,
    GateRule,
    Layout,
    Plan,
    Record,
    Wording,
)

REPEATS = {Layout.PASS3: (3,), Layout.GATE: (2, 3)}
"""Trials of a case in each arm that a design allows; the first where none is named."""
GATE_RULE = GateRule(most_baseline=1, least_injected=2)
"""Of a gate run that names none, with two trials a side and with three."""


class ArmsFile(Record, frozen=True):
    """`cases/arms.toml`, read: the arms by name, and the lean profile."""

    arms: dict[str, Arm]
    lean: tuple[str, ...]


def with_presets(plan: Plan, found: Corpus, named: Mapping[str, Arm]) -> Plan:
    """The plan with what it left open taken from its design, or the corpus' preset.

    Raises:
        InputError: Its repeats or its rule do not go with its design.
    """
    if plan.design is Layout.BLOCKS:
        repeats = found.preset.repeats if plan.repeats is None else plan.repeats
    else:
        allowed = REPEATS[plan.design]
        repeats = allowed[0] if plan.repeats is None else plan.repeats
        if repeats not in allowed:
            raise InputError(
                "plan repeats",
                expected=f"{' or '.join(map(str, allowed))} with the design "
                f"{plan.design}",
                found=str(repeats),
                cure="leave --repeats away, or plan another --design",
            )
    chosen = plan.arms or found.preset.arms
    if plan.design is Layout.GATE and not plan.arms:
        chosen = tuple(name for name in chosen if not _is_placebo(named.get(name)))
    return msgspec.structs.replace(
        plan,
        arms=chosen,
        repeats=repeats,
        gate_rule=_gate_rule(plan, repeats),
        confirmatory=_confirmatory(plan, chosen),
    )


def _confirmatory(plan: Plan, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The comparisons that count: those named, else all against the first comparator."""
    pairs = arms.comparisons(chosen, plan.comparators)
    if plan.confirmatory is None:
        return tuple(arms.comparison(*pair) for pair in pairs if pair[1] == pairs[0][1])
    known = {arms.comparison(*pair) for pair in pairs}
    expect_subset("plan confirmatory", "comparisons", {*plan.confirmatory}, known)
    return plan.confirmatory


def _is_placebo(arm: Arm | None) -> bool:
    return arm is not None and arm.shadow is not None


def _gate_rule(plan: Plan, repeats: int) -> GateRule | None:
    if plan.design is not Layout.GATE:
        if plan.gate_rule is not None:
            raise InputError(
                "plan gate_rule",
                expected="no rule with a design that is no gate run",
                found=f"a rule, design {plan.design}",
                cure="leave it away, or plan --design gate",
            )
        return None
    rule = plan.gate_rule or GATE_RULE
    if not rule.most_baseline < rule.least_injected <= repeats:
        raise InputError(
            "plan gate_rule",
            expected=f"fewer passes of the baseline than of the injected arm, which has "
            f"{repeats}",
            found=f"baseline at most {rule.most_baseline}, injected at least "
            f"{rule.least_injected}",
            cure="name other numbers",
        )
    return rule


def load_arms(root: Path) -> ArmsFile:
    """Read `cases/arms.toml`.

    Raises:
        InputError: An arm has unknown keys or values, a placebo stands for no arm
            that injects knowledge, or the file has no `lean`.
    """
    where = root / "cases" / "arms.toml"
    tables = files.read_toml(where)
    lean = files.convert(tables.pop("lean", None), tuple[str, ...], f"{where} lean")
    found = {
        name: files.convert(
            {"name": name, **table} if isinstance(table, dict) else table,
            Arm,
            f"{where} [{name}]",
        )
        for name, table in tables.items()
    }
    injecting = {
        name
        for name, arm in found.items()
        if arm.prompt is Wording.INJECTION and arm.shadow is None
    }
    for arm in found.values():
        if arm.shadow is not None and (
            arm.shadow not in injecting or arm.prompt is not Wording.INJECTION
        ):
            raise InputError(
                f"{where} [{arm.name}] shadow",
                expected='an arm with `prompt = "injection"`, in such an arm',
                found=f"{arm.shadow!r} in an arm with the prompt {arm.prompt.value!r}",
                cure=f"name one of {', '.join(sorted(injecting)) or 'none'}",
            )
    return ArmsFile(found, lean)


def chosen_arms(plan: Plan, found: ArmsFile, root: Path) -> dict[str, Arm]:
    """The arms of a plan, by name.

    Raises:
        InputError: An arm, the outcome or the accounting is unknown, an arm is named
            twice, or routed arms have not one library.
    """
    where = root / "cases" / "arms.toml"
    expect_subset(where, "arms", set(plan.arms), set(found.arms))
    if len(set(plan.arms)) != len(plan.arms) or (plan.repeats or 0) < 1:
        raise InputError(
            "plan",
            expected="each arm once, and at least one repeat",
            found=f"arms {', '.join(plan.arms)}, repeats {plan.repeats}",
            cure="mend --arms or --repeats",
        )
    expect_subset("plan outcome", "outcomes", {plan.outcome}, {"score", "passed"})
    rates = prices.rates()
    accountings = {usage.LIST, *rates.conventions}
    expect_subset("plan accounting", "rates", {plan.accounting}, accountings)
    chosen = {name: found.arms[name] for name in plan.arms}
    routed = [arm for arm in chosen.values() if arm.prompt is Wording.ROUTED]
    if len({arm.library for arm in routed}) > 1 or any(
        not arm.library for arm in routed
    ):
        raise InputError(
            where,
            expected="one library for all routed arms, since candidates are ranked once",
            found=", ".join(f"{arm.name}: {arm.library or 'none'}" for arm in routed),
            cure="give them the same library, or choose one with --arms",
        )
    return chosen
