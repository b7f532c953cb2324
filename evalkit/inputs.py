"""Everything a plan names, opened from a root, and as it is registered.

Planning describes it once and seals the description; running describes it
again and compares. So there is one account of what an experiment rests on.
Candidates of routing are the exception: they are ranked once, when a plan is made.
A run takes those sealed, and holds what they were ranked from against the seal:
library, phrases, cases, and the source of the ranking.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from evalkit import (
    agents,
    arms,
    corpus,
    files,
    outcomes,
    prices,
    reference,
    registration,
    routing,
    sandbox,
    schedule,
    skills,
    usage,
)
from evalkit.errors import InputError, expect_subset
from evalkit.records import (
    Arm,
    ArmSeal,
    Case,
    CaseSeal,
    Corpus,
    Delivery,
    GateRule,
    Layout,
    Library,
    Plan,
    Record,
    Registration,
    Selection,
    Step,
    Wording,
)

Rank = Callable[[Library, tuple[Case, ...], Plan, Path], routing.Candidates]
"""Candidates of the steps of cases, from a library: `ranking.rank_cases`."""


REPEATS = {Layout.PASS3: (3,), Layout.GATE: (2, 3)}
"""Trials of a case in each arm that a design allows; the first where none is named."""
GATE_RULE = GateRule(most_baseline=1, least_injected=2)
"""Of a gate run that names none, with two trials a side and with three."""


class ArmsFile(Record, frozen=True):
    """`cases/arms.toml`, read: the arms by name, and the lean profile."""

    arms: dict[str, Arm]
    lean: tuple[str, ...]


class Inputs:
    """A plan with all it names opened; fixtures are read when first wanted."""

    def __init__(
        self,
        plan: Plan,
        root: Path,
        *,
        rank: Rank,
        libraries: Mapping[str, Library | None] | None = None,
    ) -> None:
        """Open corpus, arms, libraries, agent and sandbox.

        Args:
            plan: The choices.
            root: Root with cases, graders and reference.
            rank: Gives the candidates of a routed arm; see `open_registered`.
            libraries: By arm, where they were opened elsewhere; else they are here.

        Raises:
            InputError: Something named does not exist or is wrong.
            DriftError: A pinned corpus has moved.
            SandboxUnavailableError: The sandbox cannot run here.
        """
        self.root = root
        folders = [root / name for name in ("cases", "graders", "reference")]
        folders.append(Path(__file__).parent)
        watched = files.Watch(folders)
        self.corpus = corpus.load_corpus(root, plan.corpus)
        found = load_arms(root)
        self.plan = with_presets(plan, self.corpus, found.arms)
        self.lean = found.lean
        self.arms = _chosen_arms(self.plan, found, root)
        if self.plan.design is Layout.GATE:
            arms.gate_roles([*self.arms.values()], self.plan.comparators)
        self.libraries = {
            arm.name: libraries[arm.name]
            if libraries is not None
            else _open_library(arm, self.plan, root)
            for arm in self.arms.values()
        }
        self.agent = agents.open_agent(self.plan, root)
        self._watched = (watched, files.Watch(self.agent.watched))
        self.box = sandbox.open_box(
            self.plan.isolation,
            allow_unsandboxed=self.plan.allow_unsandboxed,
            root=root,
        )
        self.cases = {case.id: case for case in self.corpus.cases}
        self._fixtures: dict[str, tuple[files.Entry, ...]] = {}
        self.candidates = self._rank(rank)
        for arm in self.arms.values():
            self._check_deliverable(arm)

    def describe(self, created_at: str) -> Registration:
        """The sealed registration of these inputs."""
        order = schedule.make_schedule(
            [case.id for case in self.corpus.cases],
            list(self.arms),
            self.plan.repeats or 0,
            rng=random.Random(f"{self.plan.seed}:schedule"),
        )
        run_source, analysis_source = registration.source_digests()
        return registration.seal(
            Registration(
                created_at=created_at,
                plan=self.plan,
                corpus_digest=self.corpus.digest,
                cases=tuple(self._case_seal(case) for case in self.corpus.cases),
                arms=tuple(self._arm_seal(arm) for arm in self.arms.values()),
                agent=self.agent.seal(),
                rates_digest=prices.digest(),
                isolation=self.box.isolation,
                outcomes=outcomes.registered_table(),
                candidates=self.candidates,
                schedule=order,
                imbalance=schedule.imbalance(order),
                n_planned_calls=self.n_planned_calls,
                run_source=run_source,
                analysis_source=analysis_source,
            )
        )

    @property
    def n_planned_calls(self) -> int:
        """Calls of the agent when every trial is tried once."""
        keys = [(case, arm) for case in self.cases for arm in self.arms]
        n_calls = sum(self.n_calls_of(case, arm) for case, arm in keys)
        return n_calls * (self.plan.repeats or 0)

    def n_calls_of(self, case_id: str, arm_name: str) -> int:
        """Calls of one trial: one a step, and one where a skill is to be chosen."""
        case, arm = self.cases[case_id], self.arms[arm_name]
        found = [self.selection(arm, case, step) for step in case.steps]
        n_asked = sum(one is not None and self.asks(one) for one in found)
        return len(case.steps) + n_asked

    def delivery(
        self, arm: Arm, case: Case, step: Step, picked: str | None
    ) -> Delivery:
        """What an arm gives a step; see `arms.deliver`."""
        return arms.deliver(
            arm,
            step,
            self.libraries[arm.name],
            lean=self.lean,
            picked=picked,
            injection=case.injection,
        )

    def fixture(self, case: Case) -> tuple[files.Entry, ...]:
        """The files an agent starts with, read when first wanted, and kept.

        Raises:
            DriftError: They are no more those that were loaded.
        """
        if case.id not in self._fixtures:
            folder = self.root / "cases" / case.id / "fixture"
            found = corpus.read_unmoved(folder, case.digests.fixture)
            self._fixtures[case.id] = found
        return self._fixtures[case.id]

    def selection(self, arm: Arm, case: Case, step: Step) -> Selection | None:
        """How a routed arm's skill for a step is chosen; None for other arms."""
        if arm.prompt is not Wording.ROUTED:
            return None
        return routing.choose(self.candidates[case.id][step.slug])

    def picked(self, arm: Arm, case: Case, step: Step) -> str | None:
        """The skill that routing puts into a step's prompt, if any."""
        selection = self.selection(arm, case, step)
        return selection.picked if selection else None

    def possible_picks(
        self, arm: Arm, case: Case, step: Step
    ) -> tuple[str | None, ...]:
        """Every skill that routing may put into a step's prompt; None for no skill."""
        selection = self.selection(arm, case, step)
        if selection is None or selection.picked:
            return (selection.picked if selection else None,)
        if not self.asks(selection):
            return (None,)
        return (None, *(candidate.skill for candidate in selection.candidates))

    def asks(self, selection: Selection) -> bool:
        """True where the agent is asked which candidate to take."""
        asked = routing.to_ask(selection, self.plan.min_rank_score)
        return self.agent.selects and bool(asked)

    def touched(self) -> bool:
        """True where any file these inputs came from was touched since.

        Cheap enough to ask between trials: sizes and times only.
        """
        return any(watched.touched() for watched in self._watched)

    def _rank(self, rank: Rank) -> routing.Candidates:
        routed = next(
            (arm for arm in self.arms.values() if arm.prompt is Wording.ROUTED), None
        )
        library = self.libraries[routed.name] if routed else None
        if library is None:
            return {}
        return rank(library, self.corpus.cases, self.plan, self.root)

    def _check_deliverable(self, arm: Arm) -> None:
        library = self.libraries[arm.name]
        injected = {
            name
            for case in self.corpus.cases
            for step in case.steps
            for picked in self.possible_picks(arm, case, step)
            for name in self.delivery(arm, case, step, picked).injected
        }
        for skill in library.skills if library else ():
            if skill.name in injected:
                skills.check_injectable(skill, f"arm {arm.name}")

    def _case_seal(self, case: Case) -> CaseSeal:
        return CaseSeal(
            id=case.id,
            title=case.title,
            kind=case.kind,
            hypothesis=case.hypothesis,
            steps=tuple(step.slug for step in case.steps),
            skills={step.slug: step.skills for step in case.steps},
            complaints={step.slug: step.complaints for step in case.steps},
            digests=case.digests,
            proof=reference.proof_path(self.root, case).name,
        )

    def _arm_seal(self, arm: Arm) -> ArmSeal:
        library = self.libraries[arm.name]
        held = library.skills if library else ()
        ranked = library if arm.prompt is Wording.ROUTED else None
        return ArmSeal(
            arm=arm,
            library_source=library.source if library else None,
            library_digest=library.digest if library else None,
            skills=tuple(skill.name for skill in held),
            skill_digests={skill.name: skill.digest for skill in held},
            triggers_digest=files.sha256(ranked.triggers) if ranked else None,
        )


def open_registered(
    registration: Registration,
    root: Path,
    *,
    libraries: Mapping[str, Library | None] | None = None,
) -> Inputs:
    """Open what a registration names, with the candidates that it sealed.

    Args:
        registration: The sealed plan.
        root: Root with cases, graders and reference.
        libraries: As for `Inputs`.

    Raises:
        EvalkitError: As `Inputs` does.
    """
    return Inputs(
        registration.plan,
        root,
        rank=lambda *_: registration.candidates,
        libraries=libraries,
    )


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


def _chosen_arms(plan: Plan, found: ArmsFile, root: Path) -> dict[str, Arm]:
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


def library_source(arm: Arm, plan: Plan) -> str | None:
    """What `skills.open_library` opens for an arm; None where it has no library."""
    return plan.library or "current" if arm.library == "current" else arm.library


def _open_library(arm: Arm, plan: Plan, root: Path) -> Library | None:
    source = library_source(arm, plan)
    return skills.open_library(root, source, name=arm.name) if source else None
