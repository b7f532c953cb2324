"""Does the right skill stand among the candidates? Counts, before any model.

A label is a set of accepted skills, one or more; an empty one says that none is
needed. Whoever picks can be right only where a candidate is accepted: that share
is the ceiling of every accuracy after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evalkit import routing
from evalkit.records import Plan, Record, Selection

N_CONSTANT = 5


class Labelled(Record, frozen=True):
    """A text's candidates, best first, beside the skills accepted for it.

    `asks` says whether a model is, or was, asked to choose.
    """

    accepted: tuple[str, ...]
    candidates: tuple[str, ...]
    picked: str | None
    how: str
    asks: bool

    @property
    def first(self) -> str | None:
        """The best candidate."""
        return self.candidates[0] if self.candidates else None

    @property
    def held(self) -> bool:
        """True where a candidate is accepted."""
        return any(skill in self.accepted for skill in self.candidates)

    @property
    def right(self) -> bool:
        """True where what was picked is accepted, or none is needed nor picked."""
        return self.picked in self.accepted if self.accepted else self.picked is None


class Recall(Record, frozen=True):
    """Counts over labelled texts, and the same for a list that never changes.

    `n_needing` texts need a skill; `n_held` of them have one among their
    candidates, and `n_constant_held` would with the list `constant`, the skills
    accepted most often. `n_admitted` texts get a skill without a model, rightly
    `n_admitted_right` of them. `n_abstained` get none, without a model.
    """

    n: int
    n_needing: int
    n_held: int
    n_admitted: int
    n_admitted_right: int
    n_abstained: int
    constant: tuple[str, ...]
    n_constant_held: int


def label(accepted: Sequence[str], selection: Selection, plan: Plan) -> Labelled:
    """A selection beside the skills that are accepted."""
    return Labelled(
        tuple(accepted),
        tuple(candidate.skill for candidate in selection.candidates),
        selection.picked,
        selection.how,
        asks=bool(routing.to_ask(selection, plan.min_rank_score)),
    )


def recall(labelled: Sequence[Labelled]) -> Recall:
    """What routing can reach over some labelled texts."""
    needing = [one for one in labelled if one.accepted]
    admitted = [one for one in labelled if one.how in {"direct", "explicit"}]
    constant = most_frequent([one.accepted for one in needing])
    return Recall(
        n=len(labelled),
        n_needing=len(needing),
        n_held=sum(one.held for one in needing),
        n_admitted=len(admitted),
        n_admitted_right=sum(one.right for one in admitted),
        n_abstained=sum(one.picked is None and not one.asks for one in labelled),
        constant=constant,
        n_constant_held=sum(bool({*one.accepted} & {*constant}) for one in needing),
    )


def most_frequent(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The five skills that most labels accept; equal ones by name."""
    counts = Counter(skill for label in labels for skill in set(label))
    ranked = sorted(counts, key=lambda skill: (-counts[skill], skill))
    return tuple(ranked[:N_CONSTANT])
