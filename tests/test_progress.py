"""Where a run stands: what is done and under way, what it spent of what it may."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from evalkit import progress
from evalkit.standing import Status

STATUS = Status(
    run="20261130-made@1-00000000",
    state="running",
    n_planned=60,
    n_done=12,
    n_attempts=14,
    n_calls=15,
    max_calls=400,
    n_tokens=1_234_567,
    max_tokens=20_000_000,
    usd=1.5,
    max_usd=20.0,
    n_unreported=0,
    deadline_at="2026-11-30T12:00:00+00:00",
    outcomes={"scored": 12, "infrastructure": 1},
    current=("alpha.full.r2",),
    simulated=False,
)
NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def but(**changes) -> Status:
    return msgspec.structs.replace(STATUS, **changes)


def rows(status) -> dict[str, str]:
    return dict(progress.table(status).rows)


def test_a_run_under_way_says_what_it_does_and_spent_and_how_long_it_has():
    done, spent, left = progress.lines(STATUS, NOW, 30.0)
    assert done == "12 of 60 trials done; now alpha.full.r2"
    assert spent == (
        "spent: calls 15 (at most 400), tokens 1,234,567 (at most 20,000,000), "
        "dollars $1.50 (at most $20.00)"
    )
    assert (
        left == "time left: about 24.0 min at this pace, 120.0 min until the deadline"
    )


def test_without_a_pace_only_the_deadline_is_told():
    assert progress.lines(STATUS, NOW, None)[2] == (
        "time left: 120.0 min until the deadline"
    )


def test_a_deadline_that_has_passed_leaves_no_time():
    late = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)
    assert progress.lines(STATUS, late, None)[2].startswith("time left: 0.00 s until")


def test_a_run_that_is_done_has_no_time_left_to_tell():
    ended = but(n_done=60, state="complete", deadline_at=None, current=())
    assert len(progress.lines(ended, NOW, 30.0)) == 2


def test_dollars_that_nobody_knows_are_not_reported():
    assert rows(but(usd=None))["Dollars"] == "not reported, at most $20.00"
    assert "dollars not reported" in progress.lines(but(usd=None), NOW, None)[1]


def test_calls_that_told_of_no_tokens_are_not_shown_as_free():
    silent = but(n_tokens=0, usd=0.0, n_unreported=15)
    assert rows(silent)["Tokens"].startswith("not reported")
    assert rows(silent)["Dollars"].startswith("not reported")


def test_a_call_that_told_nothing_makes_a_sum_a_lower_bound():
    found = rows(but(n_unreported=1))
    assert found["Tokens"].startswith("at least 1,234,567")
    assert found["Dollars"].startswith("at least $1.50")


def test_before_the_first_call_nothing_was_spent():
    fresh = but(n_calls=0, n_tokens=0, usd=0.0)
    assert rows(fresh)["Dollars"] == "$0.00, at most $20.00"


@pytest.mark.parametrize(
    ("name", "cap"), [("Tokens", "max_tokens"), ("Dollars", "max_usd")]
)
def test_a_budget_without_a_cap_says_so(name, cap):
    assert rows(but(**{cap: None}))[name].endswith(", no cap")


def test_the_table_says_what_is_under_way_and_when_it_ends_at_the_latest():
    found = rows(STATUS)
    assert found["Now"] == "alpha.full.r2"
    assert found["Ends at the latest"] == STATUS.deadline_at
    assert "Now" not in rows(but(current=()))
