"""ranking: skills by the words of a text; sealed by a plan, trusted by a run."""

import msgspec
import pytest
import tinyroot

from evalkit import plan as planning
from evalkit import ranking, routing, skills
from evalkit import run as running
from evalkit.errors import DriftError, InputError
from evalkit.inputs import open_registered
from evalkit.records import Candidate, Library, Skill
from evalkit.registration import load_registration, seal

NOW = "2026-11-30T05:00:00.000+00:00"


def _skill(name, description="", body=""):
    return Skill(name, description, body, {}, "")


def _ranker(*made, triggers=""):
    return ranking.Ranker(Library("x", "x", made, "", triggers.encode()))


def _names(found):
    return [candidate.skill for candidate in found]


@pytest.fixture
def greeter(root):
    return ranking.Ranker(skills.load_library(root / "cases/_skills", name="x"))


def test_a_phrase_admits_and_nothing_found_abstains(greeter):
    found = routing.choose(greeter.rank("Please Say  hello!"))
    assert (found.picked, found.how) == ("greeting", "direct")
    none = routing.choose(greeter.rank("paint the shed"))
    assert (none.picked, none.how, none.candidates) == (None, "none", ())


@pytest.mark.parametrize(
    "text",
    ["use the greeting skill", "The skill greeting may help", "USE GREETING SKILL"],
)
def test_a_skill_named_outright_is_explicit(greeter, text):
    found = routing.choose(greeter.rank(text))
    assert (found.picked, found.how) == ("greeting", "explicit")


def test_a_name_of_one_word_in_a_text_is_only_a_word(greeter):
    (first, *_) = greeter.rank("the greeting is wrong")
    assert (first.skill, first.direct) == ("greeting", False)


def test_a_hyphenated_name_is_explicit_and_its_words_are_a_phrase():
    ranker = _ranker(_skill("code-review"), _skill("api-design"))
    assert routing.choose(ranker.rank("follow code-review here")).how == "explicit"
    assert routing.choose(ranker.rank("do a code review")).how == "direct"
    assert routing.choose(ranker.rank("see my-code-review-notes")).how == "direct"


def test_what_is_named_goes_before_phrases_and_phrases_before_words():
    ranker = _ranker(
        _skill("by-words", "slow queries over and over: a slow query"),
        _skill("by-phrase"),
        _skill("by-name"),
        triggers='[by-phrase]\nphrases = ["over and over"]',
    )
    text = "slow queries over and over, see by-name"
    assert _names(ranker.rank(text)) == ["by-name", "by-phrase", "by-words"]


def test_the_longer_phrase_goes_first_whatever_else_is_said():
    ranker = _ranker(
        _skill("short", "invoice totals off by cents"),
        _skill("long"),
        triggers='[short]\nphrases = ["totals off"]\n[long]\nphrases = ["it was so"]',
    )
    text = "invoice totals off by cents since it was so"
    short, long = sorted(ranker.rank(text), key=lambda c: c.skill, reverse=True)
    assert short.score > long.score
    assert routing.choose(ranker.rank(text)).picked == "long"


def test_punctuation_in_a_phrase_parts_its_words():
    ranker = _ranker(_skill("hashes"), triggers='[hashes]\nphrases = ["keccak-256"]')
    assert ranker.rank("is that Keccak 256?")[0].direct


def test_a_phrase_of_one_word_scores_and_does_not_admit():
    ranker = _ranker(_skill("hashes"), triggers='[hashes]\nphrases = ["keccak"]')
    (found,) = ranker.rank("which keccak is it")
    assert (found.phrases, found.direct) == (("keccak",), False)


def test_words_are_compared_by_their_stems():
    ranker = _ranker(_skill("tests", "Testing what was deployed"), _skill("other"))
    (found,) = ranker.rank("tested deployments")
    assert found.skill == "tests"
    assert set(found.words) <= {"test", "deploy"}


def test_a_name_weighs_more_than_a_heading_and_prose_weighs_nothing():
    ranker = _ranker(
        _skill("heading", "", "# Caching\n"),
        _skill("caching"),
        _skill("prose", "", "Caching, caching, caching.\n```\n# caching\n```\n"),
    )
    assert _names(ranker.rank("caching")) == ["caching", "heading"]


def test_further_words_score_and_never_admit():
    ranker = _ranker(_skill("code-review", "Reviews"), _skill("tables"))
    assert not ranker.rank("help me", beside=" see code-review tables")[0].direct
    assert _names(ranker.rank("help me", beside="tables")) == ["tables"]


@pytest.mark.parametrize("n_others", [0, 3, 300])
def test_a_word_of_one_skill_weighs_alike_in_small_and_large_libraries(n_others):
    others = (_skill(f"other-{n}") for n in range(n_others))
    (found,) = _ranker(_skill("caching"), *others).rank("caching")
    assert 0.5 < found.score < 1


def test_the_best_candidates_are_kept():
    ranker = _ranker(*(_skill(f"{word}-query") for word in "abcdefgh"))
    assert len(ranker.rank("a slow query")) == 5
    assert len(ranker.rank("a slow query", n=2)) == 2


@pytest.mark.parametrize("text", ["", "the of and", "\0", "日本語", "_" * 100_000])
def test_a_text_without_known_words_has_no_candidates(greeter, text):
    assert greeter.rank(text) == ()


def test_a_workspace_tells_its_heading_and_file_names(root):
    told = ranking.workspace_words(root / "cases/greet/fixture").split()
    assert told == ["greet", "README", "md", "greet", "py"]


def test_a_plan_ranks_as_it_was_chosen(own_root):
    def candidates(**changes):
        opened = planning.open_plan(tinyroot.plan(**changes), own_root)
        return opened.candidates["greet"]["task"]

    assert _names(candidates()) == ["greeting"]
    prompt = own_root / "cases/greet/prompt.md"
    prompt.write_text("Please mend it.\n")
    guide = own_root / "cases/_skills/guide/SKILL.md"
    guide.write_text(guide.read_text().replace("Which skills", "How we greet; skills"))
    assert _names(candidates(workspace_words=False)) == []
    assert set(_names(candidates(workspace_words=True))) == {"greeting", "guide"}
    assert len(candidates(workspace_words=True, n_candidates=1)) == 1


def test_a_run_takes_the_sealed_candidates_and_ranks_nothing(own_root):
    planned = planning.draft(tinyroot.plan(), own_root, now=lambda: NOW).registration
    other = {"greet": {"task": (Candidate("guide", 1.0, ("a b",), direct=True),)}}
    sealed = seal(msgspec.structs.replace(planned, candidates=other))
    opened = open_registered(sealed, own_root)
    case = opened.cases["greet"]
    assert opened.picked(opened.arms["routed"], case, case.steps[0]) == "guide"
    assert opened.describe(NOW) == sealed


def test_a_skill_that_a_model_might_choose_must_be_one_to_inject(own_root):
    (own_root / "cases/_skills/triggers.toml").unlink()
    asked = {"agent": "claude", "executable": "/usr/bin/true"}
    plan = tinyroot.plan(provider_url="http://127.0.0.1:9", **asked)
    opened = planning.open_plan(plan, own_root)
    case, arm = opened.cases["greet"], opened.arms["routed"]
    assert opened.possible_picks(arm, case, case.steps[0]) == (None, "greeting")
    full = opened.arms["full"]
    assert opened.possible_picks(full, case, case.steps[0]) == (None,)
    greeting = own_root / "cases/_skills/greeting/SKILL.md"
    greeting.write_text(greeting.read_text() + "Run !`date` first.\n")
    with pytest.raises(InputError, match="arm routed: skill 'greeting'"):
        planning.open_plan(plan, own_root)


def test_phrases_that_moved_are_drift(own_root):
    run = planning.seal_plan(tinyroot.plan(), own_root, now=lambda: NOW)
    path = own_root / "cases/_skills/triggers.toml"
    path.write_text(path.read_text() + '\n[guide]\nphrases = ["where to begin"]\n')
    with pytest.raises(DriftError, match=r"arms\[1\]\.triggers_digest"):
        running.run_plan(run, own_root)
    arms = {seal.arm.name: seal for seal in load_registration(run).arms}
    assert arms["full"].triggers_digest is None


def test_phrases_are_those_of_the_library_that_is_ranked(own_root):
    theirs = own_root / "theirs"
    (own_root / "cases/_skills").rename(theirs)
    phrases = theirs / "triggers.toml"
    phrases.write_text('[guide]\nphrases = ["the person"]\n')
    plan = tinyroot.plan(library=str(theirs), arms=("routed", "baseline"))
    opened = planning.open_plan(plan, own_root)
    (first, *_) = opened.candidates["greet"]["task"]
    assert (first.skill, first.phrases) == ("guide", ("the person",))
