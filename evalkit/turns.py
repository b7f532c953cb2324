"""Which trial begins next, where several blocks are under way.

Trials begin in the order of the schedule. A block begins only where no trial of a
begun one can, so no more are under way than keep everybody busy; and one that has
begun is carried out to its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from evalkit.records import TrialKey

Block = tuple[TrialKey, ...]


class _Turn(NamedTuple):
    """A begun block: the trials of this round that have yet to begin, and have."""

    block: Block
    waiting: deque[TrialKey]
    under_way: set[TrialKey]


class Turns:
    """Blocks in turn, the oldest first.

    A block is walked in rounds: each trial that needs it is tried once, then those
    whose attempts did not count are tried again.

    Args:
        blocks: In the order of the schedule.
        todo: Trials of a block to try now; none where it is done, or excluded.
    """

    def __init__(
        self, blocks: Iterable[Block], todo: Callable[[Block], list[TrialKey]]
    ) -> None:
        self._ahead = deque(blocks)
        self._todo = todo
        self._begun: list[_Turn] = []

    def is_ready(self) -> bool:
        """True where a trial of a begun block can begin."""
        for turn in self._begun:
            if not turn.waiting and not turn.under_way:
                turn.waiting.extend(self._todo(turn.block))
        self._begun = [turn for turn in self._begun if turn.waiting or turn.under_way]
        return any(turn.waiting for turn in self._begun)

    def ahead(self) -> list[TrialKey]:
        """Trials of the next block to begin; none where all have begun."""
        while self._ahead:
            if found := self._todo(self._ahead[0]):
                return found
            self._ahead.popleft()
        return []

    def begin_block(self) -> None:
        """Begin the next block."""
        self._begun.append(_Turn(self._ahead.popleft(), deque(), set()))

    def begin_trial(self) -> TrialKey:
        """Begin the next trial; there must be one that is ready."""
        turn = next(turn for turn in self._begun if turn.waiting)
        key = turn.waiting.popleft()
        turn.under_way.add(key)
        return key

    def end_trial(self, key: TrialKey) -> None:
        """An attempt at this trial ended."""
        for turn in self._begun:
            turn.under_way.discard(key)

    def left(self) -> Iterator[tuple[TrialKey, bool]]:
        """Trials of begun blocks that have yet to count; True where under way."""
        for turn in self._begun:
            for key in self._todo(turn.block):
                yield key, key in turn.under_way
