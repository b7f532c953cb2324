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

from evalkit import (
    agents,
    arms,
    choices,
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
)
from evalkit.records import (
    Arm,
    ArmSeal,
    Case,
    CaseSeal,
    Delivery,
    Layout,
    Library,
    Plan,
    Registration,
    Selection,
    Step,
    Wording,
)

Rank = Callable[[Library, tuple[Case, ...], Plan, Path], routing.Candidates]
"""Candidates of the steps of cases, from a library: `ranking.rank_cases`."""


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
        found = choices.load_arms(root)
        self.plan = choices.with_presets(plan, self.corpus, found.arms)
        self.lean = found.lean
        self.arms = choices.chosen_arms(self.plan, found, root)
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


def library_source(arm: Arm, plan: Plan) -> str | None:
    """What `skills.open_library` opens for an arm; None where it has no library."""
    return plan.library or "current" if arm.library == "current" else arm.library


def _open_library(arm: Arm, plan: Plan, root: Path) -> Library | None:
    source = library_source(arm, plan)
    return skills.open_library(root, source, name=arm.name) if source else None
