"""The evidence of one attempt: a folder, complete once `evidence.json` stands.

Everything that was seen is written and fsynced before `evidence.json`, which
holds the digests of all the rest and is written last. So a journal line implies
evidence, and evidence without a line is concluded again, not paid for again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evalkit import files
from evalkit.errors import InputError
from evalkit.outcomes import SELECT, TASK
from evalkit.records import Delivery, Exchange, Record, Selection, Step, TrialKey

T = TypeVar("T")
MAX_BYTES = 2**30
"""Of a file of evidence."""
SEAL = "evidence.json"
N_FOLDERS_ABOVE = 3
"""The folders of a run that lead to an attempt's: trial, trials, run."""


class Delivered(Record, frozen=True):
    """What a step was given: the prompt, and digests of the files in the home."""

    prompt: str
    files: dict[str, str]
    offered: tuple[str, ...]
    injected: tuple[str, ...]
    n_injected_bytes: int
    selection: Selection | None


class Seal(Record, frozen=True):
    """Digests of all files of an attempt, and what the attempt was."""

    key: TrialKey
    attempt: int
    isolation: str
    simulated: bool
    files: dict[str, str]


def attempts_kept(run: Path, key: TrialKey) -> list[int]:
    """Numbers of the attempts of a trial that have a folder, in order."""
    folder = run / "trials" / str(key)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


class CallEvidence:
    """One call of the agent: what it wrote, how it ended, what it asked a model."""

    def __init__(self, folder: Path, name: str) -> None:
        self.stdout = folder / f"{name}.stdout.jsonl"
        self.stderr = folder / f"{name}.stderr"
        self._ended = folder / f"{name}.call.json"
        self._requests = folder / f"{name}.requests.jsonl"

    @property
    def was_made(self) -> bool:
        """True where there was such a call."""
        return self._ended.is_file()

    def add(self, finished: msgspec.Struct, exchanges: tuple[Exchange, ...]) -> None:
        """Keep the exit facts of its process, and the requests a gateway saw."""
        self._requests.write_bytes(
            b"".join(msgspec.json.encode(one) + b"\n" for one in exchanges)
        )
        _write(self._ended, finished)

    def ended(self, kind: type[T]) -> T:
        """The exit facts of its process."""
        return _read(self._ended, kind)

    def exchanges(self) -> tuple[Exchange, ...]:
        """Its model requests as a gateway saw them."""
        data = files.read_regular(self._requests, max_bytes=MAX_BYTES)
        return tuple(
            files.decode_json(line, Exchange, f"{self._requests} line {n}")
            for n, line in enumerate(data.splitlines(), 1)
        )


class StepEvidence:
    """The folder of one step of an attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.task = CallEvidence(folder, "agent")
        self.choice = CallEvidence(folder, "select")
        self.session = folder / "session"
        self.answers = folder / "answers.jsonl"

    @property
    def calls(self) -> dict[str, CallEvidence]:
        """Its calls by purpose, in the order of the agent's; see `was_made`."""
        return {SELECT: self.choice, TASK: self.task}

    def add_delivery(self, delivery: Delivery, selection: Selection | None) -> None:
        """Keep what the step was given."""
        delivered = Delivered(
            delivery.prompt,
            {path: files.sha256(data) for path, data in delivery.files.items()},
            delivery.offered,
            delivery.injected,
            delivery.n_injected_bytes,
            selection,
        )
        _write(self.folder / "delivery.json", delivered)

    def add_session(self, home: Path, below: str) -> None:
        """Keep the agent's own session files, where it left any below its home."""
        taken = files.snapshot(home, self.session, below=below)
        _write(self.folder / "session_left_out.json", taken.left_out)

    def add_workspace(self, workspace: Path, private: Path) -> None:
        """Keep the delivered workspace; `private` receives a clean copy of it."""
        taken = files.snapshot(workspace, private)
        (self.folder / "workspace.tar").write_bytes(files.pack(taken.entries))
        _write(self.folder / "left_out.json", taken.left_out)

    def workspace(self, private: Path) -> None:
        """Unpack the saved workspace into a private folder."""
        archive = self.folder / "workspace.tar"
        files.unpack(files.read_regular(archive, max_bytes=MAX_BYTES), private)

    def delivery(self) -> Delivered:
        """What the step was given."""
        return _read(self.folder / "delivery.json", Delivered)


class Evidence:
    """The folder of one attempt."""

    def __init__(self, run: Path, key: TrialKey, attempt: int) -> None:
        self.key = key
        self.attempt = attempt
        self.folder = run / "trials" / str(key) / str(attempt)

    def step(self, step: Step) -> StepEvidence:
        """The evidence of a step; its folder may not exist yet."""
        return StepEvidence(self.folder / step.folder)

    def steps(self) -> Iterator[StepEvidence]:
        """The evidence of every step that was begun, in order."""
        for folder in sorted(path for path in self.folder.iterdir() if path.is_dir()):
            yield StepEvidence(folder)

    def start(self, step: Step) -> StepEvidence:
        """Make a step's folder, empty even where a killed process left one."""
        files.remove_tree(self.folder / step.folder)
        (self.folder / step.folder).mkdir(parents=True)
        return self.step(step)

    def seal(self, *, isolation: str, simulated: bool) -> None:
        """Make everything durable, its folders' names too, then write the digests."""
        sealed = Seal(self.key, self.attempt, isolation, simulated, self._digests())
        self._complete(files.encode_json(sealed))

    def pack(self) -> bytes:
        """A tar of the folder, for another machine."""
        return files.pack(files.read_tree(self.folder, max_bytes=MAX_BYTES))

    def receive(self, packed: bytes) -> None:
        """Make durable what `pack` gave elsewhere, its seal last.

        Raises:
            InputError: It is no such tar, or of another attempt.
        """
        with files.private_folder() as private:
            files.unpack(packed, private)
            data = files.read_regular(private / SEAL)
            sealed = files.decode_json(data, Seal, f"{self.folder} as it came")
            if (sealed.key, sealed.attempt) != (self.key, self.attempt):
                raise InputError(
                    self.folder,
                    expected=f"evidence of {self.key}, attempt {self.attempt}",
                    found=f"that of {sealed.key}, attempt {sealed.attempt}",
                    cure="look at the machine that sent it",
                )
        files.unpack(packed, self.folder, leaving_out=SEAL)
        self._complete(data)

    def _complete(self, seal: bytes) -> None:
        files.sync_tree(self.folder)
        for above in self.folder.parents[:N_FOLDERS_ABOVE]:
            files.sync_folder(above)
        files.write_atomic(self.folder / SEAL, seal)

    def clear_unwritten(self) -> None:
        """Remove a seal that a killed process did not finish."""
        files.clear_unwritten(self.folder / SEAL)

    def load_seal(self) -> Seal:
        """Read the seal and hold the files against it.

        Raises:
            InputError: There is none, or a file differs from what was sealed.
        """
        path = self.folder / SEAL
        sealed = files.decode_json(files.read_regular(path), Seal, path)
        found = self._digests()
        if found != sealed.files:
            changed = sorted(
                name
                for name in {*found, *sealed.files}
                if found.get(name) != sealed.files.get(name)
            )
            raise InputError(
                path,
                expected="the files that were sealed",
                found=f"others at {', '.join(changed)}",
                cure="restore the trial's folder from a copy",
            )
        return sealed

    def digest(self) -> str:
        """sha256 of the seal."""
        return files.file_digest(self.folder / SEAL)

    @property
    def is_whole(self) -> bool:
        """True where the attempt was carried out to its end."""
        return (self.folder / SEAL).is_file()

    def _digests(self) -> dict[str, str]:
        return {
            entry.path: files.sha256(entry.data)
            for entry in files.read_tree(self.folder, max_bytes=MAX_BYTES)
            if entry.path != SEAL
        }


def _read(path: Path, kind: type[T]) -> T:
    return files.decode_json(files.read_regular(path), kind, path)


def _write(path: Path, value: Any) -> None:
    path.write_bytes(files.encode_json(value))
