"""A root with a chain of three steps: a tale that is told chapter by chapter."""

from __future__ import annotations

import sys
from pathlib import Path

import tinyroot

from evalkit import proof, sandbox
from evalkit.records import Plan, Program

SLUGS = ("begin", "go-on", "end")
STEP = """
{name} = Checks({{"chapter-{n}": 2, "all-so-far-{n}": 1, "titled-{n}": 1}}, step="{slug}")


@{name}("chapter-{n}")
def chapter_{n}(subject):
    told = subject.call("tale:chapter", {n}).value
    expect(told == "chapter {n}", "the chapter is told", told)


@{name}("all-so-far-{n}")
def all_so_far_{n}(subject):
    told = [subject.call("tale:chapter", n).value for n in range(1, {n} + 1)]
    wanted = [f"chapter {{n}}" for n in range(1, {n} + 1)]
    expect(told == wanted, "chapters told", told)


@{name}("titled-{n}")
def titled_{n}(subject):
    expect(subject.exists("README.md"), "it has a title")
"""
COMPLAINTS = """
[steps.{slug}]
skills = ["greeting"]
min_score = 0.5

[steps.{slug}.complaints]
chapter-{n} = "core"
all-so-far-{n} = "convention-drift"
titled-{n} = "skipped-implied-work"
"""
CHAPTER = "def chapter(n):\n    if n <= {n}:\n        return f'chapter {{n}}'\n    return 'to come'\n"
LONE = "def chapter(n):\n    if n == {n}:\n        return f'chapter {{n}}'\n    return 'gone'\n"
EXPECTED = """
[{overlay}.{slug}]
score = "{score}"
failing = {failing}
"""
OVERLAYS = {
    "fixture": [("1/4", (0, 1))] * 3,
    "correct": [("4/4", ())] * 3,
    "forgets": [("4/4", ()), ("3/4", (1,)), ("3/4", (1,))],
    "stops": [("4/4", ()), ("1/4", (0, 1)), ("1/4", (0, 1))],
}
CHECKS = ("chapter-{n}", "all-so-far-{n}", "titled-{n}")
AGENT = '''
"""Tells the chapter it is asked for; misbehaves in one step, if told to."""

import os, sys, time
from pathlib import Path

print("at work", flush=True)
n = int(sys.argv[1].split()[-1])
assert not Path(Path.home(), "remembered").exists()
Path(Path.home(), "remembered").write_text(sys.argv[1])
deed = {deed!r} if n == {at} else "work"
if deed != "idle":
    Path("tale.py").write_text({chapter!r}.format(n=n))
if deed == "hang":
    time.sleep(600)
sys.exit(7 if deed == "fail" else 0)
'''


def make(root: Path) -> Path:
    """Write the root."""
    tinyroot.make(root)
    case = 'id = "tale"\ntitle = "Tell a tale"\nkind = "chain"\n'
    case += 'hypothesis = "No arm differs: the case is trivial."\n'
    grader = '"""tale: chapters are told."""\n\n'
    grader += "from evalkit.grader import Checks, expect\n"
    files = {"cases/tale/fixture/tale.py": "def chapter(n):\n    return 'to come'\n"}
    files["cases/tale/fixture/README.md"] = "# tale\n\n`chapter(n)` tells chapter n.\n"
    expected = ""
    for n, slug in enumerate(SLUGS, 1):
        case += COMPLAINTS.format(n=n, slug=slug)
        grader += STEP.format(n=n, slug=slug, name=slug.replace("-", "_"))
        files[f"cases/tale/steps/{n:02}-{slug}.md"] = f"Please tell chapter {n}\n"
        folder = f"{n:02}-{slug}/tale.py"
        files[f"reference/tale/correct/{folder}"] = CHAPTER.format(n=n)
        files[f"reference/tale/forgets/{folder}"] = LONE.format(n=n)
        for overlay, rows in OVERLAYS.items():
            score, failing = rows[n - 1]
            expected += EXPECTED.format(
                overlay=overlay,
                slug=slug,
                score=score,
                failing=[CHECKS[k].format(n=n) for k in failing],
            )
    files["reference/tale/stops/01-begin/tale.py"] = CHAPTER.format(n=1)
    corpora = '[chain]\ncases = ["tale"]\narms = ["full", "baseline"]\nrepeats = 1\n'
    policy = (root / "reference/scripted.toml").read_text()
    files |= {
        "cases/tale/case.toml": case,
        "cases/corpora.toml": corpora,
        "graders/tale/grade.py": grader,
        "reference/tale/expected.toml": expected,
        "reference/scripted.toml": policy.replace("naive", "stops"),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def prove(root: Path) -> None:
    """Prove the case."""
    level = tinyroot.isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    (found,) = proof.verify(root, ["tale"], box=box, n_workers=2, seed=1)
    assert found.holds, found


def plan(**changes: object) -> Plan:
    """A plan of the chain with the scripted agent."""
    level = tinyroot.isolation()
    chosen = {"isolation": level, "allow_unsandboxed": level == "none", **changes}
    return Plan("chain", **chosen)


def misbehaving(folder: Path, deed: str, at: int, **changes: object) -> Plan:
    """A plan with an agent that does a deed in one step: idle, fail, hang or work."""
    program = folder / "agent.py"
    program.write_text(AGENT.format(deed=deed, at=at, chapter=CHAPTER))
    argv = (sys.executable, "-I", str(program), "{prompt}")
    return plan(
        agent="command",
        model="none",
        allow_real_provider=True,
        program=Program(argv, binds=(str(program),), dialect=None),
        arms=("baseline",),
        **changes,
    )
