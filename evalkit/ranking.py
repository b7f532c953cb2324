"""Ranking: which skills of a library a text calls for, best first. Plan time only.

BM25 over stemmed words of a skill's name, description, headings and of the phrases
its users type (`triggers.toml`); what lies in the prose of its body does not count.
What a plan ranks is sealed, so a run ranks nothing and needs no library for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import bm25s
import Stemmer

from evalkit import files, routing
from evalkit.records import Candidate, Case, Library, Plan, Skill
from evalkit.routing import Candidates, Trigger

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
        self._triggers = routing.triggers_of(library)
        self._stemmer: Any = Stemmer.Stemmer("english")
        documents = [
            self._document(skill, self._triggers.get(skill.name))
            for skill in library.skills
        ]
        self._known = {word for document in documents for word in document}
        self._index = bm25s.BM25()
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
        words = [w for w in self._words(f"{text}\n{beside}") if w in self._known]
        scores = self._scores(words)
        plain = _plain(text)
        found: list[tuple[int, Candidate]] = []
        for place, name in enumerate(self._names):
            phrases = _phrases(name, text, plain, self._triggers.get(name))
            if scores[place] <= 0 and not phrases:
                continue
            n_words = [len(phrase.split()) for phrase in phrases]
            direct = name in phrases or max(n_words, default=0) > 1
            score = round(scores[place], 3)
            found.append((sum(n_words), Candidate(name, score, phrases, direct)))
        found.sort(key=lambda pair: _order(*pair))
        return tuple(self._with_words(c, words) for _, c in found[:n])

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

    def _scores(self, words: Sequence[str]) -> list[float]:
        if not words:
            return [0.0] * len(self._names)
        return [float(score) for score in self._index.get_scores(list(words))]

    def _with_words(self, found: Candidate, words: Sequence[str]) -> Candidate:
        place = self._names.index(found.skill)
        weights = {word: self._scores([word])[place] for word in words}
        best = sorted((w for w in words if weights[w] > 0), key=lambda w: -weights[w])
        return Candidate(
            found.skill,
            found.score,
            found.phrases,
            found.direct,
            words=tuple(best[:N_WORDS]),
        )


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


def _phrases(
    name: str, text: str, plain: str, trigger: Trigger | None
) -> tuple[str, ...]:
    """Phrases of a skill in a text; its own name first where it is named outright."""
    spaced = _plain(name).strip()
    mentions = [f"{spaced} skill", f"skill {spaced}"]
    written = rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])"
    named = any(f" {mention} " in plain for mention in mentions) or (
        spaced != name and re.search(written, text.lower()) is not None
    )
    known = (spaced, *(trigger.phrases if trigger else ()))
    found = [phrase for phrase in known if _plain(phrase) in plain]
    # A word such as "pagination" in a text is a word, not the skill of that name.
    told = [phrase for phrase in found if phrase != spaced or " " in spaced]
    return tuple(dict.fromkeys([name, *told] if named else told))


def _order(n_words: int, found: Candidate) -> tuple[bool, bool, int, float, str]:
    named = found.skill in found.phrases
    weight = n_words if found.direct else 0
    return (not named, not found.direct, -weight, -found.score, found.skill)


def _plain(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "
