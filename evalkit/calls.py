"""Calls of the agent in a step: at most one that chooses a skill, one that works."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from evalkit import files, outcomes, process, routing
from evalkit.agents import Command, Task
from evalkit.evidence import CallEvidence, StepEvidence
from evalkit.inputs import Inputs
from evalkit.ledger import Ledger
from evalkit.outcomes import SELECT, TASK
from evalkit.process import Finished
from evalkit.records import Delivery, Exchange, Outcome, Selection, Step, TrialSpec
from evalkit.sandbox import Launch, Place

GRACE_S = 5.0
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
MARK_CHARS = 300
INJECTION = "injection"
"""Name of the mark of a case's own injected knowledge."""


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
        self._spec = spec
        self._step = step
        self._inputs = inputs
        self._ledger = ledger
        self._evidence = evidence
        self._place = place
        self._case = inputs.cases[spec.key.case]
        self._arm = inputs.arms[spec.key.arm]

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
        files.write_entries(delivered, self._fresh_home())
        self._call(
            TASK,
            self._evidence.task,
            delivery.prompt,
            self._inputs.agent.command,
            marks=self._marks(delivery),
        )
        self._evidence.add_session(self._place.home.host, self._inputs.agent.sessions)
        return True

    def _choose(self, selection: Selection) -> Selection | None:
        """What the model picks; None where a fault kept it from answering."""
        agent, library = self._inputs.agent, self._inputs.libraries[self._arm.name]
        assert library is not None
        prompt = routing.selection_prompt(
            self._step.prompt, selection.candidates, library
        )
        schema = json.dumps(routing.selection_schema(selection.candidates))
        self._fresh_home()
        evidence = self._evidence.choice
        finished, exchanges = self._call(
            SELECT, evidence, prompt, lambda task: agent.selection(task, schema)
        )
        call = agent.read(evidence.stdout, None, finished, exchanges).call
        outcome = outcomes.registered_table()[call.ended.value]
        if outcome == Outcome.INFRASTRUCTURE.value:
            return None
        answer = agent.read_answer(evidence.stdout)
        return routing.read_selection(answer, selection.candidates)

    def _call(
        self,
        purpose: str,
        evidence: CallEvidence,
        prompt: str,
        command_of: Callable[[Task], Command],
        *,
        marks: Mapping[str, str] | None = None,
    ) -> tuple[Finished, tuple[Exchange, ...]]:
        """Make one call, and keep how it ended and what it asked."""
        key = self._spec.key
        trial = f"trials/{key}/{self._spec.attempt}"
        name = f"{trial}/{self._step.folder}/{purpose}"
        way = self._ledger.open(name, trial, marks or {})
        try:
            task = Task(
                key=key,
                step=self._step,
                prompt=prompt,
                model=self._inputs.plan.model,
                place=self._place,
                seed=self._spec.seed,
                endpoint=way.endpoint,
            )
            command = way.lead(command_of(task))
            finished = self._run(self._launch(command), evidence)
        finally:
            exchanges = self._ledger.close(way)
        evidence.add(finished, exchanges)
        return finished, exchanges

    def _launch(self, command: Command) -> Launch:
        return self._inputs.box.agent_argv(
            command.argv, command.env, self._place, command.binds, command.network
        )

    def _run(self, launch: Launch, evidence: CallEvidence) -> Finished:
        finished = process.run(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            stdout=evidence.stdout,
            stderr=evidence.stderr,
            timeout_s=self._inputs.plan.limits.call_timeout_ms / 1000,
            grace_s=GRACE_S,
            max_output_bytes=MAX_OUTPUT_BYTES,
            given=launch.given,
            caps=launch.caps,
        )
        if launch.contained:  # the sandbox gives no account of what ran in it
            finished = msgspec.structs.replace(finished, cpu_s=None)
        return finished

    def _fresh_home(self) -> Path:
        """Empty home and staging; gives the agent's configuration folder."""
        for folder in (self._place.home.host, self._place.staging.host):
            files.remove_tree(folder)
            folder.mkdir()
        config = self._place.home.host / self._inputs.agent.config_home
        config.mkdir()
        return config

    def _marks(self, delivery: Delivery) -> dict[str, str]:
        """A text of each thing put into the prompt, by which a request shows it."""
        library = self._inputs.libraries[self._arm.name]
        bodies = {skill.name: skill.body for skill in library.skills} if library else {}
        texts = {name: bodies[name] for name in delivery.injected if name in bodies}
        if self._case.injection and self._case.injection in delivery.prompt:
            texts[INJECTION] = self._case.injection
        marks = {name: text.strip()[:MARK_CHARS] for name, text in texts.items()}
        return {name: mark for name, mark in marks.items() if mark in delivery.prompt}
