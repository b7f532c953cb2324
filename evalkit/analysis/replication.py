"""How much of their treatment two arms with whole libraries have in common."""

from __future__ import annotations

import itertools

from evalkit import wording
from evalkit.conclusions import SharedSkills
from evalkit.records import ArmSeal, Home, Registration


def replication_rows(registration: Registration) -> tuple[SharedSkills, ...]:
    """Each pair of arms that offer whole libraries from different sources."""
    whole = [seal for seal in registration.arms if seal.arm.home is Home.ALL]
    return tuple(
        _row(one, other)
        for one, other in itertools.combinations(whole, 2)
        if one.library_source != other.library_source
    )


def _row(one: ArmSeal, other: ArmSeal) -> SharedSkills:
    mine, theirs = one.skill_digests, other.skill_digests
    both = sorted(mine.keys() & theirs.keys())
    same = tuple(name for name in both if mine[name] == theirs[name])
    return SharedSkills(
        arm=one.arm.name,
        other=other.arm.name,
        source=one.library_source,
        other_source=other.library_source,
        same=same,
        changed=tuple(name for name in both if name not in same),
        only_arm=tuple(sorted(mine.keys() - theirs.keys())),
        only_other=tuple(sorted(theirs.keys() - mine.keys())),
        sentence=_sentence(one, other, len(same), len({*mine, *theirs})),
    )


def _sentence(one: ArmSeal, other: ArmSeal, n_same: int, n: int) -> str:
    counted = (
        f"{n_same} of {wording.n_of(n, 'skill')} are the same to the byte in "
        f"{one.arm.name} and {other.arm.name}"
    )
    if n_same == n:
        said = "so a difference between these arms cannot be due to skills"
    elif n_same:
        said = (
            f"so a difference between these arms cannot be due to "
            f"{'that one' if n_same == 1 else 'those'}, only to the {n - n_same} "
            f"that changed or that only one arm has: they share "
            f"{'most' if 2 * n_same > n else 'no more than half'} of their treatment"
        )
    else:
        said = "so they share no treatment, and neither arm repeats the other"
    wordings = [seal.arm.prompt.value for seal in (one, other)]
    prompts = (
        f" Their prompts differ as well ({' and '.join(wordings)}), and a difference "
        f"may be due to that."
        if len(set(wordings)) > 1
        else ""
    )
    return f"{counted}, {said}.{prompts}"
