"""Parameters of the notebooks, checked before anything is done with them.

A notebook's parameters cell holds plain literals, and papermill passes what a
shell gave it: `007` becomes 7, `null` a word, an unknown name is let through.
Each notebook therefore reads its parameters into one record, strictly.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalkit import registration
from evalkit.errors import InputError
from evalkit.records import Access, Budget, GateRule, Layout, Limits, Plan, Record

_PLAN = Plan("")
_INJECTED = "# Parameters"
"""How the cell begins that papermill puts after the parameters cell."""


class PlanParameters(Record, frozen=True):
    """Of `plan.ipynb`: a `Plan` in plain literals; empty text and 0 leave it open."""

    corpus: str = "complex-tasks@1"
    arms: str = ""
    repeats: int = 0
    design: str = _PLAN.design.value
    gate_rule: str = ""
    gate_run: str = ""
    agent: str = _PLAN.agent
    model: str = _PLAN.model
    effort: str = ""
    executable: str = ""
    access: str = _PLAN.access.value
    provider_url: str = ""
    allow_real_provider: bool = _PLAN.allow_real_provider
    allow_credentialed_tools: bool = _PLAN.allow_credentialed_tools
    record: bool = _PLAN.record
    max_requests_at_once: int = 0
    library: str = ""
    isolation: str = _PLAN.isolation
    allow_unsandboxed: bool = _PLAN.allow_unsandboxed
    call_timeout_ms: int = _PLAN.limits.call_timeout_ms
    trial_max_requests: int = 0
    trial_max_tokens: int = 0
    trial_max_usd: float = 0.0
    retry_wait_ms: int = _PLAN.limits.retry_wait_ms
    max_calls: int = _PLAN.budget.max_calls
    max_tokens: int = 0
    max_usd: float = 0.0
    deadline_ms: int = _PLAN.budget.deadline_ms
    seed: int = _PLAN.seed
    n_candidates: int = _PLAN.n_candidates
    workspace_words: bool = _PLAN.workspace_words
    min_rank_score: float = _PLAN.min_rank_score
    seal: bool = False

    @property
    def plan(self) -> Plan:
        """The plan they stand for."""
        arms = tuple(name.strip() for name in self.arms.split(",") if name.strip())
        return Plan(
            corpus=self.corpus,
            arms=arms,
            repeats=self.repeats or None,
            design=_chosen(Layout, "design", self.design),
            gate_rule=_gate_rule(self.gate_rule),
            gate_run=self.gate_run or None,
            agent=self.agent,
            model=self.model,
            effort=self.effort or None,
            executable=self.executable or None,
            access=_chosen(Access, "access", self.access),
            provider_url=self.provider_url or None,
            allow_real_provider=self.allow_real_provider,
            allow_credentialed_tools=self.allow_credentialed_tools,
            record=self.record,
            max_requests_at_once=self.max_requests_at_once or None,
            library=self.library or None,
            isolation=self.isolation,
            allow_unsandboxed=self.allow_unsandboxed,
            limits=Limits(
                call_timeout_ms=self.call_timeout_ms,
                max_requests=self.trial_max_requests or None,
                max_tokens=self.trial_max_tokens or None,
                max_usd=self.trial_max_usd or None,
                retry_wait_ms=self.retry_wait_ms,
            ),
            budget=Budget(
                max_calls=self.max_calls,
                deadline_ms=self.deadline_ms,
                max_tokens=self.max_tokens or None,
                max_usd=self.max_usd or None,
            ),
            seed=self.seed,
            n_candidates=self.n_candidates,
            workspace_words=self.workspace_words,
            min_rank_score=self.min_rank_score,
        )


class RunParameters(Record, frozen=True):
    """Of `run.ipynb`; `run` is a sealed run, or the path of a plan file."""

    run: str = ""
    workers: int = 1
    consent: bool = False


class ReportParameters(Record, frozen=True):
    """Of `report.ipynb`; `run` is the id or the folder of a run."""

    run: str = ""


class AuditParameters(Record, frozen=True):
    """Of `audit.ipynb`; `isolation` left empty is as registered."""

    run: str = ""
    workers: int = 1
    isolation: str = ""
    allow_unsandboxed: bool = False


class TranscriptsParameters(Record, frozen=True):
    """Of `transcripts.ipynb`; what is left empty is chosen in the explorer.

    `trial` is one of the run's, as case.arm.rN; `other` an arm to put beside its arm;
    `file` any transcript, in place of a run.
    """

    run: str = ""
    trial: str = ""
    other: str = ""
    file: str = ""


Parameters = (
    PlanParameters
    | RunParameters
    | ReportParameters
    | AuditParameters
    | TranscriptsParameters
)
KINDS: dict[str, type[Parameters]] = {
    "plan": PlanParameters,
    "run": RunParameters,
    "report": ReportParameters,
    "audit": AuditParameters,
    "transcripts": TranscriptsParameters,
}
P = TypeVar("P", bound=Parameters)
Word = TypeVar("Word", bound=StrEnum)


def read_parameters(kind: type[P], namespace: Mapping[str, Any]) -> P:
    """The parameters of a notebook that is being executed.

    Args:
        kind: The record of this notebook's parameters.
        namespace: The notebook's `globals()`.

    Raises:
        InputError: One is missing, of a wrong type, or (of those papermill
            passed) unknown.
    """
    names = set(kind.__struct_fields__)
    passed = _passed(namespace.get("In", ()))
    found = {name: namespace[name] for name in names if name in namespace}
    unknown = {name: namespace.get(name) for name in passed - names}
    return check_parameters(kind, {**found, **unknown})


def check_parameters(kind: type[P], values: Mapping[str, Any]) -> P:
    """The record that holds these values, each of exactly its type.

    Raises:
        InputError: A name is missing or unknown, or a value of a wrong type.
    """
    names = kind.__struct_fields__
    for name in (*names, *values):
        if (name in names) != (name in values):
            raise InputError(
                f"parameter {name!r}",
                expected=f"the parameters {', '.join(names)}",
                found="an unknown one" if name in values else "none of that name",
                cure="mend its name in what is passed, or in the parameters cell",
            )
    try:
        return msgspec.convert(dict(values), kind, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(
            f"parameters of {kind.__name__.removesuffix('Parameters').lower()}.ipynb",
            expected="a value of the type in the parameters cell",
            found=str(error),
            cure="pass words that look like numbers with `papermill -r NAME VALUE`",
        ) from error


def find_root(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that holds a corpus.

    Raises:
        InputError: There is none.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "cases" / "corpora.toml").is_file():
            return folder
    raise InputError(
        start,
        expected="a folder in or below one with cases/corpora.toml",
        found="none",
        cure="start Jupyter or papermill in the folder that holds cases/",
    )


def find_run(run: str, start: Path) -> Path:
    """The folder of a run, given by its id or its path.

    Args:
        run: Id of a run of the root around `start`, or path of a run's folder.
        start: Folder that paths are relative to, before the working folder.

    Raises:
        InputError: There is no such run; names those there are.
    """
    for folder in (start / run, Path(run)):
        if run and (folder / registration.FILE).is_file():
            return folder
    runs = find_root(start) / "runs"
    if run and (runs / run / registration.FILE).is_file():
        return runs / run
    known = sorted(path.parent.name for path in runs.glob(f"*/{registration.FILE}"))
    raise InputError(
        f"run {run!r}",
        expected="the id or the folder of a sealed run",
        found=f"none; sealed are: {', '.join(known) or 'no runs'}",
        cure="name one of these, or seal a plan first",
    )


def _chosen(kind: type[Word], where: str, word: str) -> Word:
    try:
        return kind(word)
    except ValueError as error:
        raise InputError(
            where,
            expected=" or ".join(kind),
            found=repr(word),
            cure="name one of these",
        ) from error


def _gate_rule(text: str) -> GateRule | None:
    """The rule in `most,least`; None where nothing is said."""
    if not text:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        raise InputError(
            "gate rule",
            expected="two numbers, `1,2`: the baseline passes at most 1, injected at "
            "least 2",
            found=repr(text),
            cure="write them so, or leave it open",
        )
    return GateRule(int(words[0]), int(words[1]))


def _passed(history: Any) -> set[str]:
    """Names assigned in cells that papermill put in."""
    cells = [text for text in history if text.startswith(_INJECTED)]
    return {
        target.id
        for text in cells
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
