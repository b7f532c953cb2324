"""Runs of trivial trials: the root of the tests, made ten files wide.

The scripted agent makes one tool call, which writes one file, and says that it is
done; the grader makes three checks, two of which call what was delivered.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import tinyroot

from evalkit import files
from evalkit import plan as planning
from evalkit.frames.kept import CACHE
from evalkit.records import Budget
from evalkit.run import utc_now

POLICY = Path("reference/scripted.toml")
SEED = 1
ONE_ARM = ("baseline",)


def make_root(folder: Path) -> Path:
    """A root with one trivial case of ten files, proven."""
    root = tinyroot.make(folder / "root")
    for n in range(8):
        note = root / f"cases/greet/fixture/note{n}.txt"
        note.write_text(f"note {n}\n" * 50)
    policy = (root / POLICY).read_text()
    for drawn, fixed in (
        ("n_requests = [2, 3]", "n_requests = [2, 2]"),
        ("latency_ms = [1, 2]", "latency_ms = [0, 0]"),
        ("{ correct = 0.5, naive = 0.5 }", "{ correct = 1.0 }"),
    ):
        assert drawn in policy
        policy = policy.replace(drawn, fixed)
    (root / POLICY).write_text(policy)
    tinyroot.prove(root)
    return root


def seal(root: Path, n_trials: int, **changes: object) -> Path:
    """The folder of a sealed run of so many trials, of one arm unless others are named."""
    arms = changes.setdefault("arms", ONE_ARM)
    n_repeats, rest = divmod(n_trials, len(arms))
    assert not rest, f"{n_trials} trials are no whole number of blocks of {arms}"
    plan = tinyroot.plan(
        repeats=n_repeats, budget=Budget(max_calls=2 * n_trials), seed=SEED, **changes
    )
    return planning.seal_plan(plan, root, now=utc_now)


def run_argv(run: Path, root: Path, n_workers: int) -> list[str]:
    """The command that carries out a sealed run."""
    evalkit = [sys.executable, "-m", "evalkit.cli", "run", run.name]
    return [*evalkit, "--workers", str(n_workers), "--root", str(root)]


def bare_argv(folder: Path, n_trials: int, n_workers: int) -> list[str | Path]:
    """The command of a bare script that carries out as many trials of the root in a folder."""
    words = [folder, str(n_trials), str(n_workers), tinyroot.isolation()]
    return [sys.executable, Path(__file__).with_name("bare_side.py"), *words]


def forget_frames(run: Path) -> None:
    """Take away the frames that a run keeps, so that they are made again."""
    files.remove_tree(run / CACHE)
