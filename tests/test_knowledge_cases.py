"""The cases about injected knowledge: nothing but the rule passes, and leaks are seen.

Graded for real. What the whole reference gets is shown by `evalkit verify`; of each
case this tries two fixes, cheats that go by words, and copies that were spoiled.
"""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
import rewriting
from conftest import REPOSITORY
from rewriting import Told

from evalkit import ambiguity, corpus, files, grading, reference, sandbox, scoring
from evalkit.records import Complaint

pytestmark = pytest.mark.needs_sandbox

N_WORKERS = 4
"""Gradings wait more than they work."""
RULE = Complaint.CONVENTION_DRIFT
CASES = corpus.case_ids(REPOSITORY, [], "domain-knowledge@2")
CONTROLS = corpus.case_ids(REPOSITORY, [], "domain-knowledge@1")
"""Of domain-knowledge@1: an audit that does not flag them would flag nothing."""


@pytest.fixture(params=CASES)
def case(request):
    return corpus.load_case(REPOSITORY, request.param)


@pytest.fixture(scope="module")
def box():
    return sandbox.open_box("bwrap", allow_unsandboxed=False)


def default_of(case):
    fixes = reference.load_fixes(REPOSITORY, case)
    return next(name for name, fix in fixes.items() if fix.default)


def expected_of(case):
    rows = reference.load_expected(REPOSITORY, case)
    return {overlay: set(row["task"].failing) for overlay, row in rows.items()}


def rule_checks(case):
    return {check for check, says in case.steps[0].complaints.items() if says == RULE}


def delivered(case, overlay):
    """What an overlay delivers, as text by path."""
    laid = reference.laid_entries(REPOSITORY, case, overlay, case.steps[0])
    return {entry.path: entry.data.decode() for entry in laid}


def grade_all(case, deliveries, folder, box, **options):
    """The grades of deliveries, each a text by path."""

    def grade(n):
        workspace = folder / str(n) / "workspace"
        workspace.mkdir(parents=True)
        texts = deliveries[n].items()
        entries = tuple(files.Entry(path, text.encode()) for path, text in texts)
        files.write_entries(entries, workspace)
        return grading.grade(
            case,
            case.steps[0],
            workspace,
            root=REPOSITORY,
            box=box,
            seed=1,
            answers=workspace.with_name("answers.jsonl"),
            **options,
        )

    with ThreadPoolExecutor(N_WORKERS) as pool:
        found = list(pool.map(grade, range(len(deliveries))))
    assert [one.died for one in found] == [None] * len(deliveries)
    return found


def failing(grade):
    return {check.id for check in grade.checks if not check.passed}


# --- right and default ------------------------------------------------------


def test_the_right_fix_passes_the_default_one_fails_and_so_again(case, tmp_path, box):
    default = default_of(case)
    fixes = ["correct", default, "correct", default]
    found = grade_all(case, [delivered(case, fix) for fix in fixes], tmp_path, box)
    right, wrong = found[:2]
    assert failing(right) == set()
    assert failing(wrong) == expected_of(case)[default] != set()
    first, second = (
        [msgspec.json.encode(grade.checks) for grade in pair]
        for pair in (found[:2], found[2:])
    )
    assert first == second


def test_the_default_fix_is_wrong_by_the_rule_and_by_nothing_else(case):
    """It works: were the rule not looked at, it would pass; nothing else fails it."""
    assert expected_of(case)[default_of(case)] <= rule_checks(case)


def test_every_wrong_fix_breaks_the_rule_and_no_check_of_the_rule_is_idle(case):
    """A fix that fails for what it does badly alone would say nothing of knowledge."""
    expected = expected_of(case)
    wrong = {
        name: expected[name] & rule_checks(case)
        for name in reference.load_fixes(REPOSITORY, case)
        if not reference.is_right(name)
    }
    assert all(wrong.values()), wrong
    assert set().union(*wrong.values()) == rule_checks(case)


# --- cheats -----------------------------------------------------------------

CHEATS = {
    "names": ("fixture", rewriting.rename, rewriting.dress),
    "nouns": ("default", rewriting.sprinkle),
    "words that look alike": ("fixture", rewriting.look_up, rewriting.dress),
    "strings": ("default", rewriting.swap_strings),
    "numbers": ("default", rewriting.swap_numbers, rewriting.turn_conditions),
    "no ifs": ("fixture", rewriting.drop_ifs),
    "guards": ("fixture", rewriting.guard_calls),
    "handlers": ("default", rewriting.swallow, rewriting.chain_raises),
}
"""By what a script goes, what it starts from, and what it does."""


def program_of(texts):
    return {
        path: text
        for path, text in texts.items()
        if path.endswith(".py") and not path.startswith("tests/") and text
    }


def told_of(case, texts):
    others = "\n".join(
        text for path, text in texts.items() if path not in program_of(texts)
    )
    said = "\n".join([case.steps[0].prompt, case.injection, *case.leak_terms])
    return Told(said, frozenset(re.findall(r"\w+", others)))


def cheated(case, overlay, *cheats):
    texts = delivered(case, overlay)
    program, told = program_of(texts), told_of(case, texts)
    made = rewriting.rewritten(program, told, cheats, case.id)
    assert made != rewriting.rewritten(program, told, (), case.id), cheats
    return texts | made


def test_a_script_that_goes_by_words_and_syntax_never_passes(case, tmp_path, box):
    start = {"fixture": "fixture", "default": default_of(case)}
    made = [cheated(case, start[of], *cheats) for of, *cheats in CHEATS.values()]
    found = grade_all(case, made, tmp_path, box, until_failed=True)
    scores = dict(zip(CHEATS, map(scoring.grade_score, found), strict=True))
    assert max(scores.values()) < 1, scores


def test_words_of_the_rule_win_the_default_fix_nothing(case, tmp_path, box):
    default = default_of(case)
    dressed = cheated(case, default, rewriting.rename, rewriting.dress)
    (found,) = grade_all(case, [dressed], tmp_path, box)
    assert failing(found) == expected_of(case)[default]


# --- spoiled copies ---------------------------------------------------------


def small_root(root, name):
    """A root whose one case has two plausible fixes: right and wrong, one the default."""
    case = corpus.load_case(REPOSITORY, name)
    fixes = reference.load_fixes(REPOSITORY, case)
    wrong = [n for n, fix in fixes.items() if fix.visible and not reference.is_right(n)]
    kept = list(dict.fromkeys(["correct", default_of(case), *wrong]))[:2]
    for part in (f"cases/{name}", f"graders/{name}"):
        shutil.copytree(REPOSITORY / part, root / part)
    there = REPOSITORY / "reference" / name
    for overlay in kept:
        shutil.copytree(there / overlay, root / "reference" / name / overlay)
    tables = re.split(r"^(?=\[)", (there / "expected.toml").read_text(), flags=re.M)
    wanted = tuple(f"[{overlay}.task]" for overlay in ["fixture", *kept])
    text = "".join(table for table in tables if table.startswith(wanted))
    (root / "reference" / name / "expected.toml").write_text(text)
    (root / "cases/corpora.toml").write_text(
        f'[one]\ncases = ["{name}"]\narms = ["baseline"]\nrepeats = 1\n'
    )
    return root


def flags(root, box):
    found = ambiguity.audit_corpus(root, "one", box=box, n_workers=N_WORKERS, seed=1)
    return list(found.cases[0].flags)


SPOILED = {
    "migration-direction": (
        "fixture/CHANGELOG.md",
        "\nColumns are never renamed here.\n",
        "never rename",
    ),
    "error-propagation-boundary": (
        "fixture/waybill/handlers/depots.py",
        "# We never\n#   import what is below the services.\n",
        "never import",
    ),
    "retry-strategy-conflict": (
        "prompt.md",
        "\nAnd remember the two vans of last year!\n",
        "two vans",
    ),
    "cache-key-namespace": ("fixture/docs/svc-keys.md", "See there.\n", "svc"),
    "event-ordering-convention": (
        "fixture/tests/test_crates.py",
        'class Told(unittest.TestCase):\n    """Handlers are Stateless."""\n',
        "stateless",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_leaky_copy_is_flagged_for_its_leak_and_for_nothing_else(name, tmp_path, box):
    path, text, term = SPOILED[name]
    spoiled = small_root(tmp_path, name) / "cases" / name / path
    spoiled.parent.mkdir(exist_ok=True)
    with spoiled.open("a") as opened:
        opened.write(text)
    (flag,) = flags(tmp_path, box)
    said, place, found = flag.split(": ")
    assert said == "the rule stands where an agent sees it"
    assert place.removeprefix("name of ").startswith(path.partition(".")[0])
    assert found == term


def test_a_copy_whose_grader_forgot_the_rule_is_undifferentiating(tmp_path, box):
    name = "retry-strategy-conflict"
    rule = rule_checks(corpus.load_case(REPOSITORY, name))
    forgetting = f"\nfor check in {sorted(rule)}:\n    del checks.weights[check]\n"
    with (small_root(tmp_path, name) / "graders" / name / "grade.py").open(
        "a"
    ) as opened:
        opened.write(forgetting)
    found = flags(tmp_path, box)
    assert any(flag.startswith("undifferentiating: naive, ") for flag in found)
    assert any("one class of fix should pass" in flag for flag in found)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_case_whose_rule_stands_in_the_repository_is_undifferentiating(
    name, tmp_path, box
):
    """The proof of it holds: that good practice passes is all there is to flag."""
    leaks = "the rule stands where an agent sees it"
    found = [f for f in flags(small_root(tmp_path, name), box) if leaks not in f]
    (flag,) = found
    assert flag.startswith("undifferentiating: correct, ")
