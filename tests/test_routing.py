"""routing: which candidate a step gets, and what a selection call may answer."""

import json

import msgspec
import pytest

from evalkit import routing, skills
from evalkit.errors import InputError
from evalkit.records import Candidate, Selection

ADMITTED = Candidate("guide", 1.0, ("how to begin",), direct=True)
RANKED = (Candidate("greeting", 3.0), Candidate("guide", 1.5))


def _library(root):
    return skills.load_library(root / "cases/_skills", name="x")


def test_what_is_admitted_directly_is_picked_and_no_model_asked():
    chosen = routing.choose((Candidate("greeting", 9.0), ADMITTED))
    assert (chosen.picked, chosen.how) == ("guide", "direct")
    assert routing.to_ask(chosen, 0.0) == ()


def test_a_skill_named_outright_is_picked_as_explicit():
    named = msgspec.structs.replace(ADMITTED, phrases=("guide",))
    assert routing.choose((named,)).how == "explicit"


def test_without_direct_evidence_a_model_is_asked_about_the_candidates():
    chosen = routing.choose(RANKED)
    assert (chosen.picked, chosen.how) == (None, "none")
    assert routing.to_ask(chosen, 3.0) == RANKED


def test_no_model_is_asked_where_the_best_score_is_below_the_threshold():
    assert routing.to_ask(routing.choose(RANKED), 3.1) == ()
    assert routing.to_ask(routing.choose(()), 0.0) == ()


def test_a_selection_prompt_holds_the_task_and_only_the_candidates(root):
    task = "Greet {people} by name.\n"
    asked = routing.selection_prompt(task, RANKED[:1], _library(root))
    assert "<task>\nGreet {people} by name.\n</task>" in asked
    assert "- greeting: How we greet people." in asked
    assert "guide" not in asked
    assert '{"skill": null}' in asked


def test_a_selection_schema_allows_each_candidate_and_null():
    schema = routing.selection_schema(RANKED)
    assert schema["properties"]["skill"]["enum"] == ["greeting", "guide", None]
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("answer", "picked", "how"),
    [
        ('{"skill": "guide"}', "guide", "model"),
        (' {"skill":"greeting"}\n', "greeting", "model"),
        ('{"skill": null}', None, "none"),
        ('{"skill": ""}', None, "none"),
        ("null", None, "none"),
        ("", None, "none"),
        (" \n", None, "none"),
        (None, None, "failed"),
        ("guide", None, "failed"),
        ("{}", None, "failed"),
        ('{"skill": 3}', None, "failed"),
        ('{"skill": ["guide"]}', None, "failed"),
        ('{"skill": "guide", "why": "it fits"}', None, "failed"),
        ('{"skill": "Guide"}', None, "failed"),
        ('{"skill": "nonsense"}', None, "failed"),
        ('Sure: {"skill": "guide"}', None, "failed"),
        ('{"skill": "\ud800"}', None, "failed"),
        ("[" * 100_000, None, "failed"),
    ],
)
def test_an_answer_is_honoured_or_recorded_as_failed(answer, picked, how):
    found = routing.read_selection(answer, RANKED)
    assert found == Selection(RANKED, picked, how)


@pytest.mark.parametrize("phrases", [("By  Name", "by-name"), ("x", "..."), ("y", "")])
def test_a_phrase_of_two_skills_or_without_words_is_refused(root, phrases):
    path = root / "cases/_skills/triggers.toml"
    path.write_text(
        "".join(f'[s{n}]\nphrases = ["{p}"]\n' for n, p in enumerate(phrases))
    )
    with pytest.raises(InputError, match="one skill only"):
        routing.triggers_of(_library(root))


@pytest.mark.parametrize(
    "text", ["[a\n", '[a]\nphrases = "one"\n', "[a]\nwords = []\n", "\xff"]
)
def test_wrong_triggers_are_refused_by_their_name(root, text):
    path = root / "cases/_skills/triggers.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"triggers\.toml of the library"):
        routing.triggers_of(_library(root))


def test_a_library_without_triggers_has_no_phrases(root):
    (root / "cases/_skills/triggers.toml").unlink()
    assert routing.triggers_of(_library(root)) == {}
