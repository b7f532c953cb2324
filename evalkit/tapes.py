"""The recorded run that a replay plays: its calls, by the names of the replay's own.

Attempts are played in the order in which they ended. So an attempt of a replay plays
the recorded one whose number in that order is that of the attempts before it which
ended: one that was killed leaves no whole evidence, and is played again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from evalkit import files
from evalkit.errors import DriftError, InputError
from evalkit.evidence import SEAL, CallEvidence, Evidence, StepEvidence
from evalkit.gateway import Rule, Taped, recording, rules_of
from evalkit.journal import read_journal
from evalkit.records import Registration, ReplaySeal
from evalkit.registration import load_registration
from evalkit.standing import JOURNAL

VARIES = "varies.toml"


class Tapes:
    """The recorded calls that a replay plays.

    Args:
        seal: Of the recorded run.
        root: Root whose `runs/` holds it.
        replay: Folder of the replay.

    Raises:
        InputError: It is not there, or its journal was edited.
        DriftError: It is another run, or the rules are others than were sealed.
    """

    def __init__(self, seal: ReplaySeal, root: Path, replay: Path) -> None:
        self._seal = seal
        self._run = root / "runs" / seal.run
        self._replay = replay
        found = load_registration(self._run).digest
        _expect_same(self._run, seal.registration, found)
        read_journal(self._run / JOURNAL, until=seal.journal_head)
        _expect_same(VARIES, seal.varies_digest, varies_digest())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What requests may differ in from those recorded."""
        return rules()

    def call(self, name: str) -> Taped:
        """What was recorded of a call; nothing where there was no such call.

        Args:
            name: Path of the replay's own call in its folder.

        Raises:
            InputError: The recorded evidence is gone, or its attempts are used up.
        """
        *_, key, attempt, step, purpose = name.split("/")
        earlier = range(1, int(attempt))
        above = self._replay / "trials" / key
        n_ended = sum((above / str(n) / SEAL).is_file() for n in earlier)
        numbers = self._seal.attempts.get(key, ())
        if n_ended >= len(numbers):
            raise InputError(
                f"{self._replay.name}: {key}, attempt {attempt}",
                expected=f"at most {len(numbers)} attempts, as were recorded",
                found=f"{n_ended} before it",
                cure="remove the replay's folder, and replay again",
            )
        inside = f"trials/{key}/{numbers[n_ended]}/{step}"
        kept = StepEvidence(self._run / inside).calls[purpose]
        return _taped(self._run, f"{inside}/{purpose}", kept)


def tapes_of(registration: Registration, root: Path, run: Path) -> Tapes | None:
    """What a run plays; None where its model is asked."""
    return Tapes(registration.replay, root, run) if registration.replay else None


def recorded_calls(run: Path, evidence: Evidence) -> Iterator[Taped]:
    """What was recorded of each call of an attempt.

    Args:
        run: The recorded run.
        evidence: Of the attempt.

    Raises:
        InputError: A request was not recorded.
    """
    for step in evidence.steps():
        name = step.folder.relative_to(run).as_posix()
        for purpose, kept in step.calls.items():
            yield _taped(run, f"{name}/{purpose}", kept)


def rules() -> tuple[Rule, ...]:
    """What requests may differ in; see `data/varies.toml`."""
    return rules_of(msgspec.toml.decode(files.package_data(VARIES)))


def varies_digest() -> str:
    """sha256 of the rules, as it is sealed."""
    return files.sha256(files.package_data(VARIES))


def _taped(run: Path, name: str, kept: CallEvidence) -> Taped:
    rows = kept.exchanges() if kept.was_made else ()
    return recording.taped(run, name, rows)


def _expect_same(where: object, sealed: str, found: str) -> None:
    if sealed != found:
        raise DriftError(
            f"{where}: the replay was sealed on {sealed[:12]}, found {found[:12]}; "
            f"restore it, or remove the replay's folder and replay again"
        )
