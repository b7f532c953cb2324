"""A small run in which everything happens that can happen to a trial."""

from __future__ import annotations

from synthetic import attempts, infrastructure, record, register, result, step

from evalkit.records import (
    AttemptStarted,
    Call,
    Ended,
    Regraded,
    Request,
    StepResult,
    TrialKey,
)
from evalkit.registration import write_registration

STEPS = ("first", "second")
ALL = ("core", "edge", "docs")
MISSING = StepResult("second", not_reached=True)


def sealed():
    return register(
        cases=("alpha", "beta"), arms=("full", "baseline"), repeats=2, steps=STEPS
    )


def _both(key, *names, **settings):
    return result(key, *(step(*names, slug=slug, **settings) for slug in STEPS))


def _totals(key):
    """Totals for two calls, as an agent tells them, with its own price."""
    spoken = Request(0, "model-a", 7, 1, 2, 3, 4, "agent", n_requests=None)
    calls = (
        Call("select", Ended.FINISHED, 0, 0.1, cpu_s=0.05, agent_reported_usd=0.25),
        Call("task", Ended.AGENT_LIMIT, 1, 2.0),
    )
    first = StepResult(
        "first", calls=calls, requests=(spoken,), disagreement="=2 of 3\r\n, 'told'"
    )
    return result(key, first, MISSING)


def bodies():
    """Not begun, interrupted, attempts, lost blocks, void, died, unreported, regraded."""
    found = {
        (case, arm, repeat): TrialKey(case, arm, repeat)
        for case in ("alpha", "beta")
        for arm in ("full", "baseline")
        for repeat in (1, 2)
    }
    whole = _both(found["alpha", "full", 1], *ALL, picked="skill-a")
    later = result(
        found["alpha", "baseline", 1],
        step("core", slug="first"),
        step(slug="second", died="killed"),
        attempt=2,
    )
    return [
        *attempts(whole, infrastructure(found["alpha", "baseline", 1]), later),
        *attempts(result(found["alpha", "full", 2], *_steps("core"), isolation="none")),
        *attempts(result(found["alpha", "baseline", 2], *_steps("docs", tokens=None))),
        AttemptStarted(found["beta", "full", 1], 1),
        *attempts(_totals(found["beta", "baseline", 1])),
        *attempts(infrastructure(found["beta", "full", 2])),
        Regraded(_both(found["alpha", "full", 1], "core"), "from the answers"),
    ]


def _steps(*names, **settings):
    return (step(*names, slug="first", **settings), MISSING)


def run(root, *, more=(), ended="complete"):
    """The folder of that run, its registration and its journal."""
    registration = sealed()
    folder = write_registration(root, registration)
    return (
        folder,
        registration,
        record(folder, registration, [*bodies(), *more], ended=ended),
    )
