"""Probes asked for real: one selection call of the agent for each, without tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evalkit import files, routing
from evalkit.calls import Phone
from evalkit.errors import InfrastructureError, InputError
from evalkit.evidence import CallEvidence
from evalkit.inputs import Inputs
from evalkit.ledger import Ledger, open_ledger
from evalkit.outcomes import SELECT
from evalkit.probes import Probe, ProbeScores, answer, score
from evalkit.records import Library, Record, Selection, Step, TrialKey
from evalkit.sandbox import NONE

FILE = "probes.json"


class Asked(Record, frozen=True):
    """What probes were answered, by whom; `n_calls` were made for it."""

    agent: str
    version: str
    model: str
    simulated: bool
    n_calls: int
    scores: ProbeScores
    answers: dict[str, Selection]


def ask_probes(
    probes: Sequence[Probe],
    library: Library,
    inputs: Inputs,
    folder: Path,
    *,
    n_workers: int,
    done: Callable[[int, int], None] | None = None,
) -> Asked:
    """Answer each probe as a routed step would be: admitted, asked once, or neither.

    Args:
        probes: The probes.
        library: Whose skills they ask for.
        inputs: Opened inputs, for agent, sandbox and plan.
        folder: New folder that keeps every call's evidence, and what came out.
        n_workers: Calls at once.
        done: Told after each probe how many of how many are done.

    Raises:
        InputError: The agent cannot be asked, or the folder exists.
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
    scores = score(probes, answers, library=library.source, plan=plan)
    asked = Asked(
        agent=seal.name,
        version=seal.version,
        model=plan.model,
        simulated=seal.simulated,
        n_calls=n_calls,
        scores=scores,
        answers=answers,
    )
    files.write_once(folder / FILE, files.encode_json(asked))
    return asked


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
