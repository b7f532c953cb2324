"""What an explorer does for whoever looks through it; knows nothing of a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from evalkit.errors import EvalkitError, InputError
from evalkit.explore import asked
from evalkit.explore.article import SHAPES
from evalkit.explore.asked import Question, id_of, read_question
from evalkit.explore.catalogue import Catalogue, listed
from evalkit.explore.comparing import N_ROWS, Comparison
from evalkit.explore.items import FILTERS
from evalkit.explore.pairing import find_other
from evalkit.explore.panels import offered, panel
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.timeline import timeline
from evalkit.explore.trial import FoundTrial, transcripts_of
from evalkit.explore.viewing import N_ITEMS, View
from evalkit.parameters import TranscriptsParameters

MAX_VIEWS = 6
"""Transcripts held open at once; the one that was not asked of longest is let go."""


class _Opened(NamedTuple):
    view: View
    path: Path
    trial: FoundTrial | None


class Session:
    """Answers questions about runs and transcripts, each with one dictionary.

    A question that is none, and one that cannot be answered, gets the answer `error`
    with a sentence.

    Args:
        folder: Folder in or below a root.
        start: What to begin with.
        known: Secrets by their value, which are hidden where secrets are.
    """

    def __init__(
        self,
        folder: Path,
        start: TranscriptsParameters | None = None,
        known: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder
        self._start = start or TranscriptsParameters()
        self._known = known
        self._catalogue = Catalogue(folder)
        self._views: dict[int, _Opened] = {}
        self._compared: tuple[int, Comparison] | None = None
        self._n_opened = 0
        self._hides = False
        self._answers: dict[type[asked.Asked], Callable[[Any], Any]] = {
            asked.Hello: self._hello,
            asked.Run: lambda q: self._catalogue.run(q.run),
            asked.Trial: self._trial,
            asked.Open: self._open,
            asked.File: self._file,
            asked.Choose: self._choose,
            asked.Page: lambda q: self._view(q).page(q.page),
            asked.Whole: lambda q: self._view(q).whole(q.n),
            asked.Place: lambda q: {"at": self._view(q).place(q.n)},
            asked.Jump: self._jump,
            asked.Find: self._find,
            asked.More: lambda q: self._view(q).found(),
            asked.Strip: self._strip,
            asked.Beside: self._beside,
            asked.Redact: self._redact,
            asked.Pair: self._pair,
            asked.Rows: self._rows,
        }

    def answer(self, content: Any) -> dict[str, Any]:
        """The answer to a message, whatever it is; it carries the message's `id`."""
        try:
            found = self._found(read_question(content))
        except EvalkitError as error:
            found = {"error": str(error)}
        except OSError as error:
            found = {"error": f"{error.filename or 'a file'}: {error.strerror}"}
        except Exception as error:  # noqa: BLE001 - every question gets its answer
            found = {"error": f"{type(error).__name__}: {error}"}
        return {**found, "id": id_of(content)}

    def _found(self, question: Question) -> dict[str, Any]:
        return msgspec.to_builtins(self._answers[type(question)](question))

    def _hello(self, _: asked.Hello) -> dict[str, Any]:
        return {
            "runs": self._catalogue.runs(),
            "start": self._start,
            "hides": self._hides,
            "filters": tuple(FILTERS),
            "shapes": {kind.value: shape for kind, shape in SHAPES.items()},
            "n_items": N_ITEMS,
            "n_rows": N_ROWS,
        }

    def _trial(self, question: asked.Trial) -> Any:
        found = self._catalogue.trial(question.run, question.key, question.attempt)
        return listed(question.run, found, Teller(self._redactor()))

    def _open(self, question: asked.Open) -> dict[str, Any]:
        found = self._catalogue.trial(question.run, question.key, question.attempt)
        kept = {one.name: one for one in transcripts_of(found)}
        if question.transcript not in kept:
            raise InputError(
                f"transcript {question.transcript!r}",
                expected=" or ".join(kept) or "one that was kept",
                found="none of that name",
                cure="choose again",
            )
        return self._opened(kept[question.transcript].path, found)

    def _file(self, question: asked.File) -> dict[str, Any]:
        return self._opened(self._folder / Path(question.path).expanduser(), None)

    def _opened(self, path: Path, found: FoundTrial | None) -> dict[str, Any]:
        view = View(path, self._redactor())
        self._n_opened += 1
        self._views[self._n_opened] = _Opened(view, path, found)
        for number in list(self._views)[:-MAX_VIEWS]:
            del self._views[number]
        return {
            "view": self._n_opened,
            "path": str(path),
            "kind": view.transcript.kind,
            "n": len(view.numbers),
            "counts": view.transcript.counts(),
            "stamp": found.stamp if found else None,
            "beside": offered(found),
        }

    def _choose(self, question: asked.Choose) -> dict[str, Any]:
        view = self._view(question)
        view.choose(question.names)
        return {"n": len(view.numbers), "at": view.place(question.n)}

    def _jump(self, question: asked.Jump) -> dict[str, Any]:
        view = self._view(question)
        n = view.jump(question.name, question.n, back=question.back)
        return {"n": n, "at": None if n is None else view.place(n)}

    def _find(self, question: asked.Find) -> Any:
        view = self._view(question)
        view.find(question.query, regex=question.regex, case=question.case)
        return view.found()

    def _strip(self, question: asked.Strip) -> dict[str, Any]:
        return {"buckets": timeline(self._view(question).transcript)}

    def _beside(self, question: asked.Beside) -> dict[str, Any]:
        _, path, found = self._opened_as(question)
        root = self._catalogue.root_of(found) if found else self._folder
        return {"html": panel(question.what, path, found, root, self._redactor())}

    def _pair(self, question: asked.Pair) -> dict[str, Any]:
        left = self._catalogue.trial(question.run, question.key, question.attempt)
        right = find_other(left, question.other)
        found = Comparison(left, right, self._redactor())
        self._n_opened += 1
        self._compared = self._n_opened, found
        return {"pair": self._n_opened, **msgspec.structs.asdict(found.listed())}

    def _rows(self, question: asked.Rows) -> Any:
        number, found = self._compared or (0, None)
        if found is None or number != question.pair:
            raise InputError(
                f"comparison {question.pair}",
                expected="the one that was made last",
                found=f"comparison {number}" if number else "none",
                cure="compare the two again",
            )
        return found.rows(question.part, question.page)

    def _redact(self, question: asked.Redact) -> dict[str, Any]:
        self._hides = question.on
        for opened in self._views.values():
            opened.view.redact(self._redactor())
        return {"hides": self._hides}

    def _redactor(self) -> Redactor:
        return Redactor(self._known, on=self._hides)

    def _view(self, question: asked.OfView) -> View:
        return self._opened_as(question).view

    def _opened_as(self, question: asked.OfView) -> _Opened:
        found = self._views.pop(question.view, None)
        if found is None:
            raise InputError(
                f"transcript {question.view}",
                expected="one that is open",
                found="none of that number",
                cure="open it again",
            )
        self._views[question.view] = found
        return found
