"""A run in which every part of its pages has something to show, in any words.

`plain` gives the words as they are; `hostile` hides in each what would run, load,
swallow or disguise what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import synthetic
from msgspec.structs import replace

from evalkit import files, strength
from evalkit.ambiguity import CaseAudit, CorpusAudit, FixRow, audit_path
from evalkit.records import (
    Access,
    Arm,
    ArmSeal,
    CaseSeal,
    CheckResult,
    Corpus,
    Deviation,
    Ended,
    ExpectedRow,
    GateSeal,
    Home,
    Kind,
    Preset,
    Proof,
    ProofRow,
    Registration,
    Regraded,
    Treatment,
    TrialKey,
    TrialResult,
)
from evalkit.records import Wording as Words
from evalkit.reference import proof_path
from evalkit.registration import seal, write_registration
from evalkit.strength import MutantRow, Strength

Say = Callable[[str], str]

RUNNING = (
    '<img src=x onerror="window.ran=1">',
    "</script><script>window.ran=1</script>",
    "</table></main></body><svg onload='window.ran=1'></svg>",
    "<a href='javascript:window.ran=1'>read</a>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    '"><details open ontoggle=window.ran=1>',
)
LOADING = (
    "<link rel=stylesheet href=http://example.invalid/a.css>",
    "<img src=http://example.invalid/a.png>",
    "<p style='background:url(http://example.invalid/b.png)'>",
    "<style>@import 'http://example.invalid/c.css';</style>",
)
LEAVING = ('<meta http-equiv=refresh content="0;url=http://example.invalid/">',)
SWALLOWING = (
    "<style>body{display:none}",
    "<!-- ",
    "<textarea>",
    "<plaintext>",
    "{{ 7 * 7 }} {% raw %}",
    "[link](http://example.invalid/d) **bold** `code`",
    "$\\frac{1}{$ $x_1$",
    "&lt;b&gt; &amp;amp; &#60;i&#62; &nbsp",
    "\N{RIGHT-TO-LEFT OVERRIDE}dekcatta",
    "in\N{ZERO WIDTH SPACE}vis\N{WORD JOINER}ible",
    "\x1b[31mred\x1b[0m\x07",
)
PAYLOADS = (*RUNNING, *LOADING, *LEAVING, *SWALLOWING)
LONG = "w" * 10_000
NAMES = "<img src=x onerror=ran=1> $x^ {{n}} \x1b[1m &lt;\N{RIGHT-TO-LEFT OVERRIDE}"
"""What a name gets: it stands in figures, and as a path."""
CHAIN = ("first", "second")
ALL = tuple(synthetic.WEIGHTS)


def plain(text: str) -> str:
    """The words as they are."""
    return text


def hostile(text: str) -> str:
    """The words, and every payload."""
    return " ".join((text, *PAYLOADS, LONG))


def hostile_name(text: str) -> str:
    """A short name, with what breaks figures and paths' readers."""
    return f"{text} {NAMES}"


class Told:
    """Says things in the words of `say`, and remembers what was said.

    `name` is for what stands in figures.
    """

    def __init__(self, say: Say = plain, name: Say = plain) -> None:
        self._say, self._name = say, name
        self.texts: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """A sentence."""
        return self.texts.setdefault(text, self._say(text))

    def name(self, text: str) -> str:
        """A name."""
        return self.texts.setdefault(text, self._name(text))


def make(root: Path, told: Told, audited: Told) -> Path:
    """The folder of the run, in a root with what its audit looks for.

    `told` are the words that the report shows, `audited` those that only the audit does.
    """
    sealed = _register(told)
    folder = write_registration(root, sealed)
    synthetic.record(folder, sealed, _bodies(sealed, told))
    (root / "cases").mkdir()
    (root / "cases" / "corpora.toml").write_text("")
    for case in sealed.cases:
        _prove(root, case, audited)
    _audit(root, sealed, audited)
    return folder


# --- registration -----------------------------------------------------------


def _register(told: Told) -> Registration:
    bare = synthetic.register(
        cases=tuple(map(told.name, ("alpha", "chain"))),
        arms=("full", "auto", "baseline", "injected"),
        simulated=True,
        comparators=("baseline", "full"),
        confirmatory=("auto against baseline", "injected against baseline"),
    )
    legacy = Arm("legacy", Home.ALL, Words.CATALOGUE, "ecc-legacy")
    arms = [_arm(s.arm, told, "current", "same", "new") for s in bare.arms]
    arms.insert(1, _arm(legacy, told, told("commit ecc"), "same", "old"))
    plan = replace(
        bare.plan,
        model=told("claude-opus-5-5"),
        arms=tuple(s.arm.name for s in arms),
    )
    order = tuple(
        TrialKey(case.id, name, repeat)
        for case in bare.cases
        for repeat in range(1, 5)
        for name in plan.arms
    )
    return seal(
        replace(
            bare,
            plan=plan,
            cases=tuple(_case(case, n, told) for n, case in enumerate(bare.cases, 1)),
            arms=tuple(arms),
            agent=replace(
                bare.agent,
                name=told("an agent"),
                version=told("1.0"),
                provider="http://127.0.0.1:1/",
                access=Access.GATEWAY,
            ),
            isolation=replace(bare.isolation, detail=told("probed")),
            schedule=order,
            n_planned_calls=len(order) * 2,
            gate=GateSeal(
                run=told.name("the gate run"),
                registration="2" * 64,
                journal_head="3" * 64,
                agent=told("agent of the gate run"),
                model=told("model of the gate run"),
                simulated=True,
                baseline="baseline",
                injected="injected",
                verdict=told("ready"),
            ),
        )
    )


def _arm(arm: Arm, told: Told, source: str, shared: str, own: str) -> ArmSeal:
    names = [told.name("skill-a"), told.name("skill-b"), told.name(f"skill-{own}")]
    digests = dict.fromkeys(names, shared * 16)
    digests[names[1]] = own * 16
    whole = arm.home is Home.ALL
    return ArmSeal(
        arm,
        source if whole else None,
        "5" * 64 if whole else None,
        tuple(names),
        digests if whole else {},
    )


def _case(case: CaseSeal, n: int, told: Told) -> CaseSeal:
    """The last is a chain."""
    steps = tuple(map(told.name, CHAIN)) if n == 2 else ("task",)
    named = {told.name(name): what for name, what in synthetic.COMPLAINTS.items()}
    made = replace(
        case,
        title=told(f"Title of case {n}"),
        kind=Kind.KNOWLEDGE,
        hypothesis=told(f"Hypothesis of case {n}"),
        steps=steps,
        skills=dict.fromkeys(steps, (told.name("skill-a"),)),
        complaints=dict.fromkeys(steps, named),
    )
    return replace(made, proof=proof_path(Path(), made).name)


# --- record -----------------------------------------------------------------


def _bodies(sealed: Registration, told: Told):
    steps = {case.id: case.steps for case in sealed.cases}
    first, *_ = sealed.schedule
    lost = TrialKey(first.case, "auto", 4)
    results = {key: _result(key, steps[key.case], told) for key in sealed.schedule}
    for key, found in results.items():
        if key == lost:
            yield from synthetic.attempts(_fault(key, told))
        else:
            yield from synthetic.attempts(found)
    yield Deviation(told("what"), told("registered"), told("found"))
    for key in (first, replace(first, repeat=2)):
        again = _regraded(results[key], told)
        yield Regraded(again, told("from the answers"))


def _result(key: TrialKey, slugs: tuple[str, ...], told: Told) -> TrialResult:
    """Better arms pass more; one trial is cut off, one dies, some never get far."""
    helped = key.arm in {"full", "injected"}
    names = ALL[: (key.repeat + 2 * helped + len(key.arm)) % 4]
    cut = key.arm == "full" and key.repeat == 3
    died = key.arm == "baseline" and key.repeat == 3
    picked = told.name("skill-a") if key.repeat % 2 else told.name("skill-b")
    made = [
        _named(
            synthetic.step(
                *names,
                slug=slug,
                tokens=1000 * len(key.arm) + key.repeat,
                wall_s=600.0 if cut else 7.5 * key.repeat + len(key.arm),
                ended=Ended.TIMED_OUT if cut else Ended.FINISHED,
                picked=picked if key.arm == "auto" and key.repeat < 4 else None,
                died=told("the grader was killed") if died else None,
            ),
            key,
            told,
        )
        for slug in slugs
    ]
    if len(slugs) > 1 and not names:
        made[1] = synthetic.StepResult(slugs[1], not_reached=True)
    return synthetic.result(key, *made, simulated=True)


def _named(step, key: TrialKey, told: Told):
    """The step in our words, with what reached the agent and who differs on usage."""
    here, away = told.name("skill-a"), told.name("skill-b")
    stray = key.repeat == 2
    treatment = {
        "full": Treatment(
            (here, away), (), (here,), (), (away,) if stray else (here, away), ()
        ),
        "auto": Treatment((here,), (), (), (here,), (here, away), ()),
        "injected": Treatment((), (here,), (), (), (), () if stray else (here,)),
    }.get(key.arm, Treatment((), (), (), (), (), ()))
    selection = step.selection
    if selection is not None:
        (candidate,) = selection.candidates
        selection = replace(
            selection,
            candidates=(replace(candidate, skill=here),),
            how=told("chosen directly"),
        )
    calls = tuple(
        replace(c, detail=told(f"in the words of {c.ended}")) for c in step.calls
    )
    odd = key.arm == "full" and key.repeat == 1
    return replace(
        step,
        calls=calls,
        selection=selection if key.arm == "auto" else None,
        treatment=treatment,
        disagreement=told("input: 1 by one, 2 by another") if odd else None,
        grade=replace(
            step.grade,
            checks=tuple(_check(check, told) for check in step.grade.checks),
        ),
    )


def _check(check: CheckResult, told: Told) -> CheckResult:
    reason = "" if check.passed else "why it failed"
    return replace(check, id=told.name(check.id), reason=reason)


def _fault(key: TrialKey, told: Told) -> TrialResult:
    found = synthetic.infrastructure(key)
    (step,) = found.steps
    calls = (replace(step.calls[0], detail=told("the provider was overloaded")),)
    return replace(found, steps=(replace(step, calls=calls),), simulated=True)


def _regraded(found: TrialResult, told: Told) -> TrialResult:
    """Every check the other way round."""
    steps = [
        replace(
            step,
            grade=replace(
                step.grade,
                checks=tuple(
                    replace(c, passed=not c.passed, reason=told("why it came out so"))
                    for c in step.grade.checks
                ),
            ),
        )
        for step in found.steps
    ]
    return replace(found, steps=tuple(steps))


# --- what the audit reads beside the run --------------------------------------


def _prove(root: Path, case: CaseSeal, told: Told) -> None:
    wrong = ExpectedRow(0.5, (told.name("core"), told.name("edge")))
    right = ExpectedRow(1.0, ())
    row = ProofRow(
        overlay="correct",
        step=case.steps[0],
        expected=right,
        got=right,
        died=None,
        replayed=True,
        wall_s=0.1,
        cpu_s=None,
    )
    rows = (
        row,
        replace(row, overlay=told("an overlay"), expected=wrong, replayed=False),
        replace(row, overlay="died", expected=wrong, died=told("out of memory")),
    )
    proof = Proof(case.id, case.digests, "1" * 64, told("isolation of the proof"), rows)
    table = Strength(
        case.id,
        case.digests.grader,
        "4" * 64,
        3,
        (
            MutantRow("a.py:1: `1` becomes `2`", "core"),
            MutantRow(told("a.py:2: a survivor"), None, told("why it may")),
            MutantRow(told("a.py:3: another"), None),
        ),
    )
    for path, found in (
        (proof_path(root, case), proof),
        (strength.table_path(root, case.id), table),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.encode_json(found))


def _audit(root: Path, sealed: Registration, told: Told) -> None:
    right = FixRow(
        overlay="correct",
        default=False,
        declared_visible=True,
        visible=True,
        score=1.0,
        passes=True,
    )
    wrong = replace(
        right, overlay=told("a fix"), passes=False, visible=None, died=told("no end")
    )
    cases = tuple(
        CaseAudit(
            case=case.id,
            reference=case.digests.reference,
            principle=1,
            fixes=(right, wrong),
            flags=(told("a flag"),),
        )
        for case in sealed.cases
    )
    corpus = Corpus(
        sealed.plan.corpus, (), Preset((), 4), sealed.corpus_digest, pinned=False
    )
    path = audit_path(root, corpus)
    path.parent.mkdir(parents=True)
    path.write_bytes(files.encode_json(CorpusAudit(corpus.name, corpus.digest, cases)))
