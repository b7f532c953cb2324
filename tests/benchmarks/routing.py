"""What ranking costs: a library of 300 made-up skills, queries of a task's length.

    python tests/benchmarks/routing.py [SKILLS] [QUERIES]

Words are drawn from a seeded vocabulary with few common and many rare ones. Prints
the time of indexing and of a query; asserts nothing.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import sides

from evalkit.ranking import Ranker
from evalkit.records import Library, Skill

N_WORDS = 4_000
SEED = 1
SYLLABLES = [f"{one}{two}" for one in "bcdfglm" for two in "aeiou"]


def _library(n_skills: int, rng: random.Random, words: list[str]) -> Library:
    skills = tuple(_skill(n, rng, words) for n in range(n_skills))
    phrases = "\n".join(
        f"[{skill.name}]\nphrases = {[f'{skill.name} {_text(2, rng, words)}' for _ in range(10)]}"
        for skill in skills
    )
    return Library("made", "made", skills, "", phrases.encode())


def _skill(n: int, rng: random.Random, words: list[str]) -> Skill:
    body = "\n".join(
        f"## {_text(4, rng, words)}\n\n{_text(120, rng, words)}\n" for _ in range(8)
    )
    return Skill(
        f"skill-{n}-{_text(1, rng, words)}", _text(25, rng, words), body, {}, ""
    )


def _text(n: int, rng: random.Random, words: list[str]) -> str:
    # Ranks drawn log-uniformly, so that few words are common as in real text.
    return " ".join(words[int(N_WORDS ** rng.random()) - 1] for _ in range(n))


def main(n_skills: int = 300, n_queries: int = 200) -> None:
    """Index, rank, print."""
    sides.print_conditions("bm25s", "pystemmer", seed=SEED)
    rng = random.Random(SEED)
    words = ["".join(rng.choices(SYLLABLES, k=3)) for _ in range(N_WORDS)]
    library = _library(n_skills, rng, words)
    started = time.perf_counter()
    ranker = Ranker(library)
    indexed_ms = (time.perf_counter() - started) * 1000
    print(f"{n_skills} skills indexed in {indexed_ms:.0f} ms")
    for length in (8, 60, 400):
        times: list[float] = []
        for _ in range(n_queries):
            query = _text(length, rng, words)
            started = time.perf_counter()
            ranker.rank(query)
            times.append((time.perf_counter() - started) * 1000)
        worst = sorted(times)[int(0.99 * (n_queries - 1))]
        print(
            f"query of {length} words: median {statistics.median(times):.2f} ms, "
            f"99 of 100 within {worst:.2f} ms, {n_queries} queries"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
