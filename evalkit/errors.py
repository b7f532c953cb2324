"""Every error evalkit raises on purpose, each with the exit code of its kind."""

from __future__ import annotations


class EvalkitError(Exception):
    """Root of all errors that a caller may want to catch.

    The message names the thing, what was expected, what was found and what to
    do next; `exit_code` is what the command line returns for it.
    """

    exit_code = 2


class InputError(EvalkitError):
    """A file, flag or parameter given by the user is wrong.

    Args:
        where: File (and key or line) the fault is in.
        expected: What should stand there.
        found: What stands there.
        cure: What to do about it.
    """

    def __init__(self, where: object, *, expected: str, found: str, cure: str) -> None:
        self.where = str(where)
        self.expected = expected
        self.found = found
        self.cure = cure
        super().__init__(f"{where}: expected {expected}, found {found}; {cure}")


class ProofError(EvalkitError):
    """A grader has no proof bound to its present digests, or the proof fails."""

    exit_code = 1


class DriftError(EvalkitError):
    """What is here now differs from what was registered."""

    exit_code = 3


class InfrastructureError(EvalkitError):
    """Provider, login, sandbox or disk failed; nothing is known about the agent."""

    exit_code = 4


class SandboxUnavailableError(InfrastructureError):
    """The production sandbox could not be started on this machine."""


class AttemptLostError(InfrastructureError):
    """Who carried out an attempt is gone, and with it what was seen; try again."""


class RunLockedError(EvalkitError):
    """Another process is writing this run."""


class StoppedEarlyError(EvalkitError):
    """Budget, deadline or a signal ended the run at a known place; it resumes."""

    exit_code = 5


class NotebookError(EvalkitError):
    """A cell of a notebook failed, or its kernel died; the notebook is kept.

    Its exit code is that of the error the cell raised, where that is ours.
    """

    exit_code = 1


def expect_subset(where: object, what: str, wanted: set[str], found: set[str]) -> None:
    """Raise InputError unless every wanted name is among those found."""
    missing = sorted(wanted - found)
    if missing:
        raise InputError(
            where,
            expected=f"{what} named {', '.join(missing)}",
            found=", ".join(sorted(found)) or "none",
            cure="choose among these",
        )


def expect_same(where: object, what: str, wanted: set[str], found: set[str]) -> None:
    """Raise InputError unless two sets of names are the same."""
    if wanted != found:
        raise InputError(
            where,
            expected=f"the {what} {', '.join(sorted(wanted))}",
            found=", ".join(sorted(found)) or "none",
            cure="let the folders and the file name the same ones",
        )
