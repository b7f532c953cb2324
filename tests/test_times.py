"""Time until the work was done: cut off is not finished, a crash is neither."""

from __future__ import annotations

import msgspec
import pytest
import synthetic
from synthetic import register, result, step

from evalkit import prices, stats, tables
from evalkit.analysis import analyse
from evalkit.records import Call, Ended, Limits

RATES = prices.rates()
LIMIT_S = 100.0
TWO = ("full", "baseline")
CASE = ("a",)


def analysed(tmp_path, result_of, *, cases=CASE, repeats=4, **options):
    sealed = register(
        cases=cases,
        arms=options.pop("arms", TWO),
        repeats=repeats,
        limits=Limits(call_timeout_ms=int(LIMIT_S * 1000)),
        **options,
    )
    return analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)


def arm(found, name="full"):
    return next(row for row in found.times if row.arm == name)


def lasting(seconds, ended=Ended.FINISHED):
    """Trials of full last so long, by repeat; those of baseline 50 s."""

    def result_of(key):
        if key.arm != "full":
            return result(key, step("core", wall_s=50.0 + key.repeat))
        how = ended if seconds[key.repeat - 1] >= LIMIT_S else Ended.FINISHED
        return result(key, step("core", wall_s=seconds[key.repeat - 1], ended=how))

    return result_of


def test_without_a_cut_the_restricted_mean_is_the_mean(tmp_path):
    row = arm(analysed(tmp_path, lasting((10.0, 20.0, 40.0, 90.0))))
    assert (row.n, row.n_cut, row.n_failed, row.limit_s) == (4, 0, 0, LIMIT_S)
    assert row.restricted_mean_s == pytest.approx(40)
    assert row.median_s == 40


def test_a_trial_that_was_cut_off_counts_as_at_work_until_the_limit(tmp_path):
    found = analysed(tmp_path, lasting((10.0, 20.0, 100.4, 101.0), Ended.TIMED_OUT))
    row = arm(found)
    assert (row.n, row.n_cut) == (4, 2)
    assert row.restricted_mean_s == pytest.approx((10 + 20 + 100 + 100) / 4)
    assert row.median_s is None
    assert [point.seconds for point in row.points] == [10, 20, LIMIT_S, LIMIT_S]
    assert [point.finished for point in row.points] == [True, True, False, False]
    shown = tables.times(found).text
    assert "The clock cut off 2 of 8 trials." in shown
    assert "not by the limit" in shown


@pytest.mark.parametrize("ended", [Ended.AGENT_ERROR, Ended.REFUSED, Ended.AGENT_LIMIT])
def test_a_trial_that_ended_otherwise_is_left_out_and_counted(tmp_path, ended):
    row = arm(analysed(tmp_path, lasting((10.0, 20.0, 30.0, 100.0), ended)))
    assert (row.n, row.n_cut, row.n_failed) == (3, 0, 1)
    assert row.restricted_mean_s == pytest.approx(20)


def test_a_contrast_is_that_of_the_statistics(tmp_path):
    found = analysed(tmp_path, lasting((10.0, 20.0, 100.0, 100.0), Ended.TIMED_OUT))
    (row,) = found.time_contrasts
    mine = stats.Times((10, 20, 100, 100), (True, True, False, False), LIMIT_S)
    other = stats.Times((51, 52, 53, 54), (True,) * 4, LIMIT_S)
    test = stats.log_rank(mine, other)
    assert isinstance(test, stats.LogRank)
    assert (row.arm, row.comparator, row.limit_s) == ("full", "baseline", LIMIT_S)
    assert row.difference_s == pytest.approx(57.5 - 52.5)
    assert row.p == pytest.approx(test.p)
    assert row.refusal is None


def test_where_nothing_finished_a_difference_stands_without_a_test(tmp_path):
    found = analysed(
        tmp_path, lambda key: result(key, step(wall_s=100.0, ended=Ended.TIMED_OUT))
    )
    (row,) = found.time_contrasts
    assert (row.difference_s, row.p) == (0, None)
    assert "no trial finished" in (row.refusal or "")


def test_an_arm_without_a_time_is_refused_in_a_sentence(tmp_path):
    found = analysed(tmp_path, lasting((100.0,) * 4, Ended.AGENT_ERROR))
    row = arm(found)
    assert (row.n, row.n_failed) == (0, 4)
    assert (row.restricted_mean_s, row.median_s) == (None, None)
    (contrast,) = found.time_contrasts
    assert (contrast.difference_s, contrast.p) == (None, None)
    assert (contrast.refusal or "").startswith("full: no time")


def test_choosing_a_skill_is_part_of_the_time_and_may_pass_the_limit(tmp_path):
    def result_of(key):
        made = step("core", wall_s=80.0)
        chose = Call("select", Ended.FINISHED, 0, 15.0 * key.repeat)
        calls = (chose, *made.calls)
        return result(key, msgspec.structs.replace(made, calls=calls))

    row = arm(analysed(tmp_path, result_of, repeats=2))
    assert [point.seconds for point in row.points] == [95, LIMIT_S]
    assert (row.n_cut, row.restricted_mean_s) == (1, pytest.approx(97.5))


def test_a_choice_that_was_cut_off_is_no_trial_cut_off(tmp_path):
    def result_of(key):
        made = step("core", wall_s=10.0)
        chose = Call("select", Ended.TIMED_OUT, None, 50.0)
        calls = (chose, *made.calls)
        return result(key, msgspec.structs.replace(made, calls=calls))

    row = arm(analysed(tmp_path, result_of))
    assert (row.n_cut, row.restricted_mean_s) == (0, 60)


def chain(key, *ended):
    slugs = ("one", "two")
    return result(
        key,
        *(
            step("core", slug=slug, wall_s=60.0, ended=how)
            for slug, how in zip(slugs, ended, strict=False)
        ),
    )


def test_a_chain_has_the_limit_of_all_its_steps(tmp_path):
    found = analysed(
        tmp_path,
        lambda key: chain(key, Ended.FINISHED, Ended.FINISHED),
        steps=("one", "two"),
    )
    row = arm(found)
    assert (row.limit_s, row.restricted_mean_s) == (2 * LIMIT_S, 120)


def test_a_chain_that_was_cut_off_in_a_step_has_no_limit_in_common(tmp_path):
    def result_of(key):
        if (key.arm, key.repeat) == ("full", 1):
            return chain(key, Ended.TIMED_OUT)
        return chain(key, Ended.FINISHED, Ended.FINISHED)

    found = analysed(tmp_path, result_of, steps=("one", "two"))
    row = arm(found)
    assert (row.n_cut, row.restricted_mean_s) == (1, None)
    assert "1 of 4 chains were cut off in a step" in (row.refusal or "")
    assert row.points[0].seconds == 60
    assert arm(found, "baseline").restricted_mean_s == 120
    assert found.time_contrasts[0].difference_s is None


def test_a_chain_that_ended_early_did_not_finish(tmp_path):
    found = analysed(
        tmp_path, lambda key: chain(key, Ended.FINISHED), steps=("one", "two")
    )
    assert (arm(found).n, arm(found).n_failed) == (0, 4)


def test_cases_with_other_limits_are_never_in_one_mean(tmp_path):
    sealed = register(
        cases=("a", "b"), arms=TWO, repeats=2, limits=Limits(call_timeout_ms=100_000)
    )
    longer = msgspec.structs.replace(sealed.cases[1], steps=("one", "two"))
    sealed = msgspec.structs.replace(sealed, cases=(sealed.cases[0], longer))

    def result_of(key):
        if key.case == "a":
            return result(key, step("core", wall_s=10.0))
        return chain(key, Ended.FINISHED, Ended.FINISHED)

    found = analyse(sealed, synthetic.run(tmp_path, sealed, result_of), RATES)
    assert [(r.arm, r.cases, r.limit_s, r.restricted_mean_s) for r in found.times] == [
        ("full", ("a",), LIMIT_S, 10),
        ("baseline", ("a",), LIMIT_S, 10),
        ("full", ("b",), 2 * LIMIT_S, 120),
        ("baseline", ("b",), 2 * LIMIT_S, 120),
    ]
    assert len(found.time_contrasts) == 2
