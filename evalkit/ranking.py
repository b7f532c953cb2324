"""Ranking: which skills of a library a text calls for, best first. Plan time only.

BM25 over stemmed words of a skill's name, description, headings and of the phrases
its users type (`triggers.toml`); what lies in the prose of its body does not count.
Scores are divided by what a word of one skill alone weighs, so that they mean the
same in small and large libraries: no word adds as much as 1.
What a plan ranks is sealed, so a run ranks nothing and needs no library for it.

`Plan.min_rank_score`, below which no model is asked, was chosen by this rule: the
largest tenth at which, of the probes of the built-in library that have an
accepted skill among their candidates, at most one in twenty loses it, in the probes
at even places and in those at odd places alike. It was chosen on these probes and
tells little beyond them: the best score of a probe that needs no skill is often that
of one that does. So it spares few calls, and it is for the model to say that none is
needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import bm25s
import msgspec
import numpy as np
import Stemmer
from numpy.typing import NDArray

from evalkit import files, routing
from evalkit.records import Candidate, Case, Library, Plan, Skill
from evalkit.routing import Candidates, Trigger, plain_words

WEIGHTS = {"name": 3, "description": 2, "phrases": 2, "headings": 1}
"""How often a word of each part of a skill counts."""
N_WORDS = 5
"""Words named of a candidate: those that weigh most."""
README_NAMES = ("README.md", "README.rst", "README.txt", "README")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


class Ranker:
    """An index over the skills of a library."""

    def __init__(self, library: Library) -> None:
        """Index a library.

        Raises:
            InputError: Its `triggers.toml` is wrong.
        """
        self._names = [skill.name for skill in library.skills]
        triggers = routing.triggers_of(library)
        self._phrases = [_known(name, triggers.get(name)) for name in self._names]
        self._stemmer: Any = Stemmer.Stemmer("english")
        documents = [
            self._document(skill, triggers.get(skill.name)) for skill in library.skills
        ]
        self._known = {word for document in documents for word in document}
        self._rare = math.log(1 + (len(documents) - 0.5) / 1.5)
        self._index = bm25s.BM25(method="lucene")
        if self._known:
            self._index.index(documents, show_progress=False)

    def rank(self, text: str, *, beside: str = "", n: int = 5) -> tuple[Candidate, ...]:
        """Skills a text calls for, best first: those admitted, then by score.

        A skill is admitted by its name, or by a phrase of two words or more. Only
        the text itself can admit one.

        Args:
            text: What a user typed.
            beside: Further words to score by, such as those of the workspace.
            n: The most candidates.
        """
        weights = self._weights(f"{text}\n{beside}")
        plain, written = f" {plain_words(text)} ", text.lower()
        found: list[tuple[int, Candidate]] = []
        for place, name in enumerate(self._names):
            score = math.fsum(float(column[place]) for column in weights.values())
            phrases = _phrases(name, written, plain, self._phrases[place])
            if score <= 0 and not phrases:
                continue
            n_words = [len(plain_words(phrase).split()) for phrase in phrases]
            direct = name in phrases or max(n_words, default=0) > 1
            candidate = Candidate(name, round(score, 3), phrases, direct)
            found.append((sum(n_words), candidate))
        found.sort(key=lambda pair: _order(*pair))
        return tuple(self._with_words(c, weights) for _, c in found[:n])

    def _document(self, skill: Skill, trigger: Trigger | None) -> list[str]:
        parts = {
            "name": skill.name,
            "description": skill.description,
            "phrases": "\n".join(trigger.phrases if trigger else ()),
            "headings": "\n".join(_HEADING.findall(_FENCED.sub("", skill.body))),
        }
        return [
            word
            for part, text in parts.items()
            for word in self._words(text, unique=False) * WEIGHTS[part]
        ]

    def _words(self, text: str, *, unique: bool = True) -> list[str]:
        """Stemmed words of a text, without stop words, in their order."""
        found = bm25s.tokenize(
            [text.replace("_", " ")],
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        words = cast(list[list[str]], found)[0]
        return list(dict.fromkeys(words)) if unique else words

    def _weights(self, text: str) -> dict[str, NDArray[np.float64]]:
        """What each known word of a text adds to the score of each skill."""
        words = [word for word in self._words(text) if word in self._known]
        return {word: self._index.get_scores([word]) / self._rare for word in words}

    def _with_words(
        self, found: Candidate, weights: dict[str, NDArray[np.float64]]
    ) -> Candidate:
        place = self._names.index(found.skill)
        own = {w: float(column[place]) for w, column in weights.items()}
        best = sorted((w for w in own if own[w] > 0), key=lambda w: -own[w])
        return msgspec.structs.replace(found, words=tuple(best[:N_WORDS]))


def rank_cases(
    library: Library, cases: Sequence[Case], plan: Plan, root: Path
) -> Candidates:
    """Candidates of every step of some cases, as a plan wants them ranked."""
    ranker = Ranker(library)
    found: Candidates = {}
    for case in cases:
        fixture = root / "cases" / case.id / "fixture"
        beside = workspace_words(fixture) if plan.workspace_words else ""
        found[case.id] = {
            step.slug: ranker.rank(step.prompt, beside=beside, n=plan.n_candidates)
            for step in case.steps
        }
    return found


def workspace_words(folder: Path) -> str:
    """What a workspace says of itself at a glance: its README's heading, file names."""
    entries = files.read_tree(folder)
    texts = {entry.path: entry.data for entry in entries}
    readme = next((texts[name] for name in README_NAMES if name in texts), b"")
    heading = _HEADING.search(readme.decode(errors="replace"))
    names = [re.sub(r"[^A-Za-z0-9]+", " ", entry.path) for entry in entries]
    return "\n".join([heading[1] if heading else "", *names])


def _known(name: str, trigger: Trigger | None) -> dict[str, str]:
    """A skill's phrases, its name as words first, each with what to look for."""
    phrases = (plain_words(name), *(trigger.phrases if trigger else ()))
    return {phrase: f" {plain_words(phrase)} " for phrase in phrases}


def _phrases(
    name: str, text: str, plain: str, known: dict[str, str]
) -> tuple[str, ...]:
    """Phrases of a skill in a text; its own name first where it is named outright."""
    found = [phrase for phrase, sought in known.items() if sought in plain]
    spaced = next(iter(known))
    if spaced not in found:
        return tuple(found)
    mentions = [f" {spaced} skill ", f" skill {spaced} "]
    written = rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])"
    named = any(mention in plain for mention in mentions) or (
        spaced != name and re.search(written, text) is not None
    )
    # A word such as "pagination" in a text is a word, not the skill of that name.
    told = [phrase for phrase in found if phrase != spaced or " " in spaced]
    return tuple(dict.fromkeys([name, *told] if named else told))


def _order(n_words: int, found: Candidate) -> tuple[bool, bool, int, float, str]:
    named = found.skill in found.phrases
    weight = n_words if found.direct else 0
    return (not named, not found.direct, -weight, -found.score, found.skill)
