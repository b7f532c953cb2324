"""schedule: counterbalanced, seeded, complete."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from evalkit import schedule


@pytest.mark.parametrize("n", range(2, 8))
def test_every_arm_has_every_place_and_follows_every_other_equally_often(n):
    rows = schedule.williams_rows(n)
    places = Counter((arm, place) for row in rows for place, arm in enumerate(row))
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(places) == n * n
    assert len(set(places.values())) == 1
    assert len(follows) == n * (n - 1)
    assert len(set(follows.values())) == 1


def test_a_schedule_holds_every_trial_once_in_whole_blocks():
    order = schedule.make_schedule(["a", "b"], ["x", "y", "z"], 3, rng=random.Random(5))
    assert len({str(key) for key in order}) == len(order) == 18
    assert [len(block) for block in schedule.blocks_of(order)] == [3] * 6


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    def order(seed):
        return schedule.make_schedule(
            ["a", "b"], ["x", "y", "z"], 3, rng=random.Random(seed)
        )

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_whole_cycles_of_rows_leave_no_imbalance():
    order = schedule.make_schedule(["a"], ["x", "y"], 4, rng=random.Random(1))
    assert schedule.imbalance(order) == 0
    odd = schedule.make_schedule(["a"], ["x", "y"], 3, rng=random.Random(1))
    assert schedule.imbalance(odd) == 1
