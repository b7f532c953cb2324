"""Probes answered: by the ranking alone, or by one call of an agent for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from evalkit import files, routing, skills
from evalkit.calls import Phone
from evalkit.errors import DriftError, InfrastructureError, InputError
from evalkit.evidence import CallEvidence
from evalkit.inputs import Inputs, library_source, open_registered
from evalkit.ledger import Ledger, open_ledger
from evalkit.outcomes import SELECT
from evalkit.probes import KEPT, Answered, Probe, open_probes, routed_arm, score
from evalkit.ranking import Ranker
from evalkit.records import (
    AgentSeal,
    Library,
    Plan,
    Registration,
    Selection,
    Step,
    TrialKey,
)
from evalkit.registration import source_digests
from evalkit.sandbox import NONE

_PLAN = Plan("")


def answer(
    probes: Sequence[Probe], library: Library, plan: Plan = _PLAN
) -> dict[str, Selection]:
    """What the ranking alone makes of each probe, by id."""
    ranker = Ranker(library)
    return {
        probe.id: routing.choose(ranker.rank(probe.query, n=plan.n_candidates))
        for probe in probes
    }


def rank_probes(
    probes: Sequence[Probe], library: Library, at: datetime, plan: Plan = _PLAN
) -> Answered:
    """Answer probes by the ranking alone: admitted, or nothing picked."""
    answers = answer(probes, library, plan)
    return _answered(probes, answers, library, at, plan, agent=None, n_calls=0)


def ask_probes(
    probes: Sequence[Probe],
    library: Library,
    inputs: Inputs,
    folder: Path,
    *,
    at: datetime,
    n_workers: int,
    done: Callable[[int, int], None] | None = None,
) -> Answered:
    """Answer each probe as a routed step would be: admitted, asked once, or neither.

    Args:
        probes: The probes.
        library: Whose skills they ask for.
        inputs: Opened inputs, for agent, sandbox and plan.
        folder: New folder that keeps every call's evidence, and what came out.
        at: When this is.
        n_workers: Calls at once.
        done: Told after each probe how many of how many are done.

    Raises:
        InputError: The agent cannot be asked.
        InfrastructureError: A call met a fault of provider, login or sandbox.
    """
    agent, plan = inputs.agent, inputs.plan
    seal = agent.seal()
    if not agent.selects:
        raise InputError(
            "agent",
            expected="one that can be asked without tools, such as claude",
            found=seal.name,
            cure="leave --ask out to score the ranking alone",
        )
    offline = answer(probes, library, plan)
    answers: dict[str, Selection] = {}
    n_calls = 0
    sandboxed = inputs.box.isolation.level != NONE
    folder.mkdir(parents=True)
    with (
        open_ledger(plan, agent, folder, sandboxed=sandboxed) as ledger,
        ThreadPoolExecutor(n_workers) as pool,
    ):
        asker = _Asker(library, inputs, ledger, folder)
        for probe, found in zip(
            probes, pool.map(lambda p: asker.ask(p, offline[p.id]), probes), strict=True
        ):
            n_calls += found is not offline[probe.id]
            answers[probe.id] = found
            if done:
                done(len(answers), len(probes))
    answered = _answered(
        probes, answers, library, at, plan, agent=seal, n_calls=n_calls
    )
    keep(answered, folder)
    return answered


def keep(answered: Answered, folder: Path) -> None:
    """Write answers into their folder, where reports look for them."""
    folder.mkdir(parents=True, exist_ok=True)
    files.write_once(folder / KEPT, files.encode_json(answered))


def open_routed(
    registration: Registration, root: Path
) -> tuple[Library, tuple[Probe, ...]]:
    """The library that a sealed run routes from, and its probes as they are now.

    Raises:
        InputError: The run has no routed arm; or library or probes are missing or wrong.
        DriftError: The library is not the one that was registered.
    """
    sealed = routed_arm(registration)
    if sealed is None:
        raise InputError(
            f"run {registration.run_id}",
            expected="an arm that chooses skills by routing",
            found=", ".join(seal.arm.name for seal in registration.arms),
            cure="leave --for out, ask the agent of a PLAN.toml, or name a --library",
        )
    source = library_source(sealed.arm, registration.plan) or "current"
    library = skills.open_library(root, source, name=sealed.arm.name)
    _expect("skills", registration, sealed.library_digest, library.digest)
    triggers = files.sha256(library.triggers)
    _expect("phrases", registration, sealed.triggers_digest, triggers)
    return library, open_probes(root, source, library)


def open_asked(registration: Registration, root: Path) -> Inputs:
    """The inputs of a sealed run, whose agent is to be asked.

    Raises:
        EvalkitError: As `Inputs` does.
        DriftError: The agent is not the one that was registered.
    """
    inputs = open_registered(registration, root)
    _expect("agent", registration, registration.agent, inputs.agent.seal())
    return inputs


def _expect(what: str, of: Registration, registered: object, found: object) -> None:
    if registered != found:
        raise DriftError(
            f"{what}: registered {registered}, found {found}; answers would not be of "
            f"run {of.run_id}: restore what was registered, or plan again"
        )


def _answered(
    probes: Sequence[Probe],
    answers: dict[str, Selection],
    library: Library,
    at: datetime,
    plan: Plan,
    *,
    agent: AgentSeal | None,
    n_calls: int,
) -> Answered:
    return Answered(
        at=at.isoformat(timespec="milliseconds"),
        library=library.source,
        library_digest=library.digest,
        triggers_digest=files.sha256(library.triggers),
        run_source=source_digests()[0],
        plan=plan,
        agent=agent,
        n_calls=n_calls,
        probes=tuple(probes),
        answers=answers,
        scores=score(
            probes,
            answers,
            library=library.source,
            plan=plan,
            asked=agent is not None,
        ),
    )


class _Asker:
    """Asks about one probe at a time, in a place of its own."""

    def __init__(
        self, library: Library, inputs: Inputs, ledger: Ledger, folder: Path
    ) -> None:
        self._library = library
        self._inputs = inputs
        self._ledger = ledger
        self._folder = folder

    def ask(self, probe: Probe, found: Selection) -> Selection:
        if not routing.to_ask(found, self._inputs.plan.min_rank_score):
            return found
        inputs = self._inputs
        name = f"probes/{probe.id}/1"
        kept = self._folder / name
        kept.mkdir(parents=True)
        with files.private_folder() as private:
            folders = [private / part for part in ("workspace", "home", "staging")]
            folders[0].mkdir()
            place = inputs.box.place(*folders)
            phone = Phone(inputs.plan, inputs.agent, inputs.box, self._ledger, place)
            picked = phone.choose(
                f"{name}/{SELECT}",
                TrialKey("probe", probe.id, 1),
                Step(1, SELECT, probe.query),
                found,
                self._library,
                CallEvidence(kept, SELECT),
            )
        if picked is None:
            raise InfrastructureError(
                f"probe {probe.id!r}: expected an answer, found a fault of provider, "
                f"login or sandbox; see {kept.name} in {self._folder}, mend it, ask again"
            )
        return picked
