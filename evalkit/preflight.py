"""Is everything in place for a main run on injected knowledge?

Each line rests on evidence that is kept: proofs, the audit of the corpus, a gate run,
the texts themselves. What is not there is not passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from evalkit import ambiguity, corpus, files, readiness, reference
from evalkit.conclusions import READY, REDESIGN
from evalkit.errors import EvalkitError
from evalkit.records import Case, Corpus, Gate, Record
from evalkit.wording import n_of

PASS, FAIL = "pass", "fail"
MAX_SENTENCES = 2
MAX_CHARACTERS = 450
MAX_CODE_WORDS = 2
_SENTENCE_END = re.compile(r"(?<!\b[a-z])[.!?]+[\"')\]]*(?=\s|$)|;", re.IGNORECASE)
"""Where a sentence ends, not after the one letter of an abbreviation; and what is
joined by a semicolon could be two."""
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
            not_short,
            f"Every injection is knowledge in at most {MAX_SENTENCES} sentences, and "
            f"no walk-through.",
            "Some injections say how to do the work, not what the team knows.",
        ),
        _line(
            "rule told nowhere else",
            found,
            lambda case: iter(ambiguity.leaks(root, case)),
            "No phrase that its author says would give the rule away, and no long "
            "quotation of the injection, stands where an agent sees it.",
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
    listed: list[str] = []
    for case in found.cases:
        try:
            listed += [f"{case.id}: {fault}" for fault in faults(case)]
        except (EvalkitError, OSError) as error:
            listed.append(f"{case.id}: {error}")
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
    proof = reference.load_proof(root, case)
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
    try:
        verdict = files.decode_json(
            files.read_regular(path), ambiguity.CorpusAudit, str(path)
        )
    except (EvalkitError, OSError) as error:
        return Gate(name, FAIL, str(error), ill)
    tried = {case.case: case.reference for case in verdict.cases}
    if tried != {case.id: case.digests.reference for case in found.cases}:
        said = f"{path.name}: of other fixes; run `evalkit audit {found.name}` again"
        return Gate(name, FAIL, said, ill)
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
    """Passed where the last real gate run is ready and no other was solved untold.

    All are named: whoever repeats a gate run until one is ready has shown little.
    """
    runs, unread = readiness.gate_runs(root, found)
    real = [run for run in runs if not run.simulated]
    listed = [
        f"{run.run}: {'SIMULATED' if run.simulated else run.verdict}, {run.injected} "
        f"against {run.baseline}, {run.agent}, {run.model}"
        for run in runs
    ]
    listed += [f"not read: {fault}" for fault in unread]
    well = bool(real) and real[-1].satisfies
    well = well and all(run.verdict != REDESIGN for run in real)
    return Gate(
        "real pilot shows the signal",
        PASS if well else FAIL,
        "; ".join(listed)
        or f"no gate run on {found.digest[:12]}: `evalkit plan --design gate --corpus "
        f"{found.name} --seal`",
        f"With the knowledge the cases are solved, and without it they are not: the "
        f"last of {n_of(len(real), 'real gate run')} is {READY}."
        if well
        else f"The last real gate run on these cases is not {READY}, or there is none, "
        f"or one showed that they are solved without the knowledge.",
    )


def not_short(case: Case) -> Iterator[str]:
    """Why an injection is more than a bit of knowledge; nothing where it is not."""
    text = (case.injection or "").strip()
    n_sentences = sum(bool(part.strip()) for part in _SENTENCE_END.split(text))
    if n_sentences > MAX_SENTENCES:
        yield f"{n_sentences} sentences, at most {MAX_SENTENCES}"
    if len(text) > MAX_CHARACTERS:
        yield f"{len(text)} characters, at most {MAX_CHARACTERS}"
    words = _CODE.findall(text)
    if len(words) > MAX_CODE_WORDS:
        yield f"{len(words)} words of code ({', '.join(words)}), at most {MAX_CODE_WORDS}"
    if _RECIPE.search(text):
        yield "it goes step by step"
