"""Arms: the conditions compared, and what each gives a step. Pure.

`cases/arms.toml` holds one table per arm, and `lean`, the skills of the lean
profile.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from evalkit.errors import InputError
from evalkit.records import Arm, Delivery, Home, Library, Skill, Step, Wording

MAX_INJECTED_BYTES = 32_000
CATALOGUE = "The following skills are installed in your home; use those that help."
INJECTED_SKILLS = "Follow this guidance where it applies."
INJECTED_KNOWLEDGE = "What the team knows:"
INERT = (
    "We have lunch at noon on most days, and whoever is in the office is welcome to "
    "come along. The room at the end of the hall is free in the afternoon, and the "
    "plants there were a gift from the people upstairs."
)
"""Says nothing of any work; what a placebo is made of."""


def comparison(arm: str, comparator: str) -> str:
    """How a plan names a comparison."""
    return f"{arm} against {comparator}"


def comparisons(
    arms: Sequence[str], comparators: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Arm and comparator of every comparison, by comparator; no two arms twice."""
    found: dict[frozenset[str], tuple[str, str]] = {}
    for comparator in comparators:
        for arm in arms:
            if comparator in arms and arm != comparator:
                found.setdefault(frozenset((arm, comparator)), (arm, comparator))
    return tuple(found.values())


def gate_roles(arms: Sequence[Arm], comparators: Sequence[str]) -> tuple[str, str]:
    """The arm without and the arm with injected knowledge that a gate run compares.

    Raises:
        InputError: There are not exactly one injecting arm and a comparator.
    """
    told = [arm for arm in arms if arm.prompt is Wording.INJECTION]
    injecting = [arm.name for arm in told if arm.shadow is None]
    names = {arm.name for arm in arms}
    untold = names - {arm.name for arm in told}
    bare = [name for name in comparators if name in untold]
    if len(injecting) != 1 or not bare:
        raise InputError(
            "arms of a gate run",
            expected=f"one that injects knowledge, and one of {', '.join(comparators)}",
            found=", ".join(sorted(names)) or "none",
            cure="name them with --arms",
        )
    return bare[0], injecting[0]


def deliver(
    arm: Arm,
    step: Step,
    library: Library | None,
    *,
    lean: Sequence[str],
    picked: str | None = None,
    injection: str | None = None,
) -> Delivery:
    """What an arm gives one step.

    Args:
        arm: The arm.
        step: The step, with its canonical skills.
        library: The arm's library; None for an arm without one.
        lean: Names of the lean profile.
        picked: Skill that routing chose, for routed arms.
        injection: The case's team knowledge, for injecting arms.

    Raises:
        InputError: The library lacks a skill that is needed, the bodies to
            inject pass 32,000 bytes, or an injecting arm has nothing to inject.
    """
    skills = {skill.name: skill for skill in library.skills} if library else {}
    home = _at_home(arm, skills, lean)
    bodies = _bodies(arm, step, skills, picked)
    sections = [step.prompt]
    if arm.prompt is Wording.CATALOGUE:
        lines = [f"- {skill.name}: {skill.description}" for skill in home]
        sections.append("\n".join([CATALOGUE, *lines]))
    elif bodies:
        sections.append("\n\n".join([INJECTED_SKILLS, *(s.body for s in bodies)]))
    elif arm.prompt is Wording.INJECTION:
        sections.append(f"{INJECTED_KNOWLEDGE}\n\n{knowledge(arm, injection)}")
    injected = "".join(sections[1:]) if arm.prompt is not Wording.CATALOGUE else ""
    return Delivery(
        files={
            f"skills/{skill.name}/{path}": data
            for skill in home
            for path, data in skill.files.items()
        },
        prompt="\n\n".join(sections),
        offered=tuple(skill.name for skill in home),
        injected=tuple(skill.name for skill in bodies),
        n_injected_bytes=len(injected.encode()),
    )


def _at_home(
    arm: Arm, skills: Mapping[str, Skill], lean: Sequence[str]
) -> tuple[Skill, ...]:
    if arm.home is Home.NONE:
        return ()
    if arm.home is Home.ALL:
        return tuple(skills.values())
    return tuple(_named(name, skills, f"arm {arm.name}, lean profile") for name in lean)


def _bodies(
    arm: Arm, step: Step, skills: Mapping[str, Skill], picked: str | None
) -> tuple[Skill, ...]:
    names: Sequence[str] = ()
    if arm.prompt is Wording.CANONICAL:
        names = step.skills
    elif arm.prompt is Wording.ROUTED and picked is not None:
        names = (picked,)
    where = f"arm {arm.name}, step {step.slug}"
    chosen = tuple(_named(name, skills, where) for name in names)
    n_bytes = sum(len(skill.body.encode()) for skill in chosen)
    if n_bytes > MAX_INJECTED_BYTES:
        raise InputError(
            where,
            expected=f"at most {MAX_INJECTED_BYTES:,} bytes of injected skill bodies",
            found=f"{n_bytes:,} bytes ({', '.join(names)})",
            cure="name fewer or shorter skills",
        )
    return chosen


def knowledge(arm: Arm, injection: str | None) -> str:
    """What an injecting arm tells: the case's team knowledge, or a placebo for it.

    Raises:
        InputError: The case has none.
    """
    if injection is None:
        raise InputError(
            f"arm {arm.name}",
            expected="cases with an `injection`",
            found="a case without one",
            cure="leave the arm out with --arms, or choose a knowledge corpus",
        )
    return injection if arm.shadow is None else placebo(len(injection))


def placebo(length: int) -> str:
    """Inert sentences, about as long as the text they stand for.

    Args:
        length: Characters wanted; the text is within 10 % of it from 50 on.
    """
    words: list[str] = []
    for word in itertools.cycle(INERT.split()):
        if words and len(" ".join([*words, word])) > length:
            break
        words.append(word)
    return " ".join(words).rstrip(".,") + "."


def _named(name: str, skills: Mapping[str, Skill], where: str) -> Skill:
    if name not in skills:
        raise InputError(
            where,
            expected=f"a skill named {name!r} in the library",
            found=", ".join(skills) or "an empty library",
            cure="add the skill, or leave the arm out with --arms",
        )
    return skills[name]
