"""Which cases can tell injected knowledge apart from good practice, and which not."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import tinyroot

from evalkit import ambiguity, corpus, files, reference, sandbox
from evalkit.ambiguity.leakage import states
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

BRACES = '[fix-braces.task]\nscore = "2/4"\nfailing = ["says-name"]'
BRACES_LEAVING = (
    '[fix-braces.task]\nscore = "1/4"\nfailing = ["says-hello", "says-name"]'
)


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


def leaks(root):
    return list(ambiguity.leaks(root, corpus.load_case(root, "greet")))


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


LEAKY = {
    "in capitals": ("README.md", f"{RULE.upper()}\n".encode()),
    "over two lines of a comment": ("a.py", b"# greetings\n# end with a full stop\n"),
    "with a word broken": ("a.txt", b"greet-\n  ings end with a full stop"),
    "in Markdown": ("a.md", b"Greetings **end** with a `full` _stop_"),
    "with other spaces": ("a.md", "greetings\xa0end\u2003with a full stop".encode()),
    "with what is not shown": ("a.md", "greet\xadings end with a full stop".encode()),
    "in UTF-16": ("a.txt", RULE.encode("utf-16")),
    "in UTF-16 without a mark": ("a.txt", RULE.encode("utf-16-be")),
    "in UTF-32": ("a.txt", RULE.encode("utf-32-le")),
    "with a mark of its order": ("a.txt", RULE.encode("utf-8-sig")),
    "with accents": ("a.md", "gre\u0301etings end wi\u0308th a füll stöp".encode()),
    "beside bytes that are no UTF-8": ("a.bin", b"\xff\xfe\x80 " + RULE.encode()),
}


@pytest.mark.parametrize("how", LEAKY)
def test_a_rule_is_read_however_it_is_written(knowing, how):
    path, data = LEAKY[how]
    (knowing / "cases/greet/fixture" / path).write_bytes(data)
    assert leaks(knowing) == [f"fixture/{path}:1: {RULE}"]


@pytest.mark.parametrize(
    "path", ["greetings_end_with_a_full_stop.py", "greetings-end/with/a full stop/x"]
)
def test_a_name_may_state_the_rule(knowing, path):
    made = knowing / "cases/greet/fixture" / path
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("")
    assert leaks(knowing) == [f"name of fixture/{path}: {RULE}"]


def test_a_prompt_that_quotes_the_injection_is_a_leak(knowing):
    told = "Every one of our replies closes with the name of whom it is for."
    rewrite(knowing, "cases/greet/case.toml", f"Here {RULE}.", told)
    quoting = knowing / "cases/greet/prompt.md"
    quoting.write_text("Please.\nOur replies\ncloses with the NAME of whom it is\n")
    assert leaks(knowing) == [
        'prompt of task:2: "our replies closes with the name of whom"'
    ]


def test_a_quotation_goes_on_over_the_end_of_a_sentence(knowing):
    rewrite(knowing, "cases/greet/case.toml", f"Here {RULE}.", "Never drop. Write.")
    (knowing / "cases/greet/prompt.md").write_text("Greet: never drop.\n* Write.\n")
    assert leaks(knowing) == ['prompt of task:1: "Never drop Write"']


HOSTILE = ["g-\n", "g-", "-\n", "\n", "_", " ", "{", "g{ ", "a\u0301", RULE + " "]
LENGTH = 60_000


@pytest.mark.parametrize("begun", ["", "g-", "greetings"])
@pytest.mark.parametrize("again", HOSTILE)
def test_no_text_makes_the_search_slow(knowing, begun, again):
    terms = ["greet", "gggg-g", "_g", "{g", "g{ {", "g {", "g" * 900, RULE]
    rewrite(knowing, "cases/greet/case.toml", f'["{RULE}"]', json.dumps(terms))
    text = begun + again * (LENGTH // len(again.encode()))
    (knowing / "cases/greet/fixture/a.txt").write_text(text)
    case = corpus.load_case(knowing, "greet")
    before = time.process_time()
    list(ambiguity.leaks(knowing, case))
    assert time.process_time() - before < 5


def test_marks_that_would_be_sorted_do_not_make_it_slow():
    text = "\u0301" * LENGTH + "\u0316" * LENGTH
    before = time.process_time()
    assert not states(RULE, text)
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("first, then", "First,\n  then", True),
        ("first, then", "first. Then", False),
        ("drop it.", "never drop it, please", False),
        ("time-outs", "no timeouts here", True),
        ("time-outs", "no time outs here", True),
        ("connect time-out", "class ConnectTimeout", False),
        ("backfill", "the back-fill", True),
        ("never drop", "Never. Drop it", False),
        ("event's id", "the event\u2019s id", True),
        ("svc:", "svc-", False),
        ("{service}:{id}", "{service}-{id}", False),
        ("<service>:<id>", "<Service>:<ID>", True),
    ],
)
def test_how_a_term_may_be_written(term, text, found):
    assert states(term, text) == found


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("[]", "no leak_terms"),
        ('["ends politely"]', "none of the leak_terms stands in the injection"),
    ],
)
def test_terms_that_find_nothing_are_flagged(knowing, terms, said):
    rewrite(knowing, "cases/greet/case.toml", f'["{RULE}"]', terms)
    (flag,) = flags(knowing)
    assert flag.startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (f'injection = "Here {RULE}."', "", "case.toml injection"),
        (f'injection = "Here {RULE}."', 'injection = " "', "case.toml injection"),
        ("principle = 1", "", "case.toml principle"),
        (f'["{RULE}"]', '["-"]', "case.toml leak_terms"),
    ],
)
def test_a_case_that_is_not_about_injected_knowledge_is_refused(
    knowing, old, new, place
):
    rewrite(knowing, "cases/greet/case.toml", old, new)
    with pytest.raises(InputError) as caught:
        audited(knowing)
    assert caught.value.where.endswith(place)


def test_a_chain_is_refused(knowing):
    steps = knowing / "cases/greet/steps"
    steps.mkdir()
    (knowing / "cases/greet/prompt.md").rename(steps / "01-first.md")
    (steps / "02-second.md").write_text("And more.")
    with pytest.raises(InputError, match="a chain of 2 steps") as caught:
        audited(knowing)
    assert caught.value.where == str(steps)


@pytest.mark.parametrize("declared", ["true", "false"])
def test_visible_tests_that_come_to_no_end_are_not_taken_as_failing(knowing, declared):
    leaving = f"import os\n\n{BRACED.replace('return', 'os._exit(3)  #')}"
    (knowing / "reference/greet/fix-braces/greet.py").write_text(leaving)
    path = knowing / "reference/greet/expected.toml"
    text = path.read_text().replace(
        "visible = true\n\n[w", f"visible = {declared}\n\n[w"
    )
    path.write_text(text.replace(BRACES, BRACES_LEAVING))
    (flag,) = flags(knowing)
    assert flag.startswith("fix-braces: no verdict of the visible tests: ")
    assert "no-answer" in flag


def test_a_grader_that_dies_is_named_with_its_reason(knowing):
    with (knowing / "graders/greet/grade.py").open("a") as grader:
        grader.write("\nraise RuntimeError('no luck')\n")
    died = [flag for flag in flags(knowing) if "RuntimeError: no luck" in flag]
    assert len(died) == 5
    assert all(": its grading died: " in flag for flag in died)


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
