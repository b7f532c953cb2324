"""corpus: every kind of bad file is refused where it is, with what to do."""

import os

import pytest
from conftest import REPOSITORY

from evalkit import corpus, reference
from evalkit.errors import DriftError, InputError


def test_a_case_is_loaded_with_its_step_and_digests(root):
    case = corpus.load_case(root, "greet")
    (step,) = case.steps
    assert (step.slug, step.folder, step.skills) == ("task", "01-task", ("greeting",))
    assert len(case.digests.fixture) == 64
    assert set(step.complaints) == {"says-hello", "says-name", "keeps-readme"}


def _append(path, text):
    path.write_text(path.read_text() + text)


BAD = {
    "unknown key": (
        lambda r: _append(r / "cases/greet/case.toml", "[nonsense]\nx = 1\n"),
        "nonsense",
    ),
    "not TOML": (lambda r: _append(r / "cases/greet/case.toml", "= ="), "line"),
    "other id": (
        lambda r: (r / "cases/greet/case.toml").write_text(
            (r / "cases/greet/case.toml").read_text().replace('"greet"', '"other"')
        ),
        "as its folder",
    ),
    "unknown complaint": (
        lambda r: _append(r / "cases/greet/case.toml", 'x = "boredom"\n'),
        "boredom",
    ),
    "no prompt": (lambda r: (r / "cases/greet/prompt.md").unlink(), "neither"),
    "empty prompt": (
        lambda r: (r / "cases/greet/prompt.md").write_text(" \n"),
        "empty",
    ),
    "prompt not UTF-8": (
        lambda r: (r / "cases/greet/prompt.md").write_bytes(b"\xff\xfe"),
        "UTF-8",
    ),
    "no fixture": (
        lambda r: __import__("shutil").rmtree(r / "cases/greet/fixture"),
        "a folder",
    ),
    "link in fixture": (
        lambda r: (r / "cases/greet/fixture/l").symlink_to("/etc/passwd"),
        "a link",
    ),
    "folder that is a link": (
        lambda r: (r / "cases/greet/fixture/l").symlink_to("/etc"),
        "a link",
    ),
    "pipe in fixture": (lambda r: os.mkfifo(r / "cases/greet/fixture/p"), "a pipe"),
    "fixture file over 64 KB": (
        lambda r: (r / "cases/greet/fixture/big").write_bytes(b"x" * 65_537),
        "65,536 bytes",
    ),
    "no grader": (
        lambda r: __import__("shutil").rmtree(r / "graders/greet"),
        "graders/greet",
    ),
    "unknown case": (
        lambda r: (r / "cases/corpora.toml").write_text(
            '[tiny]\ncases=["nobody"]\narms=["full"]\nrepeats=1\n'
        ),
        "nobody",
    ),
    "duplicate case": (
        lambda r: (r / "cases/corpora.toml").write_text(
            '[tiny]\ncases=["greet","greet"]\narms=["full"]\nrepeats=1\n'
        ),
        "each case once",
    ),
    "case id that climbs": (
        lambda r: (r / "cases/corpora.toml").write_text(
            '[tiny]\ncases=["../greet"]\narms=["full"]\nrepeats=1\n'
        ),
        "lower-case words",
    ),
    "no such corpus": (
        lambda r: (r / "cases/corpora.toml").write_text(""),
        "corpus named 'tiny'",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused_with_its_place(root, kind):
    spoil, said = BAD[kind]
    spoil(root)
    with pytest.raises(InputError) as caught:
        corpus.load_corpus(root, "tiny")
    assert said in str(caught.value)
    assert caught.value.cure


def test_a_pinned_corpus_that_moved_is_drift(root):
    corpora = root / "cases/corpora.toml"
    digest = corpus.load_corpus(root, "tiny").digest
    _append(corpora, f'digest = "{digest}"\n')
    assert corpus.load_corpus(root, "tiny").pinned
    _append(root / "cases/greet/fixture/README.md", "more\n")
    with pytest.raises(DriftError, match="pinned"):
        corpus.load_corpus(root, "tiny")


def test_the_four_parts_have_digests_of_their_own(root):
    before = corpus.case_digests(root, "greet")
    _append(root / "graders/greet/grade.py", "# more\n")
    after = corpus.case_digests(root, "greet")
    assert after.grader != before.grader
    assert (after.case, after.fixture) == (before.case, before.fixture)


def _make_chain(root, names):
    (root / "cases/greet/prompt.md").unlink()
    (root / "cases/greet/steps").mkdir()
    for name in names:
        (root / "cases/greet/steps" / name).write_text("Do it.")


def test_the_folder_owns_order_and_slugs_of_a_chain(root):
    _make_chain(root, ["02-more.md", "01-first.md"])
    _append(
        root / "cases/greet/case.toml",
        '[steps.first]\nskills = ["greeting"]\n[steps.more]\nmin_score = 0.5\n',
    )
    first, more = corpus.load_case(root, "greet").steps
    assert (first.slug, first.skills, more.slug) == ("first", ("greeting",), "more")
    assert more.min_score == 0.5


@pytest.mark.parametrize("names", [["01-a.md", "03-b.md"], ["1-a.md"], ["01-A.md"], []])
def test_a_chain_with_a_gap_or_an_odd_name_is_refused(root, names):
    _make_chain(root, names)
    with pytest.raises(InputError, match=r"01-<slug>\.md"):
        corpus.load_case(root, "greet")


def test_extras_for_a_step_that_does_not_exist_are_refused(root):
    _make_chain(root, ["01-first.md"])
    _append(root / "cases/greet/case.toml", "[steps.second]\nmin_score = 0.5\n")
    with pytest.raises(InputError, match="second"):
        corpus.load_case(root, "greet")


@pytest.mark.parametrize(
    ("name", "n_cases", "n_arms", "repeats", "n_steps"),
    [
        ("complex-tasks@1", 3, 5, 4, 3),
        ("complex-tasks@2", 3, 5, 2, 3),
        ("complex-tasks@3", 3, 2, 1, 6),
        ("complex-tasks@4", 4, 1, 1, 9),
        ("domain-knowledge@1", 4, 3, 3, 4),
        ("domain-knowledge@2", 5, 3, 3, 5),
    ],
)
def test_what_a_corpus_is_usually_run_with(name, n_cases, n_arms, repeats, n_steps):
    found = corpus.load_corpus(REPOSITORY, name)
    assert (len(found.cases), len(found.preset.arms)) == (n_cases, n_arms)
    assert found.preset.repeats == repeats
    assert sum(len(case.steps) for case in found.cases) == n_steps


@pytest.mark.parametrize("name", corpus.case_ids(REPOSITORY, [], None))
def test_every_check_of_a_case_says_what_its_failing_tells(name):
    case = corpus.load_case(REPOSITORY, name)
    expected = reference.load_expected(REPOSITORY, case)
    for step in case.steps:
        failing = {c for rows in expected.values() for c in rows[step.slug].failing}
        assert failing <= set(step.complaints), failing - set(step.complaints)
        assert expected["fixture"][step.slug].score <= 0.3
        right = [
            rows[step.slug] for o, rows in expected.items() if reference.is_right(o)
        ]
        assert len(right) >= 2
        assert all(row.score == 1 for row in right)
