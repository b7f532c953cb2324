"""probes and recall: what people type, and whether the right skill can be had."""

from datetime import UTC, datetime

import pytest
from conftest import REPOSITORY

from evalkit import probes, probing, recall, skills
from evalkit.errors import InputError
from evalkit.records import Candidate, Plan, Selection

NOW = datetime(2026, 11, 30, tzinfo=UTC)
GOOD = """
[[probe]]
id = "hello"
query = "please say hello to them"
expected = ["greeting"]
category = "direct"

[[probe]]
id = "overview"
query = "which skills are there"
expected = ["guide", "greeting"]
category = "paraphrase"

[[probe]]
id = "shed"
query = "paint the shed"
expected = []
category = "none"
"""


@pytest.fixture
def library(root):
    return skills.load_library(root / "cases/_skills", name="x", source="built-in")


def _write(root, text):
    path = root / "cases/_skills/probes.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "shed"', 'id = "hello"', r"probe 'hello'.*2 times"),
        ('query = "paint the shed"', 'query = " "', "probe 'shed'"),
        ('["greeting"]', '["nonsense"]', "probe 'hello'.*nonsense"),
        ('category = "none"', 'category = "all"', "probe 'shed'.*all"),
        ("expected = []", "", r"probes\.toml.*expected"),
        ("expected = []", "expected = []\nlevel = 1", r"probes\.toml.*level"),
        ('category = "direct"', "category = 1", r"probes\.toml"),
        ("[[probe]]", "[[probes]]", r"probes\.toml"),
    ],
)
def test_a_wrong_probe_is_refused_with_its_place(root, library, old, new, said):
    path = _write(root, GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=f"(?s){said}"):
        probes.load_probes(path, library)


def test_probes_are_answered_offline_by_category(root, library):
    found = probes.open_probes(_write(root, GOOD).parents[2], "current", library)
    scores = probing.rank_probes(found, library, NOW).scores
    rows = {row.category: row for row in scores.categories}
    assert list(rows) == ["direct", "paraphrase", "none", "all"]
    assert (rows["direct"].right.k, rows["direct"].precise.n) == (1, 1)
    assert (rows["paraphrase"].first.k, rows["paraphrase"].held.k) == (1, 1)
    assert rows["paraphrase"].right.k == 0
    assert (rows["none"].spared.k, rows["none"].spared.n) == (1, 1)
    assert rows["none"].held.n == 0
    assert rows["none"].held.low is None
    assert (rows["all"].n, rows["all"].right.k) == (3, 2)
    assert (scores.wrong, scores.out_of_reach) == ((), ())


def test_any_answers_can_be_scored(root, library):
    found = probes.load_probes(_write(root, GOOD), library)
    ranked = (Candidate("guide", 2.0), Candidate("greeting", 1.0))
    scores = probes.score(
        found,
        {
            "hello": Selection(ranked, "guide", "model"),
            "overview": Selection(ranked, "greeting", "model"),
            "shed": Selection(ranked, None, "failed"),
        },
    )
    total = scores.categories[-1]
    assert (total.right.k, total.right.n) == (2, 3)
    assert (total.precise.k, total.precise.n) == (1, 2)
    assert (total.first.k, total.held.k, total.held.n) == (1, 2, 2)
    assert total.n_failed == 1
    assert (scores.wrong, scores.out_of_reach) == (("hello",), ())


def test_a_skill_admitted_wrongly_is_wrong_and_one_not_ranked_out_of_reach(
    root, library
):
    text = GOOD.replace('["greeting"]', '["guide"]').replace("[]", '["guide"]')
    found = probes.load_probes(_write(root, text), library)
    scores = probing.rank_probes(found, library, NOW).scores
    assert scores.wrong == ("hello",)
    assert scores.out_of_reach == ("hello", "shed")


def test_the_built_in_ranking_reaches_more_than_a_list_that_never_changes():
    built_in = skills.open_library(REPOSITORY, "current", name="x")
    found = probes.open_probes(REPOSITORY, "current", built_in)
    reached = probing.rank_probes(found, built_in, NOW).scores.recall
    assert reached.n_held > 2 * reached.n_constant_held


@pytest.mark.parametrize("half", [0, 1])
def test_the_threshold_costs_at_most_one_in_twenty_in_each_half(half):
    built_in = skills.open_library(REPOSITORY, "current", name="x")
    found = probes.open_probes(REPOSITORY, "current", built_in)[half::2]
    answers = probing.answer(found, built_in)
    labelled = [recall.label(p.expected, answers[p.id], Plan("")) for p in found]
    held = [one for one in labelled if one.held]
    lost = [one for one in held if one.picked is None and not one.asks]
    assert len(lost) <= len(held) / 20


def test_an_answer_too_few_is_refused_by_its_id(root, library):
    found = probes.load_probes(_write(root, GOOD), library)
    with pytest.raises(InputError, match="shed"):
        probes.score(found[:2], probing.answer(found, library))


def test_recall_counts_the_ceiling_and_a_list_that_never_changes():
    ranked = (Candidate("a", 2.0), Candidate("b", 1.0))
    direct = (Candidate("a", 2.0, ("a b",), direct=True),)
    plan = Plan("", min_rank_score=2.0)

    def labelled(accepted, candidates, picked=None, how="none"):
        return recall.label(accepted, Selection(candidates, picked, how), plan)

    found = recall.recall(
        [
            labelled(("b", "c"), ranked),
            labelled(("a",), direct, "a", "direct"),
            labelled(("z",), direct, "a", "direct"),
            labelled((), ranked[1:]),
            *(labelled((name,), (), name, "model") for name in "defgghh"),
        ]
    )
    assert (found.n, found.n_needing, found.n_held) == (11, 10, 2)
    assert (found.n_admitted, found.n_admitted_right) == (2, 1)
    assert found.n_abstained == 1
    assert found.constant == ("g", "h", "a", "b", "c")
    assert found.n_constant_held == 6
