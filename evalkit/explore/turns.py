"""The turns of a transcript: what an agent did at a time, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from evalkit.explore.alignment import Key
from evalkit.explore.given import main_argument
from evalkit.explore.index import Transcript
from evalkit.explore.items import Facet, Item
from evalkit.explore.telling import LINE_SEEN
from evalkit.records import Record

_AGENT = Facet.ASSISTANT | Facet.THINKING | Facet.CALL
_ACT = Facet.CALL | Facet.RESULT
_BESIDE = Facet.SYSTEM | Facet.UNKNOWN | Facet.BAD
_DIGEST_BYTES = 12


class TurnKind(StrEnum):
    """What a turn is; `CLI` holds what stands before all others."""

    ACTION = "turn"
    PROMPT = "prompt"
    CLI = "the CLI's own"


class Called(Record, frozen=True):
    """A tool that was called, and how the argument that tells most begins."""

    tool: str
    argument: str


class Turn(Record, frozen=True):
    """One action of an agent, or one thing it was asked.

    Its texts are beginnings of those of the transcript, as they stand there: they go
    through a `Teller` before they are shown.

    What subagents did lies in the turn of the call that launched them, and is not
    compared.

    Args:
        n: Its number among the turns of its kind, from 1.
        kind: What it is.
        start: Number of its first item; all up to `stop` are its own.
        stop: Number of the first item after it.
        calls: Its calls, without those of subagents.
        said: How its words begin.
        n_errors: Its items that tell of an error.
        n_edits: Its calls that edit.
        time: When it began, as its row says it.
        words: Digest of all that was said in it.
        inputs: Digest of all that its calls were given.
        results: Digest of all that they gave back.
    """

    n: int
    kind: TurnKind
    start: int
    stop: int
    calls: tuple[Called, ...]
    said: str
    n_errors: int
    n_edits: int
    time: str | None
    words: str
    inputs: str
    results: str

    @property
    def name(self) -> str:
        """Its kind and number, in words."""
        return self.kind.value if self.kind is TurnKind.CLI else f"{self.kind} {self.n}"

    @property
    def key(self) -> Key:
        """What it is aligned by: its calls by tool and argument, else its words.

        One call that another turn has too is a part in common with it.
        """
        if self.calls:
            told = frozenset(call for call in self.calls if call.argument)
            is_told = all(call.argument for call in self.calls)
            exact = self.calls, "" if is_told else self.inputs
            return Key(exact, self.calls[0].tool, told)
        return Key((self.kind, self.words), self.kind)


class Turns(NamedTuple):
    """The turns of a transcript, all its items in them, and calls by tool.

    `tools` counts the calls of subagents too.
    """

    turns: Sequence[Turn]
    tools: Counter[str]


def read_turns(transcript: Transcript) -> Turns:
    """Read a transcript once; what is held grows with its turns, not its texts."""
    turns: list[Turn] = []
    tools: Counter[str] = Counter()
    numbers: Counter[TurnKind] = Counter()
    now: _Draft | None = None
    for item in transcript.each(range(len(transcript))):
        if item.facets & Facet.CALL:
            tools[item.tool or ""] += 1
        kind = now.followed_by(item) if now else _begun_by(item) or TurnKind.CLI
        if kind is not None:
            if now:
                turns.append(now.turn(item.n))
            numbers[kind] += 1
            now = _Draft(kind, numbers[kind], item.n)
        if now:
            now.take(item)
    if now:
        turns.append(now.turn(len(transcript)))
    return Turns(turns, tools)


def _begun_by(item: Item) -> TurnKind | None:
    """The kind of turn that such an item may begin; None: it begins none."""
    if item.agent or item.facets & (Facet.SUBAGENT | _BESIDE | Facet.SUMMARY):
        return None
    if item.facets & Facet.USER:
        return TurnKind.PROMPT
    return TurnKind.ACTION if item.facets & _AGENT else None


class _Draft:
    """A turn, item by item."""

    def __init__(self, kind: TurnKind, n: int, start: int) -> None:
        self._kind = kind
        self._n = n
        self._start = start
        self._message: str | None = None
        self._acts = 0
        self._calls: list[Called] = []
        self._said = ""
        self._n_errors = self._n_edits = 0
        self._time: str | None = None
        self._words, self._inputs, self._results = (
            blake2b(digest_size=_DIGEST_BYTES) for _ in range(3)
        )

    def followed_by(self, item: Item) -> TurnKind | None:
        """The kind of the turn that an item begins; None: it belongs to this one."""
        kind = _begun_by(item)
        if kind is not TurnKind.ACTION or self._kind is not TurnKind.ACTION:
            return None if kind is self._kind else kind
        if item.message_id or self._message:
            return None if item.message_id == self._message else TurnKind.ACTION
        # Codex names no message: words after a call, all after a result, are the next.
        is_call = item.facets & Facet.CALL
        over = self._acts & (Facet.RESULT if is_call else _ACT)
        return TurnKind.ACTION if over else None

    def take(self, item: Item) -> None:
        """One more of its items."""
        facets = item.facets
        if item.agent or facets & Facet.SUBAGENT:
            return
        self._time = self._time or item.time
        self._n_errors += bool(facets & Facet.ERROR)
        if facets & _BESIDE:
            return
        text = item.text.encode(errors="replace")
        if facets & Facet.CALL:
            self._n_edits += bool(facets & Facet.EDIT)
            argument = _begin(main_argument(item.input))
            self._calls.append(Called(item.tool or "", argument))
            _add(self._inputs, text)
        elif facets & Facet.RESULT:
            _add(self._results, text)
        else:
            _add(self._words, text)
            if not facets & Facet.THINKING:
                self._said = self._said or item.text
        if facets & _AGENT:
            self._message = self._message or item.message_id
        self._acts |= facets & _ACT

    def turn(self, stop: int) -> Turn:
        """The turn, before the item `stop`."""
        return Turn(
            n=self._n,
            kind=self._kind,
            start=self._start,
            stop=stop,
            calls=tuple(self._calls),
            said=_begin(self._said),
            n_errors=self._n_errors,
            n_edits=self._n_edits,
            time=self._time,
            words=self._words.hexdigest(),
            inputs=self._inputs.hexdigest(),
            results=self._results.hexdigest(),
        )


def _begin(text: str) -> str:
    """How a text begins, on one line."""
    return " ".join(text[:LINE_SEEN].split())


def _add(digest: blake2b, text: bytes) -> None:
    # The length keeps two texts apart from one that is both.
    digest.update(b"%d " % len(text))
    digest.update(text)
