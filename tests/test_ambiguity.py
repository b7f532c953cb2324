"""Which cases can tell injected knowledge apart from good practice, and which not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import tinyroot

from evalkit import ambiguity, corpus, files, reference, sandbox
from evalkit.errors import InputError
from evalkit.records import Corpus

RULE = "greetings end with a full stop"
KNOWLEDGE = f'injection = "Here {RULE}."\nprinciple = 1\nleak_terms = ["{RULE}"]\n'
STOPPED = "def greet(name):\n    return f'hello {name}.'\n"
PLAIN = "def greet(name):\n    return f'hello {name}'\n"
BRACED = "def greet(name):\n    return 'hello {}'.format(name)\n"
VISIBLE = """import unittest

from greet import greet


class Greets(unittest.TestCase):
    def test_name(self):
        self.assertTrue(greet("Ann").startswith("hello Ann"))
"""
EXPECTED = """
[fixture.task]
score = "2/4"
failing = ["says-name"]

[correct.task]
score = "4/4"
failing = []

[naive.task]
score = "2/4"
failing = ["says-name"]
plausible = true
default = true
visible = true

[fix-braces.task]
score = "2/4"
failing = ["says-name"]
plausible = true
visible = true

[wrong-shouts.task]
score = "1/4"
failing = ["says-hello", "says-name"]
"""


@pytest.fixture
def knowing(root):
    """A root whose one case is about a rule that is in nobody's file."""
    grader = root / "graders/greet/grade.py"
    grader.write_text(grader.read_text().replace('f"hello {name}"', 'f"hello {name}."'))
    case = root / "cases/greet/case.toml"
    lines = case.read_text().replace('"feature"', '"knowledge"')
    case.write_text(KNOWLEDGE + lines)
    for path, text in {
        "cases/greet/fixture/tests/__init__.py": "",
        "cases/greet/fixture/tests/test_greet.py": VISIBLE,
        "reference/greet/correct/greet.py": STOPPED,
        "reference/greet/naive/greet.py": PLAIN,
        "reference/greet/fix-braces/greet.py": BRACED,
        "reference/greet/expected.toml": EXPECTED,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def audited(root):
    level = tinyroot.isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    return ambiguity.audit_corpus(root, "tiny", box=box, n_workers=2, seed=1)


def flags(root):
    return audited(root).cases[0].flags


def rewrite(root, path, old, new):
    text = (root / path).read_text()
    assert text.count(old) == 1, old
    (root / path).write_text(text.replace(old, new))


def test_a_case_whose_rule_nobody_can_guess_is_not_flagged_and_the_verdict_is_kept(
    knowing,
):
    found = audited(knowing)
    assert not found.flagged, found.cases
    rows = {fix.overlay: (fix.visible, fix.passes) for fix in found.cases[0].fixes}
    assert rows == {
        "correct": (True, True),
        "naive": (True, False),
        "fix-braces": (True, False),
    }
    loaded = corpus.load_corpus(knowing, "tiny")
    assert isinstance(loaded, Corpus)
    path = ambiguity.audit_path(knowing, loaded)
    kept = files.decode_json(path.read_bytes(), ambiguity.CorpusAudit, path)
    assert kept == found


@pytest.mark.parametrize(
    "path", ["cases/greet/fixture/README.md", "cases/greet/prompt.md"]
)
def test_a_rule_that_an_agent_can_read_is_a_leak(knowing, path):
    leaky = f"Note that Greetings\n  end with a {RULE.partition('with a ')[2]}.\n"
    with (knowing / path).open("a") as opened:
        opened.write(leaky)
    (flag,) = flags(knowing)
    assert flag.startswith("the rule stands where an agent sees it")
    assert RULE in flag


def test_where_good_practice_passes_nobody_needs_to_be_told(knowing):
    grader = "graders/greet/grade.py"
    rewrite(knowing, grader, 'f"hello {name}."', 'f"hello {name}"')
    rewrite(knowing, "reference/greet/correct/greet.py", "}.'", "}'")
    path = knowing / "reference/greet/expected.toml"
    path.write_text(
        path.read_text().replace(
            '"2/4"\nfailing = ["says-name"]\np', '"4/4"\nfailing = []\np'
        )
    )
    found = flags(knowing)
    assert any("undifferentiating: naive" in flag for flag in found)
    assert any("one class of fix should pass" in flag for flag in found)


def test_visible_tests_that_only_the_rule_passes_tell_it(knowing):
    rewrite(
        knowing,
        "cases/greet/fixture/tests/test_greet.py",
        '"hello Ann"))',
        '"hello Ann."))',
    )
    found = flags(knowing)
    assert "naive: the visible tests were said to pass with it" in found
    assert any("1 kinds of fix pass the visible tests" in flag for flag in found)


def test_a_grader_that_is_not_proven_is_flagged(knowing):
    rewrite(knowing, "reference/greet/expected.toml", '"1/4"', '"2/4"')
    assert flags(knowing) == ("wrong-shouts: expected 0.5, got 0.25",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("default = true\n", "", "0 among 3"),
        (
            "plausible = true\nvisible = true\n\n[wrong",
            "plausible = true\n\n[wrong",
            "visible",
        ),
    ],
)
def test_a_case_that_does_not_say_what_its_fixes_are_is_refused(
    knowing, old, new, said
):
    rewrite(knowing, "reference/greet/expected.toml", old, new)
    with pytest.raises(InputError, match=r"expected\.toml") as caught:
        reference.load_fixes(knowing, corpus.load_case(knowing, "greet"))
    assert said in str(caught.value)


# --- the cases here ---------------------------------------------------------

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(params=corpus.case_ids(REPOSITORY, [], "domain-knowledge@2"))
def case(request):
    """A case of ours about injected knowledge."""
    return corpus.load_case(REPOSITORY, request.param)


def test_no_file_of_a_case_states_its_rule(case):
    assert case.leak_terms
    assert list(ambiguity.leaks(REPOSITORY, case)) == []


def test_a_leaky_copy_of_a_case_is_noticed(case, tmp_path):
    copy = tmp_path / "cases" / case.id / "fixture"
    shutil.copytree(REPOSITORY / "cases" / case.id / "fixture", copy)
    (copy / "README.md").write_text(case.injection)
    said = " ".join(case.injection.lower().split())
    stated = [term for term in case.leak_terms if term in said]
    found = list(ambiguity.leaks(tmp_path, case))
    assert stated
    assert {leak.rpartition(": ")[2] for leak in found} == set(stated)


def test_the_rule_is_one_or_two_sentences_and_the_default_fix_breaks_it(case):
    assert 1 <= len(re.findall(r"[.!?](?:\s|$)", case.injection)) <= 2
    expected = reference.load_expected(REPOSITORY, case)
    fixes = reference.load_fixes(REPOSITORY, case)
    for overlay, fix in fixes.items():
        passes = not expected[overlay]["task"].failing
        assert passes == reference.is_right(overlay), overlay
        assert not (fix.default and passes)
    visible = [name for name, fix in fixes.items() if fix.visible]
    assert len([name for name in visible if not reference.is_right(name)]) >= 2
