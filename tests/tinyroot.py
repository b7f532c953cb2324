"""A root that is complete and quick: one trivial case, real parts everywhere."""

from __future__ import annotations

from pathlib import Path

from evalkit import proof, sandbox
from evalkit.errors import SandboxUnavailableError
from evalkit.records import Plan

FILES = {
    "cases/corpora.toml": """
[tiny]
cases = ["greet"]
arms = ["full", "routed", "baseline"]
repeats = 2
""",
    "cases/arms.toml": """
lean = ["guide"]

[full]
library = "current"
home = "all"
prompt = "catalogue"

[routed]
library = "current"
home = "lean"
prompt = "routed"

[canonical]
library = "current"
home = "lean"
prompt = "canonical"

[baseline]
home = "none"
prompt = "bare"
""",
    "cases/greet/case.toml": """
id = "greet"
title = "Greet people"
kind = "feature"
hypothesis = "No arm differs: the case is trivial."
skills = ["greeting"]
grade_timeout_s = 30

[complaints]
says-hello = "core"
says-name = "happy-path-only"
keeps-readme = "convention-drift"
""",
    "cases/greet/prompt.md": "Please make greet() greet the person by name.\n",
    "cases/greet/fixture/README.md": "# greet\n\n`greet(name)` returns `hello NAME`.\n",
    "cases/greet/fixture/greet.py": "def greet(name):\n    return 'hello'\n",
    "cases/_skills/greeting/SKILL.md": """---
name: greeting
description: How we greet people.
---
# Greeting

Say hello, then the name.
""",
    "cases/_skills/guide/SKILL.md": """---
name: guide
description: Which skills there are.
---
# Guide

There is a skill for greeting.
""",
    "cases/_skills/triggers.toml": """
[greeting]
phrases = ["by name", "say hello"]
""",
    "graders/greet/grade.py": '''
"""greet: people are greeted by their names."""

from evalkit.grader import Checks, expect

checks = Checks({"says-hello": 1, "says-name": 2, "keeps-readme": 1})


@checks("says-hello")
def says_hello(subject):
    said = subject.call("greet:greet", subject.random.word()).value
    expect(isinstance(said, str) and said.startswith("hello"), "starts with hello", said)


@checks("says-name")
def says_name(subject):
    name = subject.random.word()
    said = subject.call("greet:greet", name).value
    expect(said == f"hello {name}", "greets by name", said)


@checks("keeps-readme")
def keeps_readme(subject):
    expect("hello NAME" in subject.read("README.md"), "README keeps the contract")
''',
    "reference/greet/correct/greet.py": "def greet(name):\n    return f'hello {name}'\n",
    "reference/greet/naive/greet.py": "def greet(name):\n    return f'hello{name}'\n",
    "reference/greet/wrong-shouts/greet.py": (
        "def greet(name):\n    return f'HELLO {name}'\n"
    ),
    "reference/scripted.toml": """
[default]
n_requests = [2, 3]
latency_ms = [1, 2]
skill_chance = 0.5
overlays = { correct = 0.5, naive = 0.5 }

[default.tokens]
input = { median = 10 }
write_5m = { median = 2000, sigma = 0.5 }
write_1h = { median = 0 }
read = { median = 9000, sigma = 0.4 }
output = { median = 300, sigma = 0.5 }
""",
    "reference/greet/expected.toml": """
[fixture.task]
score = "2/4"
failing = ["says-name"]

[correct.task]
score = "4/4"
failing = []

[naive.task]
score = "2/4"
failing = ["says-name"]

[wrong-shouts.task]
score = "1/4"
failing = ["says-hello", "says-name"]
""",
}


def make(root: Path) -> Path:
    """Write the tiny root."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"))
    (root / "runs").mkdir()
    return root


def isolation() -> str:
    """The strongest isolation of this machine."""
    try:
        return sandbox.open_box("bwrap", allow_unsandboxed=False).isolation.level
    except SandboxUnavailableError:
        return "none"


def plan(**changes: object) -> Plan:
    """A plan of the tiny corpus at this machine's strongest isolation."""
    level = isolation()
    chosen = {"isolation": level, "allow_unsandboxed": level == "none", **changes}
    return Plan("tiny", **chosen)


def prove(root: Path) -> None:
    """Prove the tiny case."""
    level = isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    (found,) = proof.verify(root, ["greet"], box=box, n_workers=2, seed=1)
    assert found.holds, found
