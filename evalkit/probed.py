"""Answers to probes that belong to a run: kept beside runs, judged like its trials.

They count for a run where library, phrases and settings of routing are those that it
registered and, where a model was asked, its agent and model too. They are scored
anew from what was answered.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import files, wording
from evalkit.analysis.choices import Pick
from evalkit.analysis.routes import accuracy
from evalkit.conclusions import Analysis, Probed, Unlike
from evalkit.errors import InputError
from evalkit.probes import KEPT, Answered, Probe, expect_answers, routed_arm, score
from evalkit.records import ArmSeal, Registration, Selection

PROBES = "probes"
_FOLDERS = "probes-*"
MAX_SHOWN = 300
"""Characters of what others wrote that a report shows."""


def with_probes(analysis: Analysis, registration: Registration, runs: Path) -> Analysis:
    """The analysis of a run with the answers to probes that are kept beside it.

    Args:
        analysis: Of the run.
        registration: What was registered.
        runs: Folder that holds runs, and `probes-*` with answers.
    """
    arm = routed_arm(registration)
    if arm is None:
        return _refused(
            analysis,
            "No arm of this run chooses skills by routing, so no probes are its.",
        )
    probed: list[Probed] = []
    unlike: list[Unlike] = []
    for path in sorted(runs.glob(f"{_FOLDERS}/{KEPT}")):
        name = _shown(path.relative_to(runs).as_posix())
        try:
            data = files.read_regular(path)
            answered = files.decode_json(data, Answered, name)
            why = _why_unlike(answered, registration, arm)
            if why is None:
                expect_answers(name, answered, set(arm.skills))
                kept = name, files.sha256(data)
                probed.append(_probed(answered, registration, arm, kept))
        except InputError as error:
            why = f"cannot be read: expected {error.expected}, found {error.found}"
        if why:
            unlike.append(Unlike(name, _shown(why)))
    found = msgspec.structs.replace(
        analysis, probed=tuple(probed), probed_unlike=tuple(unlike)
    )
    if probed:
        return found
    return _refused(
        found,
        f"No answers to probes of the library that this run routes from are kept. "
        f"`evalkit route --probes --for {analysis.run}` has the ranking alone answer "
        f"them, and `evalkit route --probes --ask {analysis.run}` the agent and model "
        f"of this run, if that agent can choose without tools; then make the report "
        f"again.",
    )


def _refused(analysis: Analysis, sentence: str) -> Analysis:
    return msgspec.structs.replace(analysis, probed_refusal=sentence)


def _why_unlike(
    answered: Answered, registration: Registration, arm: ArmSeal
) -> str | None:
    """Why answers are not of this run; None where they are."""
    plan, own = answered.plan, registration.plan
    library = answered.library_digest, answered.triggers_digest
    if library != (arm.library_digest, arm.triggers_digest):
        return f"another library, or other phrases ({answered.library})"
    settings = plan.n_candidates, plan.min_rank_score
    if settings != (own.n_candidates, own.min_rank_score):
        return f"{settings[0]} candidates and a threshold of {settings[1]:g}"
    if answered.agent is None:
        return None
    if answered.agent != registration.agent:
        stamp = ", SIMULATED" if answered.simulated else ""
        who = wording.agent(answered.agent.name, answered.agent.version)
        return f"another agent ({who}{stamp})"
    if (plan.model, plan.effort) != (own.model, own.effort):
        return f"another model or effort ({plan.model}, {plan.effort or 'as it comes'})"
    return None


def _probed(
    answered: Answered, registration: Registration, arm: ArmSeal, kept: tuple[str, str]
) -> Probed:
    asked = answered.agent is not None
    scores = score(
        answered.probes, answered.answers, plan=registration.plan, asked=asked
    )
    picks = [_pick(probe, answered.answers[probe.id]) for probe in answered.probes]
    found = accuracy(
        picks,
        every=picks,
        unit=PROBES,
        library=arm.skills,
        plan=registration.plan,
    )
    return Probed(
        **msgspec.structs.asdict(found),
        file=kept[0],
        sha256=kept[1],
        at=_shown(answered.at),
        library=_shown(answered.library),
        library_digest=answered.library_digest,
        asked=asked,
        simulated=answered.simulated,
        same_source=answered.run_source == registration.run_source,
        n_calls=answered.n_calls,
        categories=scores.categories,
    )


def _shown(text: str) -> str:
    """A text of others, of bounded length and such that it can be written."""
    return wording.begin(wording.printable(text), MAX_SHOWN)


def _pick(probe: Probe, selection: Selection) -> Pick:
    """A probe as one that calls for one skill at most.

    Where several are accepted, the one that was picked counts as called for, else the
    best of them among the candidates, else the one that the probe names first.
    """
    candidates = [candidate.skill for candidate in selection.candidates]
    preferred = (selection.picked, *candidates, *probe.expected)
    called_for = [skill for skill in preferred if skill in probe.expected][:1]
    return Pick(
        (PROBES, probe.id),
        frozenset(skill for skill in called_for if skill),
        frozenset({selection.picked} if selection.picked else ()),
        frozenset(candidates),
    )
