"""Forgeries of a run, with as many of its digests made to fit as one likes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from evalkit import scoring
from evalkit.journal import GENESIS
from evalkit.records import CheckResult


class Forger:
    """A run's folder in the hands of someone who knows its formats."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.lines = [json.loads(line) for line in self._raw().splitlines()]

    def ended(self, *, says_name: bool | None = None) -> dict:
        """The result in the first line that fits, to be changed in place."""
        return next(
            result
            for result in self.results()
            if says_name is None or self.check(result)["passed"] is says_name
        )

    def results(self) -> list[dict]:
        bodies = [line["body"] for line in self.lines]
        return [body["result"] for body in bodies if body["type"] == "attempt-ended"]

    def folder(self, result: dict) -> Path:
        key = result["key"]
        name = f"{key['case']}.{key['arm']}.r{key['repeat']}"
        return self.run / "trials" / name / str(result["attempt"])

    def step(self, result: dict) -> Path:
        return self.folder(result) / "01-task"

    def answers(self, result: dict) -> list[dict]:
        text = (self.step(result) / "answers.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def write_answers(self, result: dict, rows: list[dict]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.step(result) / "answers.jsonl").write_text(text)

    def grade_of(self, result: dict) -> dict:
        return result["steps"][0]["grade"]

    def fit_verdict(self, result: dict) -> None:
        """Let the last row of the answers state what the result states."""
        *rows, verdict = self.answers(result)
        checks = [CheckResult(**check) for check in self.grade_of(result)["checks"]]
        self.write_answers(
            result, [*rows, {**verdict, "verdict": scoring.score_line(checks)}]
        )

    def reseal(self, result: dict, **changes: object) -> None:
        """Compute an attempt's seal anew, and let its line name it."""
        folder = self.folder(result)
        path = folder / "evidence.json"
        sealed = {**json.loads(path.read_text()), **changes}
        sealed["files"] = {
            file.relative_to(folder).as_posix(): _digest(file.read_bytes())
            for file in sorted(folder.rglob("*"))
            if file.is_file() and file != path
        }
        path.write_text(json.dumps(sealed))
        result["evidence_digest"] = _digest(path.read_bytes())

    def write(self, *, chained: bool) -> None:
        """Write the journal; `chained` lets every line fit the one before."""
        head, written = GENESIS, []
        for n, line in enumerate(self.lines, 1):
            if chained:
                line["n"], line["previous"] = n, head
            raw = json.dumps(line, separators=(",", ":"))
            written.append(raw)
            head = _digest(raw.encode())
        (self.run / "journal.jsonl").write_text("".join(f"{raw}\n" for raw in written))

    def add(self, body: dict) -> None:
        """Add a line behind the last."""
        self.lines.append(json.loads(json.dumps({**self.lines[-1], "body": body})))

    def regraded(self) -> list[dict]:
        """The bodies of all lines of verdicts given again."""
        bodies = [line["body"] for line in self.lines]
        return [body for body in bodies if body["type"] == "regraded"]

    def drop(self, result: dict, *, folder: bool) -> None:
        """Take every line of a trial out, and its evidence too."""
        if folder:
            shutil.rmtree(self.folder(result).parent)
        self.lines = [line for line in self.lines if _key(line) != result["key"]]

    def check(self, result: dict) -> dict:
        """The check `says-name` of a result."""
        checks = self.grade_of(result)["checks"]
        return next(check for check in checks if check["id"] == "says-name")

    def _raw(self) -> str:
        return (self.run / "journal.jsonl").read_text()


def _key(line: dict) -> dict | None:
    body = line["body"]
    return body.get("key") or body.get("result", {}).get("key")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
