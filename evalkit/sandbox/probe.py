"""Whether a level of isolation works on this machine, found by running it."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

from evalkit import process
from evalkit.errors import InputError, SandboxUnavailableError
from evalkit.records import Isolation
from evalkit.sandbox import limits, seccomp, view
from evalkit.sandbox.box import NONE, PYTHON_OPTIONS, Box, boxed
from evalkit.sandbox.identity import Identity, next_identity, unused

LEVELS = ("bwrap", NONE)
HIDDEN = ("cases", "graders", "reference", "runs", ".git")
TIMEOUT_S = 20.0
LOOK = """
import json, os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
names = "Uid", "CapEff", "NoNewPrivs", "Seccomp"
found = {name: status[name].split()[0] for name in names}
print(json.dumps(found | {"pid": os.getpid(), "proc": os.readlink("/proc/self")}))
"""
CURES = {
    "setting up uid map": "AppArmor forbids user namespaces here: an administrator "
    "may allow bwrap by a profile, or set kernel.apparmor_restrict_unprivileged_userns=0",
    "No permissions to create": "user namespaces are forbidden here (often a "
    "container's seccomp profile): run the container with one that allows them",
    "mount proc": "/proc is masked (often a container): run it with an unmasked /proc",
    "ENOSPC": "nested user namespaces are forbidden here",
}


def open_box(level: str, *, allow_unsandboxed: bool, root: Path | None = None) -> Box:
    """Probe a level of isolation by really running it.

    Args:
        level: One of `LEVELS`.
        allow_unsandboxed: Consent to `none`.
        root: Whose cases, graders, references, runs and history are hidden, also
            where they lie in a folder that the sandbox shows.

    Raises:
        InputError: The level is unknown, or `none` without consent.
        SandboxUnavailableError: The sandbox does not start; says why, and a cure.
    """
    if level not in LEVELS or (level == NONE and not allow_unsandboxed):
        raise InputError(
            "isolation",
            expected="bwrap, or none together with --allow-unsandboxed",
            found=level,
            cure="use bwrap; without it agent code can read and change anything here",
        )
    if level == NONE:
        return Box(Isolation(NONE, "no isolation, by explicit consent"))
    hidden = [os.path.realpath(root / name) for name in HIDDEN] if root else []
    return Box(Isolation("bwrap", _probe()), tuple(hidden))


@cache
def _probe() -> str:
    """What the sandbox is made of here, as it is registered."""
    machine = os.uname().machine
    if machine not in seccomp.MACHINES:
        known = ", ".join(seccomp.MACHINES)
        raise _unavailable(
            f"a machine among {known}", machine, "run it on one of these"
        )
    if not process.can_watch():
        raise _unavailable(
            "a /proc that tells the children of a process",
            "none",
            "run it on a kernel with CONFIG_PROC_CHILDREN",
        )
    if process.find_program("bwrap") is None:
        raise _unavailable("bwrap", "no such program", "apt-get install bubblewrap")
    lacking = limits.lacking()
    if lacking:
        raise _unavailable(*lacking)
    identity = next_identity()
    argv = (view.python(), *PYTHON_OPTIONS, "-S", "-c", LOOK)
    launch = boxed(argv, {}, "/", as_pid_1=True, identity=identity)
    try:
        said = process.output(
            launch.argv, timeout_s=TIMEOUT_S, env=launch.env, given=launch.given
        )
        version = process.output(("bwrap", "--version"), timeout_s=TIMEOUT_S)
    except process.CommandError as error:
        cure = next((c for sign, c in CURES.items() if sign in str(error)), None)
        raise _unavailable(
            "bwrap to start with its production flags",
            str(error),
            cure or "see what it said",
        ) from error
    _check(json.loads(said), identity)
    first, n_unused = unused()
    who = f"users {first} to {first + n_unused - 1}"
    if not identity.drops:
        who = "the caller's user"
    return f"{version.decode().strip()}, system calls filtered, as {who}"


def _check(found: dict[str, object], identity: Identity) -> None:
    pid = 2 if identity.drops else 1
    wanted = {
        "Uid": str(identity.uid),
        "CapEff": "0" * 16,
        "NoNewPrivs": "1",
        "Seccomp": "2",
        "pid": pid,
        "proc": str(pid),
    }
    if found != wanted:
        raise _unavailable(
            f"a process that is {wanted}", f"{found}", "run it on a kernel that does so"
        )


def _unavailable(expected: str, found: str, cure: str) -> SandboxUnavailableError:
    return SandboxUnavailableError(
        f"sandbox: expected {expected}, found: {found}; {cure}; or consent to "
        f"isolation none with --isolation none --allow-unsandboxed"
    )
