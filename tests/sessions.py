"""Sessions of Claude Code made by hand, and runs whose trials left them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import synthetic

from evalkit import files, registration
from evalkit.evidence import Evidence
from evalkit.records import Step, TrialKey


def row(kind: str, *content: object, message: str = "m", **more: object) -> dict:
    """A row of a user's or an assistant's message."""
    said: dict = {"role": kind, "content": list(content)}
    if kind == "assistant":
        usage = {"input_tokens": 5, "output_tokens": 0}
        said |= {"id": message, "model": "m", "usage": usage}
    return {"type": kind, "sessionId": "s", "message": said, **more}


def text(said: str) -> dict:
    """A block of text."""
    return {"type": "text", "text": said}


def call(name: str, given: object, n: str = "t1") -> dict:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": n, "name": name, "input": given}


def result(said: object, n: str = "t1", **more: object) -> dict:
    """A block with what a call gave back."""
    return {"type": "tool_result", "tool_use_id": n, "content": said, **more}


def acts(*deeds: object, asked: str = "Please do it.") -> list[dict]:
    """A session: what was asked, then a turn for each deed.

    A deed is what is said, or a tool, what it is given and, if it fails, an error.
    """
    rows = [row("user", text(asked))]
    for n, deed in enumerate(deeds):
        if isinstance(deed, str):
            rows.append(row("assistant", text(deed), message=f"m{n}"))
            continue
        assert isinstance(deed, tuple)
        tool, given, *failed = deed
        rows.append(row("assistant", call(tool, given, f"t{n}"), message=f"m{n}"))
        more = {"is_error": True} if failed else {}
        rows.append(row("user", result(*(failed or ["ok"]), n=f"t{n}", **more)))
    return rows


def lines(*rows: object) -> bytes:
    """Rows as the bytes of a file."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def write(path: Path, *rows: object) -> Path:
    """Rows as a file."""
    path.write_bytes(lines(*rows))
    return path


def run(
    root: Path,
    told: Callable[[TrialKey, str], Sequence[dict] | None],
    *,
    steps: Sequence[str] = ("task",),
    arms: Sequence[str] = ("full", "auto", "baseline"),
    repeats: int = 1,
    stopped: Callable[[TrialKey, str], bool] = lambda *_: False,
) -> Path:
    """A run of one case whose evidence is real; check `edge` fails.

    Args:
        root: An empty folder.
        told: The session of a trial's step; None leaves none.
        steps: Of the case.
        arms: Of the run.
        repeats: Of each arm.
        stopped: True where a trial did not come to a step.
    """
    fixture = root / "cases" / "alpha" / "fixture"
    fixture.mkdir(parents=True)
    (root / "cases" / "corpora.toml").write_text("")
    (fixture / "a.py").write_text("one\ntwo\n")
    (fixture / "gone.py").write_text("gone\n")
    (root / "runs").mkdir()
    (root / "w").mkdir()
    (root / "w" / "a.py").write_text("one\nTWO\n")
    (root / "w" / "b.bin").write_bytes(b"\0\xff")
    sealed = synthetic.register(
        cases=("alpha",), simulated=True, steps=steps, arms=arms, repeats=repeats
    )
    folder = registration.write_registration(root, sealed)

    def made(key: TrialKey):
        evidence = Evidence(folder, key, 1)
        found = []
        for n, slug in enumerate(steps, 1):
            if stopped(key, slug):
                found.append(synthetic.not_reached(slug))
                continue
            kept = evidence.start(Step(n, slug, ""))
            rows = told(key, slug)
            if rows is not None:
                kept.task.stdout.write_bytes(lines(*rows))
            (kept.folder / "workspace.tar").write_bytes(
                files.pack(files.read_tree(root / "w"))
            )
            asked = {"check": "edge", "n": 0, "q": {"op": "call"}}
            kept.answers.write_bytes(lines(asked | {"a": {"answer": "<b>"}}))
            found.append(synthetic.step("core", "docs", slug=slug, picked="skill-a"))
        evidence.seal(isolation="none", simulated=True)
        return synthetic.result(key, *found, simulated=True)

    synthetic.run(folder, sealed, made)
    return folder
