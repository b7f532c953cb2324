"""The scripted agent: a control whose deliveries are planted by a seeded policy.

It runs as the real one does: the same adapter and arguments, in the same
sandbox. On our side the overlay is drawn, and nothing but its files and a
script is put within reach of the program in the sandbox, which types them out.
"""

from __future__ import annotations

import py_compile
import random
import uuid
from pathlib import Path

from evalkit import corpus, files, prices, reference, sandbox, usage
from evalkit.agents import claude, common
from evalkit.agents.policy import Behaviour, Policy, load_policy
from evalkit.agents.protocol import Command, Reading, Task
from evalkit.process import Finished
from evalkit.records import AgentSeal, Case, Exchange, Plan, Record, Request

VERSION = "scripted-1"
PROGRAM = Path(__file__).parent.parent / "inside" / "scripted.py"
STAGED = "scripted"


class Use(Record, frozen=True):
    """A tool the script uses: `Write` a staged path, a `Skill`, or `Bash`."""

    tool: str
    argument: str


class Turn(Record, frozen=True):
    """One model request of the script: what is said, done, used and waited."""

    id: str
    text: str
    uses: tuple[Use, ...]
    usage: dict[str, int]
    latency_ms: int


class Script(Record, frozen=True):
    """All that the program in the sandbox goes by."""

    version: str
    session_id: str
    model: str
    turns: tuple[Turn, ...]
    cost_usd: float | None


class Scripted:
    """Adapter of the scripted agent."""

    config_home = claude.CONFIG_HOME
    sessions = claude.SESSIONS
    simulated = True
    vendor = None
    selects = False
    watched = (PROGRAM,)

    def __init__(self, root: Path, cases: tuple[Case, ...], policy: Policy) -> None:
        self._root = root
        self._cases = {case.id: case for case in cases}
        self._rates = prices.rates()
        self._program = _compiled()
        self.policy = policy

    def seal(self) -> AgentSeal:
        """What is registered of it."""
        return AgentSeal(
            name="scripted",
            version=VERSION,
            sha256=files.file_digest(PROGRAM),
            executable="evalkit/inside/scripted.py",
            simulated=True,
            policy=self.policy.digest,
        )

    def command(self, task: Task) -> Command:
        """Stage the drawn overlay and its script; start the program on them."""
        case = self._cases[task.key.case]
        overlay = self.policy.overlay(task.key, task.seed)
        laid = reference.overlay_entries(self._root, case, overlay, task.step)
        script = self._script(task, [entry.path for entry in laid])
        staged = (
            files.Entry(STAGED, self._program),
            files.Entry("script.json", files.encode_json(script)),
            *(entry._replace(path=f"files/{entry.path}") for entry in laid),
        )
        files.write_entries(staged, task.place.staging.host)
        program = f"{task.place.staging.seen}/{STAGED}"
        started = (sandbox.python(), "-I", "-S", "-B", program)
        given = claude.arguments(task.prompt, task.model)
        return Command((*started, *given), claude.environment(task))

    def selection(self, task: Task, schema: str) -> Command:
        """It is never asked."""
        raise NotImplementedError(f"{task.key}: a script chooses nothing from {schema}")

    def read(
        self,
        stdout: Path,
        session: Path | None,
        finished: Finished,
        exchanges: tuple[Exchange, ...] = (),
    ) -> Reading:
        """What one call's evidence says; see `agents.Reader`."""
        return claude.read(stdout, session, finished, exchanges)

    def read_answer(self, stdout: Path) -> str | None:
        """What a selection call answered; see `agents.Reader`."""
        return claude.read_answer(stdout)

    def _script(self, task: Task, paths: list[str]) -> Script:
        behaviour = self.policy.behaviours[task.key.case][task.key.arm]
        rng = random.Random(f"{task.seed}:{task.key}:{task.step.slug}")
        session_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        offered = _offered(task.place.home.host / self.config_home / "skills")
        wanted = [name for name in task.step.skills if name in offered] or offered
        invokes = rng.random() < behaviour.skill_chance and bool(wanted)
        skill = rng.choice(wanted) if invokes else None
        turns = _turns(rng, behaviour, paths, skill)
        prices = [
            usage.price(_as_request(turn, task.model), self._rates) for turn in turns
        ]
        known = [price for price in prices if price is not None]
        cost_usd = sum(known) if len(known) == len(prices) else None
        return Script(VERSION, session_id, task.model, turns, cost_usd)


def open_scripted(plan: Plan, root: Path) -> Scripted:
    """Open the scripted agent for a plan's corpus.

    Raises:
        InputError: The corpus or the policy is wrong.
    """
    common.expect_effort(plan, ())
    cases = corpus.load_corpus(root, plan.corpus).cases
    return Scripted(root, cases, load_policy(root, cases))


def _compiled() -> bytes:
    """The program as bytecode, which every trial starts anew."""
    with files.private_folder() as private:
        made = str(private / STAGED)
        py_compile.compile(str(PROGRAM), made, dfile=PROGRAM.name, doraise=True)
        return Path(made).read_bytes()


def _turns(
    rng: random.Random, behaviour: Behaviour, paths: list[str], skill: str | None
) -> tuple[Turn, ...]:
    """The model requests of a step; all but the last use tools."""
    n_working = rng.randint(*behaviour.n_requests) - 1
    uses = [
        [Use("Write", path) for path in paths[n::n_working]] for n in range(n_working)
    ]
    if skill is not None:
        uses[0].insert(0, Use("Skill", skill))
    said = [(f"Part {n + 1} of the work.", tuple(used)) for n, used in enumerate(uses)]
    said = [(text, used or (Use("Bash", "ls"),)) for text, used in said]
    return tuple(
        Turn(
            id=f"msg_{rng.getrandbits(80):020x}",
            text=text,
            uses=used,
            usage={
                name: getattr(behaviour.tokens, name).draw(rng)
                for name in usage.CLASSES
            },
            latency_ms=rng.randint(*behaviour.latency_ms),
        )
        for text, used in [*said, ("The work is done.", ())]
    )


def _as_request(turn: Turn, model: str) -> Request:
    counts = (turn.usage[name] for name in usage.CLASSES)
    return Request(0, model, *counts, source=VERSION)


def _offered(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
