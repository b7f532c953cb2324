"""turns: which trial begins next, where several blocks are under way."""

from evalkit.records import TrialKey
from evalkit.turns import Turns

BLOCKS = [
    tuple(TrialKey(case, arm, 1) for arm in ("x", "y")) for case in ("a", "b", "c")
]


def _turns(done=()):
    return Turns(BLOCKS, lambda block: [key for key in block if key not in done])


def _begin(turns):
    if not turns.is_ready():
        assert turns.ahead()
        turns.begin_block()
        assert turns.is_ready()
    return turns.begin_trial()


def test_trials_begin_in_the_order_of_the_schedule_however_many_are_under_way():
    turns = _turns()
    assert [_begin(turns) for _ in range(6)] == [key for b in BLOCKS for key in b]
    assert not turns.is_ready()
    assert not turns.ahead()


def test_a_trial_to_try_again_goes_before_a_block_that_has_not_begun():
    done = set()
    turns = _turns(done)
    first, second = _begin(turns), _begin(turns)
    done.add(second)
    turns.end_trial(second)
    assert not turns.is_ready()  # its round is not over
    turns.end_trial(first)
    assert turns.is_ready()
    assert turns.begin_trial() == first


def test_a_block_with_nothing_left_is_passed_by():
    turns = _turns(done={*BLOCKS[0], BLOCKS[1][0]})
    assert turns.ahead() == [BLOCKS[1][1]]
    assert _begin(turns) == BLOCKS[1][1]
    assert _begin(turns) == BLOCKS[2][0]


def test_what_begun_blocks_have_left_says_what_is_under_way():
    done = set()
    turns = _turns(done)
    first = _begin(turns)
    assert list(turns.left()) == [(first, True), (BLOCKS[0][1], False)]
    done.add(first)
    turns.end_trial(first)
    assert list(turns.left()) == [(BLOCKS[0][1], False)]
