"""What stands beside a transcript: checks and their evidence, the workspace, routing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from evalkit import files, wording
from evalkit.corpus import MAX_FIXTURE_FILE_BYTES
from evalkit.errors import InputError
from evalkit.explore.article import diff, output
from evalkit.explore.diff import diff_lines
from evalkit.explore.page import grid
from evalkit.explore.telling import Teller
from evalkit.explore.trial import FoundTrial, step_standing
from evalkit.explore.values import value
from evalkit.files import Entry
from evalkit.markup import escape
from evalkit.records import StepResult

MAX_DIFF_BYTES = 700_000
"""Of HTML, for the files of all steps that differ; the rest is named."""
MAX_SHOWN_EVIDENCE_BYTES = 600_000
MAX_ANSWER_CHARS = 6_000
N_ANSWERS = 8
"""Questions shown of a check, its last ones: a check ends where it fails."""
_CHECKS = ("Check", "Came out", "Weight", "Reason", "Evidence")
_CANDIDATES = ("Candidate", "Score", "Its phrases in the text", "Words that weigh most")


def checks(found: FoundTrial, tell: Teller) -> str:
    """The checks of each step with the grader's reasons, what failed first."""
    parts: list[str] = []
    for slug in found.case.steps:
        step = found.step(slug)
        parts.append(f"<h3>{escape(slug)}: {escape(tell(step_standing(step)))}</h3>")
        listed = sorted(step.grade.checks if step.grade else (), key=lambda c: c.passed)
        rows = [
            (
                escape(tell.name(check.id)),
                _mark(passed=check.passed),
                str(check.weight),
                escape(tell(check.reason)),
                "" if check.passed else f'<a href="#{_anchor(slug, n)}">questions</a>',
            )
            for n, check in enumerate(listed)
        ]
        parts.append(grid(f"Checks of step {slug}", _CHECKS, rows) if rows else "")
    return "".join(parts)


def check_evidence(found: FoundTrial, tell: Teller) -> str:
    """What the grader asked where a check failed, and what it was answered."""
    parts: list[str] = []
    left = MAX_SHOWN_EVIDENCE_BYTES
    for slug in found.case.steps:
        grade = found.step(slug).grade
        listed = sorted(grade.checks if grade else (), key=lambda c: c.passed)
        rows = _answers(found.step_evidence(slug).answers)
        for n, check in enumerate(listed):
            if check.passed:
                continue
            made = _asked([row for row in rows if row.get("check") == check.id], tell)
            if len(made) > left:
                made = "<p>[cut: there is no room for these here; the run has them]</p>"
            left -= len(made)
            name = escape(tell.name(f"{slug}: {check.id}"))
            parts.append(f'<h3 id="{_anchor(slug, n)}">{name}</h3>{made}')
    return "".join(parts) or "<p>No check failed.</p>"


def workspace(found: FoundTrial, root: Path, tell: Teller) -> str:
    """What each step changed: against the fixture, or what the step before left."""
    parts: list[str] = []
    notes, before = _fixture(found, root)
    left, name = MAX_DIFF_BYTES, "the fixture"
    for slug in found.case.steps:
        try:
            after = _delivered(found, slug)
        except InputError as error:
            said = f"{slug}: the workspace that was kept cannot be read: {error}"
            parts.append(f"<p>{escape(tell(said))}</p>")
            continue
        if after is None:
            parts.append(f"<p>{escape(slug)}: no workspace was kept.</p>")
            continue
        if before is not None:
            parts.append(f"<h3>{escape(slug)}, against {escape(name)}</h3>")
            made = _changes(before, after, tell, left)
            left -= len(made)
            parts.append(made)
        before, name = after, f"what {slug} left"
    return "".join([*(f"<p>{escape(tell(note))}</p>" for note in notes), *parts])


def routing(found: FoundTrial, tell: Teller) -> str:
    """The candidates of each step, what was picked of them, and what was used."""
    return "".join(
        _routed(found, slug, found.step(slug), tell) for slug in found.case.steps
    )


def _routed(found: FoundTrial, slug: str, step: StepResult, tell: Teller) -> str:
    sealed = found.registration.candidates.get(found.case.id, {}).get(slug, ())
    chosen, treated = step.selection, step.treatment
    listed = chosen.candidates if chosen else sealed
    rows = [
        (
            escape(tell.name(c.skill)),
            wording.score(c.score),
            escape(tell.name(wording.listed(c.phrases))),
            escape(tell.name(wording.listed(c.words))),
        )
        for c in listed
    ]
    if chosen is None:
        said = "Nothing was routed in this step."
    else:
        said = f"Picked: {chosen.picked or 'nothing'} ({chosen.how})."
    facts = [f"{slug}. {said}"]
    if treated:
        told = {
            "offered": treated.offered,
            "injected": treated.injected,
            "invoked": treated.invoked,
            "read": treated.read,
            "listed in its requests": treated.listed,
        }
        facts += [
            f"{word}: {'not seen, no gateway looked' if names is None else wording.listed(names)}."
            for word, names in told.items()
        ]
    shown = "".join(f"<p>{escape(tell(fact))}</p>" for fact in facts)
    table = grid(f"Candidates of step {slug}", _CANDIDATES, rows) if chosen else ""
    return shown + table


def _mark(*, passed: bool) -> str:
    word = "\N{CHECK MARK} passed" if passed else "\N{HEAVY MULTIPLICATION X} failed"
    return f'<span class="{"passed" if passed else "failed"}">{word}</span>'


def _anchor(slug: str, n: int) -> str:
    return f"check-{files.sha256(slug.encode())[:8]}-{n}"


def _answers(path: Path) -> list[dict[str, object]]:
    if not path.is_file():
        return []
    rows: list[dict[str, object]] = []
    for line in files.read_regular(path, max_bytes=2**30).splitlines():
        row = value(line)
        rows += [row] if isinstance(row, dict) else []
    return rows


def _asked(rows: list[dict[str, object]], tell: Teller) -> str:
    if not rows:
        return "<p>Nothing that was asked for it is recorded.</p>"
    shown = rows[-N_ANSWERS:]
    of = f"the last {len(shown)} of " if len(shown) < len(rows) else ""
    parts: list[str] = []
    with tell.at_most(MAX_ANSWER_CHARS, again=False):
        for row in shown:
            for word, name in (("asked", "q"), ("answered", "a")):
                text = json.dumps(row.get(name), ensure_ascii=False, indent=1)
                parts.append(f'<p class="meta">{word}</p>{output(tell(text))}')
    said = f"{of}{wording.n_of(len(rows), 'question')}"
    return f"<details><summary>{said}</summary>{''.join(parts)}</details>"


def _fixture(
    found: FoundTrial, root: Path
) -> tuple[list[str], tuple[Entry, ...] | None]:
    folder = root / "cases" / found.case.id / "fixture"
    try:
        entries = files.read_tree(folder, max_bytes=MAX_FIXTURE_FILE_BYTES)
    except InputError as error:
        return [
            f"The fixture cannot be read, so the first step has no diff: {error}"
        ], None
    if files.digest_entries(entries) != found.case.digests.fixture:
        return ["The fixture here is not the one that was registered."], entries
    return [], entries


def _delivered(found: FoundTrial, slug: str) -> tuple[Entry, ...] | None:
    evidence = found.step_evidence(slug)
    if not (evidence.folder / "workspace.tar").is_file():
        return None
    with files.private_folder() as private:
        evidence.workspace(private)
        return files.read_tree(private, max_bytes=2**30)


def _changes(
    before: Iterable[Entry], after: Iterable[Entry], tell: Teller, left: int
) -> str:
    old, new = ({entry.path: entry.data for entry in side} for side in (before, after))
    changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    parts, cut = [], []
    for path in changed:
        made = _change(path, old.get(path), new.get(path), tell)
        if len(made) > left:
            cut.append(path)
            continue
        left -= len(made)
        parts.append(made)
    if cut:
        named = escape(tell(wording.listed(cut)))
        parts.append(f"<p>[cut: there is no room here for {len(cut)}: {named}]</p>")
    return "".join(parts) or "<p>No file differs.</p>"


def _change(path: str, old: bytes | None, new: bytes | None, tell: Teller) -> str:
    word = "added" if old is None else "removed" if new is None else "changed"
    head = f"<h4>{word}: {escape(tell.name(path))}</h4>"
    texts = [_text(data) for data in (old, new)]
    sizes = " to ".join(
        f"{len(data):,} bytes" for data in (old, new) if data is not None
    )
    before, after = texts
    if before is None or after is None:
        return f'{head}<p class="meta">binary, {sizes}</p>'
    return head + diff(diff_lines(tell(before), tell(after)))


def _text(data: bytes | None) -> str | None:
    if data is None:
        return ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
