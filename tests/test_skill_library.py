"""The built-in library: its size, its examples, what tells skills apart, its probes."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter

import pytest
import yaml
from conftest import REPOSITORY

FOLDER = REPOSITORY / "cases" / "_skills"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/SKILL.md"))
LONG = {
    "api-design",
    "backend-patterns",
    "error-handling",
    "security-review",
    "tdd-workflow",
}
"""Older and longer than the others; two of them together pass the cap on bodies."""
PARTS = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MOST_SHARED = 0.3
TRIGGERS = tomllib.loads((FOLDER / "triggers.toml").read_text())
PROBES = tomllib.loads((FOLDER / "probes.toml").read_text())
CATEGORIES = {"direct", "paraphrase", "ambiguous", "distractor", "none"}


def _front_and_body(name):
    front, body = PARTS.match((FOLDER / name / "SKILL.md").read_text()).groups()
    return yaml.safe_load(front), body.strip()


def _grams(text):
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def _plain(text):
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "


def _phrases_in(text):
    """Skills with a phrase in a text, each with those phrases."""
    found = {
        skill: [p for p in table["phrases"] if _plain(p) in _plain(text)]
        for skill, table in TRIGGERS.items()
    }
    return {skill: phrases for skill, phrases in found.items() if phrases}


def _ends_with_assert(statements):
    last = statements[-1]
    if isinstance(last, ast.With):
        return _ends_with_assert(last.body)
    return isinstance(last, ast.Assert)


def test_the_library_holds_at_least_twenty_six_skills():
    assert len(NAMES) >= 26
    assert [_front_and_body(name)[0]["name"] for name in NAMES] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_says_what_it_is_for_and_stays_short(name):
    front, body = _front_and_body(name)
    assert set(front) == {"name", "description"}
    assert re.search(r"\bUse (when|after|before|for)\b", front["description"])
    if name not in LONG:
        assert 60 <= len(body.splitlines()) <= 160
        assert len(body.encode()) < 9_000


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_a_skill_runs_alone_and_ends_with_an_assert(name, tmp_path):
    blocks = BLOCK.findall(_front_and_body(name)[1])
    assert blocks
    for number, block in enumerate(blocks):
        assert _ends_with_assert(ast.parse(block).body), f"block {number}"
        done = subprocess.run(
            [sys.executable, "-I", "-W", "error", "-c", block],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"block {number}: {done.stderr}"
        assert list(tmp_path.iterdir()) == [], f"block {number} left files behind"


def test_no_two_skills_share_their_sentences():
    grams = {name: _grams(_front_and_body(name)[1]) for name in NAMES}
    shared = {
        (one, other): len(grams[one] & grams[other])
        / min(len(grams[one]), len(grams[other]))
        for one in NAMES
        for other in NAMES
        if one < other
    }
    assert {pair: part for pair, part in shared.items() if part > MOST_SHARED} == {}


def test_no_two_descriptions_share_a_turn_of_phrase():
    grams = {name: _grams(_front_and_body(name)[0]["description"]) for name in NAMES}
    counted = Counter(gram for name in NAMES for gram in grams[name])
    assert [gram for gram, n in counted.items() if n > 1] == []


def test_the_guide_names_every_skill():
    named = set(re.findall(r"`([a-z0-9-]+)`", _front_and_body("ecc-guide")[1]))
    assert {name for name in NAMES if name != "ecc-guide"} <= named


def test_each_phrase_belongs_to_one_skill_and_each_skill_has_phrases():
    assert sorted(TRIGGERS) == NAMES
    phrases = [p for table in TRIGGERS.values() for p in table["phrases"]]
    assert [phrase for phrase, n in Counter(phrases).items() if n > 1] == []
    assert [phrase for phrase in phrases if _plain(phrase).strip() != phrase] == []
    assert all(5 <= len(table["phrases"]) <= 14 for table in TRIGGERS.values())


def test_no_phrase_draws_a_released_case_to_another_skill_than_its_own():
    corpora = tomllib.loads((REPOSITORY / "cases" / "corpora.toml").read_text())
    for name in corpora["complex-tasks@1"]["cases"]:
        folder = REPOSITORY / "cases" / name
        needed = tomllib.loads((folder / "case.toml").read_text())["skills"]
        found = _phrases_in((folder / "prompt.md").read_text())
        assert set(found) <= set(needed), name


def test_probes_are_whole_and_name_skills_that_exist():
    assert list(PROBES) == ["probe"]
    for probe in PROBES["probe"]:
        assert set(probe) == {"id", "query", "expected", "category"}, probe
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", probe["id"]), probe
        assert probe["query"].strip() == probe["query"] != ""
        assert set(probe["expected"]) <= set(NAMES), probe
        assert len(set(probe["expected"])) == len(probe["expected"]), probe
        assert probe["category"] in CATEGORIES, probe
    for key in ("id", "query"):
        counted = Counter(probe[key] for probe in PROBES["probe"])
        assert [value for value, n in counted.items() if n > 1] == []


def test_probes_of_each_category_expect_what_it_says():
    n_expected = {
        category: [len(p["expected"]) for p in PROBES["probe"] if _is(p, category)]
        for category in CATEGORIES
    }
    assert len(PROBES["probe"]) >= 36
    assert all(len(counts) >= 8 for counts in n_expected.values())
    assert set(n_expected["direct"]) == {1}
    assert min(n_expected["paraphrase"]) == 1
    assert min(n_expected["ambiguous"]) >= 2
    assert set(n_expected["distractor"]) == {0, 1}
    assert set(n_expected["none"]) == {0}
    assert sum(counts.count(0) for counts in n_expected.values()) >= 12
    needed = {name for probe in PROBES["probe"] for name in probe["expected"]}
    assert needed == set(NAMES)


def test_at_most_a_third_of_the_probes_hold_a_trigger_phrase():
    queries = [probe["query"] for probe in PROBES["probe"]]
    assert 3 * sum(bool(_phrases_in(query)) for query in queries) <= len(queries)


def test_probes_and_cases_share_no_turn_of_phrase():
    prompts = [
        path.read_text()
        for pattern in ("*/prompt.md", "*/steps/*.md")
        for path in (REPOSITORY / "cases").glob(pattern)
    ]
    assert prompts
    taken = set().union(*map(_grams, prompts))
    assert [p["id"] for p in PROBES["probe"] if _grams(p["query"]) & taken] == []


def _is(probe, category):
    return probe["category"] == category
