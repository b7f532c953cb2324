"""Calls of the agent: one that chooses a skill, where need be, and one that works."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from evalkit import arms, files, outcomes, process, routing
from evalkit.agents import Agent, Command, Task
from evalkit.evidence import CallEvidence, StepEvidence
from evalkit.inputs import Inputs
from evalkit.ledger import Ledger
from evalkit.outcomes import SELECT, TASK
from evalkit.process import Finished
from evalkit.records import (
    Delivery,
    Exchange,
    Library,
    Outcome,
    Plan,
    Selection,
    Step,
    TrialKey,
    TrialSpec,
    Wording,
)
from evalkit.sandbox import Box, Launch, Place

GRACE_S = 5.0
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
MARK_CHARS = 300
INJECTION = "injection"
"""Name of the mark of a case's own injected knowledge, or of a placebo for it."""


class Phone:
    """Calls one agent in one place.

    Args:
        plan: Its model, seed and limits.
        agent: Who is called.
        box: The sandbox it runs in.
        ledger: Its way to the model.
        place: Where it works.
    """

    def __init__(
        self, plan: Plan, agent: Agent, box: Box, ledger: Ledger, place: Place
    ) -> None:
        self._plan = plan
        self._agent = agent
        self._box = box
        self._ledger = ledger
        self._place = place

    def call(
        self,
        name: str,
        key: TrialKey,
        step: Step,
        prompt: str,
        command_of: Callable[[Task], Command],
        evidence: CallEvidence,
        marks: Mapping[str, str],
    ) -> tuple[Finished, tuple[Exchange, ...]]:
        """Make one call, and keep how it ended and what it asked.

        Args:
            name: Path of the call in the run's folder; its first three parts are the
                attempt's, whose calls share their caps.
            key: The trial.
            step: Of its case.
            prompt: What is asked.
            command_of: How the agent is started for a task.
            evidence: Receives what is seen.
            marks: Texts to look for in requests, by what they show.
        """
        way = self._ledger.open(name, "/".join(name.split("/")[:3]), marks)
        try:
            task = Task(
                key=key,
                step=step,
                prompt=prompt,
                model=self._plan.model,
                place=self._place,
                seed=self._plan.seed,
                endpoint=way.endpoint,
            )
            command = way.lead(command_of(task))
            launch = self._box.agent_argv(
                command.argv, command.env, self._place, command.binds, command.network
            )
            finished = self._run(launch, evidence)
        finally:
            exchanges = self._ledger.close(way)
        evidence.add(finished, exchanges)
        return finished, exchanges

    def choose(
        self,
        name: str,
        key: TrialKey,
        step: Step,
        selection: Selection,
        library: Library,
        evidence: CallEvidence,
    ) -> Selection | None:
        """Have the agent's model pick one of the candidates for a step, or none.

        Returns:
            What it picked; None where a fault kept it from answering.
        """
        candidates = selection.candidates
        prompt = routing.selection_prompt(step.prompt, candidates, library)
        schema = json.dumps(routing.selection_schema(candidates))
        self.fresh_home()
        finished, exchanges = self.call(
            name,
            key,
            step,
            prompt,
            lambda task: self._agent.selection(task, schema),
            evidence,
            {},
        )
        call = self._agent.read(evidence.stdout, None, finished, exchanges).call
        outcome = outcomes.registered_table()[call.ended.value]
        if outcome == Outcome.INFRASTRUCTURE.value:
            return None
        return routing.read_selection(
            self._agent.read_answer(evidence.stdout), candidates
        )

    def fresh_home(self) -> Path:
        """Empty home and staging; gives the agent's configuration folder."""
        for folder in (self._place.home.host, self._place.staging.host):
            files.remove_tree(folder)
            folder.mkdir()
        config = self._place.home.host / self._agent.config_home
        config.mkdir()
        return config

    def _run(self, launch: Launch, evidence: CallEvidence) -> Finished:
        finished = process.run(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            stdout=evidence.stdout,
            stderr=evidence.stderr,
            timeout_s=self._plan.limits.call_timeout_ms / 1000,
            grace_s=GRACE_S,
            max_output_bytes=MAX_OUTPUT_BYTES,
            given=launch.given,
            caps=launch.caps,
        )
        if launch.contained:  # the sandbox gives no account of what ran in it
            finished = msgspec.structs.replace(finished, cpu_s=None)
        return finished


class Caller:
    """Makes the calls of one step.

    Args:
        spec: The trial.
        step: Of its case.
        inputs: The opened inputs of the run.
        ledger: The way to the model.
        evidence: Of the step.
        place: Where the agent works.
    """

    def __init__(
        self,
        spec: TrialSpec,
        step: Step,
        inputs: Inputs,
        ledger: Ledger,
        evidence: StepEvidence,
        place: Place,
    ) -> None:
        self._key = spec.key
        self._name = f"trials/{spec.key}/{spec.attempt}/{step.folder}"
        self._step = step
        self._inputs = inputs
        self._evidence = evidence
        self._place = place
        self._case = inputs.cases[spec.key.case]
        self._arm = inputs.arms[spec.key.arm]
        self._phone = Phone(inputs.plan, inputs.agent, inputs.box, ledger, place)

    def carry_out(self) -> bool:
        """Choose, deliver, work; False where a fault kept the work from beginning."""
        selection = self._inputs.selection(self._arm, self._case, self._step)
        if selection and self._inputs.asks(selection):
            selection = self._choose(selection)
            if selection is None:
                return False
        picked = selection.picked if selection else None
        delivery = self._inputs.delivery(self._arm, self._case, self._step, picked)
        self._evidence.add_delivery(delivery, selection)
        delivered = tuple(files.Entry(*item) for item in delivery.files.items())
        files.write_entries(delivered, self._phone.fresh_home())
        self._phone.call(
            f"{self._name}/{TASK}",
            self._key,
            self._step,
            delivery.prompt,
            self._inputs.agent.command,
            self._evidence.task,
            self._marks(delivery),
        )
        self._evidence.add_session(self._place.home.host, self._inputs.agent.sessions)
        return True

    def _choose(self, selection: Selection) -> Selection | None:
        library = self._inputs.libraries[self._arm.name]
        assert library is not None
        return self._phone.choose(
            f"{self._name}/{SELECT}",
            self._key,
            self._step,
            selection,
            library,
            self._evidence.choice,
        )

    def _marks(self, delivery: Delivery) -> dict[str, str]:
        """A text of each thing put into the prompt, by which a request shows it."""
        library = self._inputs.libraries[self._arm.name]
        bodies = {skill.name: skill.body for skill in library.skills} if library else {}
        texts = {name: bodies[name] for name in delivery.injected if name in bodies}
        if self._arm.prompt is Wording.INJECTION:
            texts[INJECTION] = arms.knowledge(self._arm, self._case.injection)
        marks = {name: text.strip()[:MARK_CHARS] for name, text in texts.items()}
        return {name: mark for name, mark in marks.items() if mark in delivery.prompt}
