"""Can the cases tell injected knowledge apart? The verdict that was saved."""

from __future__ import annotations

from pathlib import Path

from evalkit import ambiguity, files, wording
from evalkit.ambiguity import CaseAudit, CorpusAudit
from evalkit.audit.finding import FAIL, PASS, UNKNOWN, Finding
from evalkit.dossier.part import Part, told
from evalkit.errors import EvalkitError
from evalkit.markup import Column, Fold, Prose, Table
from evalkit.records import Corpus, Kind, Preset, Registration

_NAME = "fixes and verdicts"


def fixes_and_verdicts(registration: Registration, root: Path) -> Part:
    """What `evalkit audit CORPUS` said of the registered corpus.

    Args:
        registration: What was registered.
        root: Root with kept verdicts.
    """
    if {seal.kind for seal in registration.cases} != {Kind.KNOWLEDGE}:
        said = (
            f"This does not apply: the cases of {registration.plan.corpus} are not all "
            f"about injected knowledge, so nobody asks whether good practice would "
            f"find it."
        )
        return Part((Prose((said,)),))
    cure = f"run `evalkit audit {registration.plan.corpus}`"
    path = ambiguity.audit_path(root, _registered(registration))
    if not path.is_file():
        digest = wording.short(registration.corpus_digest)
        missing = Finding(
            _NAME,
            UNKNOWN,
            (f"not made: no verdict on the registered corpus {digest} is kept here",),
            f"It is not shown that good practice misses the rules: {cure}.",
        )
        return told("Fixes and verdicts", [missing])
    try:
        verdict = files.decode_json(files.read_regular(path), CorpusAudit, path)
    except (EvalkitError, OSError) as error:
        damaged = f"The saved verdict cannot be read: {cure}."
        return told(
            "Fixes and verdicts", [Finding(_NAME, FAIL, (str(error),), damaged)]
        )
    return told(
        "Fixes and verdicts",
        [_judge(registration, verdict, path.name, cure)],
        [_fixes(case) for case in verdict.cases],
        note=f"The verdict is read as it was saved; `evalkit audit "
        f"{registration.plan.corpus}` tries every fix again.",
    )


def _registered(registration: Registration) -> Corpus:
    """The corpus under its registered digest, for what is kept under it."""
    plan = registration.plan
    preset = Preset(plan.arms, plan.repeats or 0)
    return Corpus(plan.corpus, (), preset, registration.corpus_digest, pinned=False)


def _judge(
    registration: Registration, verdict: CorpusAudit, name: str, cure: str
) -> Finding:
    registered = registration.corpus_digest
    wanted = sorted(seal.id for seal in registration.cases)
    found = sorted(case.case for case in verdict.cases)
    others: list[str] = []
    if verdict.digest != registered:
        others.append(f"{name}: of {verdict.digest}, registered {registered}")
    if found != wanted:
        others.append(
            f"{name}: about {wording.listed(found)}, registered "
            f"{wording.listed(wanted)}"
        )
    if others:
        said = f"The saved verdict is not about the registered corpus: {cure}."
        return Finding(_NAME, FAIL, tuple(others), said)
    flags = [f"{case.case}: {flag}" for case in verdict.cases for flag in case.flags]
    if flags:
        said = (
            "Some cases cannot tell injected knowledge from good practice: mend them."
        )
        return Finding(_NAME, FAIL, tuple(flags), said)
    n_fixes = sum(len(case.fixes) for case in verdict.cases)
    return Finding(
        _NAME,
        PASS,
        (
            f"{wording.n_of(n_fixes, 'plausible fix', 'plausible fixes')} of "
            f"{wording.n_of(len(found), 'case')}, none flagged; {name}",
        ),
        "Several fixes look right, good practice picks a wrong one, and one kind of "
        "fix passes.",
    )


def _fixes(case: CaseAudit) -> Fold:
    rows = [
        (
            fix.overlay,
            "yes" if fix.default else "",
            {True: "pass", False: "fail", None: f"no verdict: {fix.died}"}[fix.visible],
            wording.score(fix.score),
            "passes" if fix.passes else "fails",
        )
        for fix in case.fixes
    ]
    columns = (
        *map(Column, ("Fix", "Good practice picks it", "Tests that an agent sees")),
        Column("Score", number=True),
        Column("The grader"),
    )
    flagged = f"{wording.n_of(len(case.flags), 'flag')}" if case.flags else "no flag"
    table = Table(f"{case.case}: plausible fixes", columns, tuple(rows))
    return Fold(f"{case.case}: each plausible fix ({flagged})", (table,))
