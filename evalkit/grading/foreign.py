"""Graders in any language: a command that ends in one score line on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from evalkit import files, process
from evalkit.grading.work import Told
from evalkit.records import Case, Step
from evalkit.sandbox import Box, Mount

GRACE_S = 1.0
MAX_OUTPUT_BYTES = 8 * 1024 * 1024


def stdout_beside(answers: Path) -> Path:
    """Where the output of a foreign grader is kept, beside its verdict."""
    return answers.with_name("grader.stdout")


def run_foreign(
    case: Case,
    step: Step,
    workspace: Path,
    *,
    root: Path,
    box: Box,
    seed: int,
    answers: Path,
) -> Told:
    """Run a case's grader command in the sandbox.

    It may write to the workspace, a private copy, and reads a copy of its own
    folder; the words `{workspace}`, `{grader}`, `{step}` and `{seed}` are filled in.
    It has an empty /proc (and so no /dev/fd, nor /dev/stdout). What it starts may
    still read that folder, write to an output it inherits, and send signals.
    """
    with files.private_folder() as private:
        home, grader, nothing = (private / n for n in ("home", "grader", "nothing"))
        home.mkdir()
        nothing.mkdir()
        files.write_entries(files.read_tree(root / "graders" / case.id), grader)
        place = box.place(workspace, home, grader)
        values = {
            "workspace": place.workspace.seen,
            "grader": place.staging.seen,
            "step": step.slug,
            "seed": str(seed),
        }
        argv = process.fill(case.grader_command or (), values)
        path = f"{Path(sys.executable).parent}:{process.MINIMAL_ENV['PATH']}"
        env = {**process.MINIMAL_ENV, "PATH": path, "HOME": place.home.seen}
        # What it starts is of the same user: /proc would open its memory to that.
        launch = box.agent_argv(argv, env, place, [Mount(nothing, "/proc")])
        ended = process.run(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            stdout=stdout_beside(answers),
            stderr=answers.with_name("grader.stderr"),
            timeout_s=case.grade_timeout_s,
            grace_s=GRACE_S,
            max_output_bytes=MAX_OUTPUT_BYTES,
            given=launch.given,
            caps=launch.caps,
        )
    return _judge(ended, stdout_beside(answers), case.grade_timeout_s)


def _judge(ended: process.Finished, stdout: Path, timeout_s: float) -> Told:
    if ended.timed_out:
        return Told(died=f"no verdict within {timeout_s:g} s")
    if ended.excess:
        return Told(died=ended.excess)
    if ended.exit_code != 0:
        return Told(died=f"the grader ended with exit {ended.exit_code}")
    if ended.truncated:
        return Told(died=f"the grader wrote over {MAX_OUTPUT_BYTES:,} bytes")
    said = files.read_regular(stdout).decode(errors="replace")
    return Told(line=said, cpu_s=ended.cpu_s)
