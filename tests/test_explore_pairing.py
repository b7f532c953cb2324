"""Two trials of a block side by side: aligned by what was done, nothing guessed."""

import random
from itertools import product
from pathlib import Path

import msgspec
import pytest
import sessions
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.explore import alignment
from evalkit.explore.alignment import MAX_CELLS, Key, align
from evalkit.explore.index import Transcript
from evalkit.explore.matching import Verdict, asks_otherwise, first_difference, match
from evalkit.explore.measures import Unit, shown_sides
from evalkit.explore.pair_summary import told
from evalkit.explore.pairing import find_other, pair
from evalkit.explore.redaction import Redactor
from evalkit.explore.telling import Teller
from evalkit.explore.trial import find_trial, trial_lines
from evalkit.explore.turns import Called, TurnKind, read_turns
from evalkit.records import Program

DATA = Path(__file__).parent / "data"
REAL = DATA / "transcripts"
SECRET = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789-xyzAA"
EDIT = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}
TESTS = ("Bash", {"command": "pytest -q"})


def _keys(names: str) -> list[Key]:
    """Small and large letters are kindred."""
    return [Key(name, name.lower()) for name in names]


def _shown(left: str, right: str) -> list[str]:
    """What meets what, with - for nothing."""
    return [
        ("-" if i is None else left[i]) + ("-" if j is None else right[j])
        for i, j in align(_keys(left), _keys(right))
    ]


# --- alignment -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "meets"),
    [
        ("", "", ""),
        ("ab", "", "a- b-"),
        ("abc", "abc", "aa bb cc"),
        ("abcd", "acd", "aa b- cc dd"),
        ("xabc", "abcy", "x- aa bb cc -y"),
        ("abc", "aBc", "aa bB cc"),
        ("aXc", "ayc", "aa X- -y cc"),
        ("aab", "aAab", "aa -A aa bb"),
    ],
)
def test_equal_keys_meet_then_kindred_ones(left, right, meets):
    assert _shown(left, right) == meets.split()


@settings(max_examples=200, deadline=None)
@given(st.text("abAB", max_size=12), st.text("abAB", max_size=12))
def test_a_small_gap_is_aligned_at_best(left, right):
    worth = {(i, -1): 0 for i in range(-1, len(left))}
    worth |= {(-1, j): 0 for j in range(-1, len(right))}
    for i, j in product(range(len(left)), range(len(right))):
        met = 4 if left[i] == right[j] else left[i].lower() == right[j].lower()
        ways = (worth[i - 1, j], worth[i, j - 1], worth[i - 1, j - 1] + met)
        worth[i, j] = max(ways)
    found = [
        4 if left[i] == right[j] else 1
        for i, j in align(_keys(left), _keys(right))
        if i is not None and j is not None
    ]
    assert sum(found) == worth[len(left) - 1, len(right) - 1]


@pytest.mark.parametrize("most", [0, MAX_CELLS])
def test_a_part_in_common_meets_before_what_is_only_kindred(most, monkeypatch):
    """In a gap of any size."""
    monkeypatch.setattr(alignment, "MAX_CELLS", most)
    left = [Key("b", "write", frozenset("b")), Key("ls", "run")]
    one, other = (Key(name, "write", frozenset(name)) for name in ("abc", "de"))
    assert (0, 0) in align(left, [one, other])
    assert (0, 1) in align(left, [other, one])


@pytest.mark.parametrize("n_keys", [1, 3, 40, 5000])
def test_five_thousand_turns_a_side_are_all_there_once_and_in_order(n_keys):
    """Beyond what is aligned at best, whatever repeats in them."""
    draw = random.Random(n_keys)
    sides = [[f"{draw.randrange(n_keys)}" for _ in range(5000)] for _ in range(2)]
    left, right = ([Key(name, name[:1]) for name in side] for side in sides)
    left = [Key("begin", "other"), *left, Key("end", "others")]
    assert len(left) * len(right) > MAX_CELLS
    met = align(left, right)
    assert [i for i, _ in met if i is not None] == list(range(len(left)))
    assert [j for _, j in met if j is not None] == list(range(len(right)))
    both = sum(i is not None and j is not None for i, j in met)
    assert both > 1000


def test_what_was_put_in_leaves_the_rest_of_long_sides_together():
    left = [Key(f"{n % 700} {n // 1400}", n % 7) for n in range(5000)]
    right = [*left[:1000], Key("new", "new"), *left[1000:3000], *left[3100:]]
    met = align(left, right)
    assert sum(i is not None and j is not None for i, j in met) == 4900


# --- turns ---------------------------------------------------------------------


def _turns(path: Path):
    return read_turns(Transcript(path)).turns


def _of(tmp_path: Path, *deeds: object, name: str = "s.jsonl", **more: str):
    return _turns(sessions.write(tmp_path / name, *sessions.acts(*deeds, **more)))


@pytest.mark.parametrize(
    "path", [*sorted(REAL.glob("*.jsonl")), *sorted((DATA / "codex").iterdir())]
)
def test_every_item_of_a_real_transcript_is_in_one_turn(path):
    found = _turns(path)
    ends = [turn.stop for turn in found]
    assert [turn.start for turn in found] == [0, *ends[:-1]]
    assert ends[-1] == len(Transcript(path))


def test_a_request_of_a_real_session_is_a_turn():
    """As many as `show` counts requests."""
    for name, n in (("cc-2.1.12-corrupt-line", 41), ("cc-2.0.64-tool-errors", 66)):
        found = _turns(REAL / f"{name}.jsonl")
        assert sum(turn.kind is TurnKind.ACTION for turn in found) == n


def test_codex_takes_the_same_turns_in_its_stream_and_its_rollout():
    sides = [
        [turn for turn in _turns(DATA / "codex" / name) if turn.kind is TurnKind.ACTION]
        for name in ("success.events.jsonl", "success.rollout.jsonl")
    ]
    assert [len(side) for side in sides] == [2, 2]
    assert [[len(turn.calls) for turn in side] for side in sides] == [[1, 0], [1, 0]]


def test_what_codex_says_after_a_change_that_has_no_result_is_its_next_turn(tmp_path):
    changed = {"type": "file_change", "id": "1", "status": "completed", "changes": []}
    said = {"type": "agent_message", "id": "2", "text": "Done."}
    items = [{"type": "item.completed", "item": item} for item in (changed, said)]
    begun = {"type": "thread.started", "thread_id": "t"}
    found = _turns(sessions.write(tmp_path / "s.jsonl", begun, *items))
    assert [(turn.kind.value, len(turn.calls)) for turn in found[1:]] == (
        [("turn", 1), ("turn", 0)]
    )


def test_a_turn_is_what_was_called_and_what_came_of_it(tmp_path):
    prompt, edits, fails, says = _of(tmp_path, ("Edit", EDIT), (*TESTS, "no"), "Done.")
    assert (prompt.kind, prompt.said) == (TurnKind.PROMPT, "Please do it.")
    assert (edits.calls, edits.n_edits) == ((Called("Edit", "/w/a.py"),), 1)
    assert (fails.calls, fails.n_errors) == ((Called("Bash", "pytest -q"),), 1)
    assert (says.calls, says.said, says.n) == ((), "Done.", 3)


# --- rows ----------------------------------------------------------------------


def _rows(tmp_path: Path, left: list, right: list):
    return match(_of(tmp_path, *left), _of(tmp_path, *right, name="other.jsonl"))


def _first(rows) -> str | None:
    found = first_difference(rows, "full", "baseline", Teller(Redactor()))
    return found and f"{found.row}: {found.sentence}"


def test_the_same_deeds_are_the_same_whatever_was_said_beside_them(tmp_path):
    rows = _rows(tmp_path, [TESTS, "Done."], [TESTS, "Done."])
    assert [row.verdict for row in rows] == [Verdict.SAME] * 3
    assert _first(rows) is None
    assert not asks_otherwise(rows)


def test_one_file_edited_in_two_ways_differs_in_what_was_given(tmp_path):
    other = {**EDIT, "new_string": "c"}
    rows = _rows(tmp_path, [TESTS, ("Edit", EDIT)], [TESTS, ("Edit", other)])
    assert (rows[2].verdict, rows[2].differs) == (Verdict.DIFFERS, ("input",))
    assert _first(rows) == "3: both Edit /w/a.py (turns 2 and 2), unlike in input."


def test_the_same_call_that_fails_on_one_side_differs(tmp_path):
    rows = _rows(tmp_path, [TESTS], [(*TESTS, "1 failed")])
    assert rows[1].differs == ("errors", "results")
    assert rows[1].verdict is Verdict.DIFFERS


def test_turns_meet_on_a_file_whatever_else_was_called_beside_it(tmp_path):
    """Not on the tool of their first call."""
    others = [("Edit", {**EDIT, "file_path": f"/w/{name}.py"}) for name in "bc"]
    calls = [
        sessions.call(*one, f"t{n}")
        for n, one in enumerate([others[0], ("Edit", EDIT)])
    ]
    asked = sessions.row("user", sessions.text("Please do it."))
    both = sessions.row("assistant", *calls, message="m1")
    last = sessions.row("assistant", sessions.call(*others[1], "t9"), message="m2")
    right = _turns(sessions.write(tmp_path / "right", asked, both, last))
    rows = match(_of(tmp_path, ("Edit", EDIT)), right)
    assert [row.verdict.value for row in rows] == ["same", "differs", "only right"]
    assert _first(rows) == (
        "2: full, turn 1: Edit /w/a.py; baseline, turn 1: Edit /w/b.py, Edit /w/a.py."
    )


def test_results_alone_are_told_and_part_nothing(tmp_path):
    left, right = sessions.acts(TESTS), sessions.acts(TESTS)
    right[-1]["message"]["content"][0]["content"] = "in 0.2 s"
    rows = match(
        _turns(sessions.write(tmp_path / "a", *left)),
        _turns(sessions.write(tmp_path / "b", *right)),
    )
    assert (rows[1].verdict, rows[1].differs) == (Verdict.SAME, ("results",))


def test_a_turn_of_one_side_alone_names_what_the_other_did_instead(tmp_path):
    read = ("Read", {"file_path": "README.md"})
    rows = _rows(tmp_path, [read, TESTS, "Done."], [TESTS])
    assert [row.verdict.value for row in rows] == [
        *("same", "only left", "same", "only left")
    ]
    assert (
        _first(rows)
        == "2: only full, turn 1: Read README.md; baseline, turn 1 (row 3): Bash pytest -q."
    )
    ended = _rows(tmp_path, [TESTS, "Done."], [TESTS])
    assert _first(ended) == '3: only full, turn 2: says "Done."; baseline has ended.'
    other = _first(_rows(tmp_path, [TESTS], [TESTS, "Done."]))
    assert other == '3: only baseline, turn 2: says "Done."; full has ended.'


def test_tools_without_a_telling_argument_meet_by_all_they_were_given(tmp_path):
    one, two = ("Think", {"depth": 1}), ("Think", {"depth": 2})
    rows = _rows(tmp_path, [one, two], [two])
    assert [row.verdict.value for row in rows] == ["same", "only left", "same"]


def test_no_sentence_tells_a_secret(tmp_path):
    rows = _rows(tmp_path, [("Bash", {"command": f"x {'y ' * 60}{SECRET}"})], [])
    assert SECRET[:20] not in str(_first(rows))


# --- pairs ---------------------------------------------------------------------


def _told(key, slug):
    """`full` reads first; `auto` leaves nothing."""
    if key.arm == "auto":
        return None
    more = [("Skill", {"skill": SECRET})] if key.arm == "full" else []
    asked = f"Please do {slug}" + (", with a skill." if more else ".")
    return sessions.acts(*more, TESTS, ("Edit", EDIT), "Done.", asked=asked)


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Path:
    """A run of a case with two steps; `baseline` does not come to the second."""
    return sessions.run(
        tmp_path_factory.mktemp("chain"),
        _told,
        steps=("begin", "end"),
        repeats=2,
        stopped=lambda key, slug: (key.arm, slug) == ("baseline", "end"),
    )


def _pair(run: Path, other: str):
    left = find_trial(run, "alpha.full.r1")
    return pair(left, find_other(left, other), Teller(Redactor()))


def test_a_chain_is_told_step_by_step_and_a_step_that_is_missing_is_said(chain):
    found = _pair(chain, "baseline")
    begin, end = found.parts
    assert (begin.step, begin.is_compared, begin.asked_otherwise) == (
        "begin",
        True,
        True,
    )
    assert begin.first is not None
    assert begin.first.row == 2
    assert (end.step, end.left.missing, end.right.missing) == (
        *("end", None, "the step was not reached"),
    )
    assert (end.rows, end.first) == ((), None)
    assert found.stamp == "SIMULATED"


def test_totals_are_compared_and_what_nobody_told_is_not_nothing(chain):
    found = {one.name: one for one in _pair(chain, "baseline").measures}
    turns = found["turns"]
    assert (turns.left, turns.right, turns.difference) == (8, 3, 5)
    assert shown_sides(found["calls of Skill"]) == ("2", "0", "+2")
    assert (found["edits"].left, found["edits"].right) == (2, 1)
    assert (found["input tokens"].left, found["input tokens"].right) == (2000, 1000)
    assert found["seconds of its calls"].difference == 10
    assert found["checks passed"].difference == 2
    assert found["score"].unit is Unit.SCORE
    assert shown_sides(found["score"]) == ("0.75", "0.38", "+0.38")
    usd = found["dollars, by list prices"]
    assert usd.left == 2 * usd.right > 0
    lost = {one.name: one for one in _pair(chain, "auto").measures}
    assert (lost["turns"].left, lost["turns"].right, lost["turns"].difference) == (
        *(8, None, None),
    )
    assert shown_sides(lost["turns"]) == ("8", "not reported", "-")


def test_what_nobody_told_the_use_of_leaves_a_bound_and_no_difference(chain):
    left = find_trial(chain, "alpha.full.r1")
    assert left.result is not None
    steps = tuple(
        msgspec.structs.replace(step, n_unknown_requests=1)
        for step in left.result.steps
    )
    cut = left._replace(result=msgspec.structs.replace(left.result, steps=steps))
    found = pair(cut, find_other(left, "baseline"), Teller(Redactor()))
    tokens = next(one for one in found.measures if one.name == "input tokens")
    assert shown_sides(tokens) == ("at least 2,000", "1,000", "-")


def test_a_transcript_that_was_not_kept_or_cannot_be_read_is_said(chain, tmp_path):
    begin, _ = _pair(chain, "auto").parts
    assert begin.right.missing == "no transcript was kept"
    run = sessions.run(tmp_path, _told)
    step = find_trial(run, "alpha.baseline.r1").step_evidence("task")
    step.task.stdout.write_text("hello\n")
    (task,) = _pair(run, "baseline").parts
    assert "it cannot be read" in str(task.right.missing)
    assert task.rows == ()


def test_an_agent_that_keeps_no_transcript_is_said_to_keep_none(chain):
    left = find_trial(chain, "alpha.full.r1")
    replace = msgspec.structs.replace
    plan = replace(left.registration.plan, program=Program(("agent",)))
    silent = left._replace(registration=replace(left.registration, plan=plan))
    found = pair(silent, find_other(left, "baseline"), Teller(Redactor()))
    assert found.parts[0].left.missing == "this agent keeps no transcript"
    turns = next(one for one in found.measures if one.name == "turns")
    assert turns.left is None
    assert "this agent keeps no transcript" in trial_lines(silent)[-1]


def test_what_stands_beside_is_an_arm_or_a_trial_of_the_block(chain):
    left = find_trial(chain, "alpha.full.r1")
    for other in ("baseline", "alpha.baseline.r1"):
        assert str(find_other(left, other).trial.key) == "alpha.baseline.r1"
    for other in ("alpha.baseline.r2", "beta.full.r1", "full", "nobody"):
        with pytest.raises(InputError, match=r"alpha\.auto\.r1, alpha\.baseline\.r1"):
            find_other(left, other)


def test_a_pair_that_is_told_holds_no_secret(chain):
    found = _pair(chain, "baseline")
    assert SECRET in str(found.parts[0].rows)
    assert SECRET not in str(told(found, Teller(Redactor())))
