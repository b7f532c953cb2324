"""Routing: which skill a step's own words call for, decided at plan time.

`cases/_skills/triggers.toml` holds the phrases that users of a skill type. A
step's text that contains one of them admits the skill; a skill named outright
is admitted too. Nothing found means no skill: abstaining is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit import files
from evalkit.errors import InputError
from evalkit.records import Candidate, Library, Record, Selection

N_CANDIDATES = 5


class Trigger(Record, frozen=True):
    """What users of a skill type."""

    phrases: tuple[str, ...]


def load_triggers(folder: Path) -> dict[str, Trigger]:
    """Phrases by skill from a library's `triggers.toml`; none without the file.

    Raises:
        InputError: A phrase is given to two skills.
    """
    where = folder / "triggers.toml"
    if not where.exists():
        return {}
    found = files.convert(files.read_toml(where), dict[str, Trigger], where)
    owners: dict[str, str] = {}
    for skill, trigger in found.items():
        for phrase in trigger.phrases:
            if owners.setdefault(_plain(phrase), skill) != skill:
                raise InputError(
                    f"{where} [{skill}]",
                    expected="a phrase of one skill only",
                    found=f"{phrase!r}, also of {owners[_plain(phrase)]}",
                    cure="keep it where it fits best",
                )
    return found


def rank(
    text: str, library: Library, triggers: Mapping[str, Trigger]
) -> tuple[Candidate, ...]:
    """Skills of a library that a text calls for, best first, five at most.

    The score is the number of words in the phrases found; a phrase of two words
    or more, or the skill's own name, admits the skill directly.
    """
    plain = _plain(text)
    candidates = [
        candidate
        for skill in library.skills
        if (candidate := _candidate(skill.name, plain, triggers.get(skill.name)))
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.skill))
    return tuple(candidates[:N_CANDIDATES])


def choose(candidates: Sequence[Candidate]) -> Selection:
    """The directly admitted skill with the best score, or none."""
    direct = next((c for c in candidates if c.direct), None)
    if direct is None:
        return Selection(tuple(candidates), None, "none")
    how = "explicit" if direct.skill in direct.phrases else "direct"
    return Selection(tuple(candidates), direct.skill, how)


def _candidate(name: str, plain: str, trigger: Trigger | None) -> Candidate | None:
    phrases = (name, *(trigger.phrases if trigger else ()))
    found = tuple(phrase for phrase in phrases if _contains(plain, _plain(phrase)))
    if not found:
        return None
    n_words = [len(_plain(phrase).split()) for phrase in found]
    direct = name in found or max(n_words) > 1
    return Candidate(name, float(sum(n_words)), found, direct)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _contains(text: str, phrase: str) -> bool:
    return f" {phrase} " in f" {text} "
