"""Is everything in place for a main run on injected knowledge?

Each line rests on evidence that is kept: proofs, the audit of the corpus, a gate run,
the texts themselves. What is not there is not passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from evalkit import ambiguity, corpus, files, readiness, reference
from evalkit.conclusions import READY
from evalkit.errors import ProofError
from evalkit.records import Case, Corpus, Gate, Record

PASS, FAIL = "pass", "fail"
MAX_SENTENCES = 2
MAX_CHARACTERS = 450
MAX_CODE_WORDS = 2
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_CODE = re.compile(
    r"`[^`]+`"  # what is quoted as code
    r"|\b\w+\([^)]*\)"  # a call
    r"|\b\w*[a-z]\w*_\w+"  # snake case
    r"|\b[A-Z]\w*[a-z][A-Z]\w*"  # camel case
    r"|\S*<\w+>\S*"  # a pattern with something to fill in
)
_RECIPE = re.compile(
    r"\n|^\s*\d+[.)]|\bfirst\b.*\bthen\b|\bstep \d", re.IGNORECASE | re.DOTALL
)


class Preflight(Record, frozen=True):
    """The lines of a corpus, and the digest that they hold for."""

    corpus: str
    digest: str
    lines: tuple[Gate, ...]

    @property
    def clear(self) -> bool:
        """True where every line is passed."""
        return all(line.verdict == PASS for line in self.lines)


def preflight(root: Path, name: str) -> Preflight:
    """Look at everything that a main run on a corpus needs; nothing is run.

    Args:
        root: Root with cases, graders, reference and runs.
        name: The corpus.

    Raises:
        InputError: There is no such corpus, or a file of it is wrong.
    """
    found = corpus.load_corpus(root, name)
    lines = (
        _line(
            "cases about knowledge",
            found,
            _not_about_knowledge,
            "Every case is one prompt, with the knowledge that it needs beside it.",
            "Some cases cannot be run with and without injected knowledge.",
        ),
        _line(
            "graders proven both ways",
            found,
            lambda case: _not_proven(root, case),
            "Every grader gives full marks to right deliveries and fails wrong ones.",
            "Some graders are not shown to tell right from wrong.",
        ),
        _audited(root, found),
        _piloted(root, found),
        _line(
            "injections short",
            found,
            _not_short,
            f"Every injection is knowledge in at most {MAX_SENTENCES} sentences, and "
            f"no walk-through.",
            "Some injections say how to do the work, not what the team knows.",
        ),
        _line(
            "rule told nowhere else",
            found,
            lambda case: iter(ambiguity.leaks(root, case)),
            "No prompt, and no file that an agent sees, states the rule.",
            "The rule can be read without being injected.",
        ),
    )
    return Preflight(found.name, found.digest, lines)


def _line(
    name: str,
    found: Corpus,
    faults: Callable[[Case], Iterator[str]],
    well: str,
    ill: str,
) -> Gate:
    listed = [f"{case.id}: {fault}" for case in found.cases for fault in faults(case)]
    return Gate(
        name,
        FAIL if listed else PASS,
        "; ".join(listed) or f"{len(found.cases)} of {len(found.cases)} cases",
        ill if listed else well,
    )


def _not_about_knowledge(case: Case) -> Iterator[str]:
    if len(case.steps) != 1:
        yield f"a chain of {len(case.steps)} steps"
    for key in ("injection", "principle", "leak_terms"):
        if not getattr(case, key):
            yield f"case.toml has no `{key}`"


def _not_proven(root: Path, case: Case) -> Iterator[str]:
    try:
        proof = reference.load_proof(root, case)
    except ProofError as error:
        yield str(error)
        return
    scores = {row.overlay: row.got.score for row in proof.rows}
    if not any(s == 1 for name, s in scores.items() if reference.is_right(name)):
        yield "no right delivery was graded"
    if not any(s < 1 for name, s in scores.items() if not reference.is_right(name)):
        yield "no wrong delivery was graded"


def _audited(root: Path, found: Corpus) -> Gate:
    path = ambiguity.audit_path(root, found)
    name, ill = "fixes audited", "It is not shown that good practice misses the rule."
    if not path.is_file():
        said = f"no verdict for {found.digest[:12]}: run `evalkit audit {found.name}`"
        return Gate(name, FAIL, said, ill)
    verdict = files.decode_json(
        files.read_regular(path), ambiguity.CorpusAudit, str(path)
    )
    flagged = [case.case for case in verdict.cases if case.flags]
    if verdict.digest != found.digest or flagged:
        return Gate(name, FAIL, f"{path.name}: flagged {', '.join(flagged)}", ill)
    return Gate(
        name,
        PASS,
        f"{path.name}: none of {len(verdict.cases)} cases flagged",
        "Several fixes look right, good practice picks a wrong one, and one class of "
        "fix passes.",
    )


def _piloted(root: Path, found: Corpus) -> Gate:
    runs = readiness.gate_runs(root, found)
    good = [run for run in runs if run.satisfies]
    name = "real pilot shows the signal"
    if good:
        last = good[-1]
        return Gate(
            name,
            PASS,
            f"{last.run}: {last.agent}, {last.model}, {last.verdict}",
            "With the knowledge the cases are solved, and without it they are not.",
        )
    listed = [
        f"{run.run}: {'SIMULATED' if run.simulated else run.verdict}" for run in runs
    ]
    return Gate(
        name,
        FAIL,
        "; ".join(listed)
        or f"no gate run on {found.digest[:12]}: `evalkit plan --design gate --corpus "
        f"{found.name} --seal`",
        f"No real gate run on these cases is {READY}; one that is simulated shows "
        f"nothing of a model.",
    )


def _not_short(case: Case) -> Iterator[str]:
    text = (case.injection or "").strip()
    n_sentences = len(_SENTENCE_END.findall(text))
    if n_sentences > MAX_SENTENCES:
        yield f"{n_sentences} sentences, at most {MAX_SENTENCES}"
    if len(text) > MAX_CHARACTERS:
        yield f"{len(text)} characters, at most {MAX_CHARACTERS}"
    words = _CODE.findall(text)
    if len(words) > MAX_CODE_WORDS:
        yield f"{len(words)} words of code ({', '.join(words)}), at most {MAX_CODE_WORDS}"
    if _RECIPE.search(text):
        yield "it goes step by step"
