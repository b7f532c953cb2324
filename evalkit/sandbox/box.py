"""The argv of what runs at a level of isolation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit import process
from evalkit.process import Caps
from evalkit.records import Isolation, Network, Record
from evalkit.sandbox import limits, view
from evalkit.sandbox.identity import Identity, next_identity
from evalkit.sandbox.view import Mount

NONE = "none"
WORKSPACE_SEEN = "/workspace"
HOME_SEEN = "/home/agent"
STAGING_SEEN = "/opt/agent"
DELIVERED_SEEN = "/delivered"
PYTHON_OPTIONS = ("-P", "-s", "-B")
"""For programs of ours. Not -I: it would ignore PYTHONHASHSEED."""


class Place(Record, frozen=True):
    """Where an agent works, and who it is.

    `staging` is read-only, for what its adapter brings.
    """

    workspace: Mount
    home: Mount
    staging: Mount
    identity: Identity


class Launch(Record, frozen=True):
    """How to start a process: pass all of it to `process.start` or `run`.

    `contained` says that the kernel ends with it all that it started.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path | None = None
    given: tuple[bytes, ...] = ()
    caps: Caps | None = None
    contained: bool = False


class Box(Record, frozen=True):
    """An opened level of isolation; builds the argv of what runs in it.

    `hidden` are folders that nothing in it may see, wherever they lie.
    """

    isolation: Isolation
    hidden: tuple[str, ...] = ()

    def place(self, workspace: Path, home: Path, staging: Path) -> Place:
        """The three folders of an agent, as it will see them."""
        seen = WORKSPACE_SEEN, HOME_SEEN, STAGING_SEEN
        if self.isolation.level == NONE:
            seen = str(workspace), str(home), str(staging)
        mounts = map(Mount, (workspace, home, staging), seen)
        return Place(*mounts, identity=next_identity())

    def agent_argv(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        place: Place,
        binds: Sequence[Mount] = (),
        network: Network = Network.NONE,
    ) -> Launch:
        """How to start an agent, to whom its place now belongs.

        Args:
            argv: Its command, with paths as it sees them.
            env: Its whole environment.
            place: Where it works; both folders are writable, nothing else is.
            binds: What else it sees, read-only; for `model-only` the socket of the
                gateway among it.
            network: What it can reach beside its own loopback.
        """
        writable = (place.workspace, place.home)
        caps = Caps(
            memory_bytes=limits.AGENT_MEMORY_BYTES,
            n_processes=limits.AGENT["nproc"],
            disk_bytes=limits.AGENT_DISK_BYTES,
            folders=tuple(str(mount.host) for mount in writable),
        )
        if self.isolation.level == NONE:
            return Launch(tuple(argv), dict(env), place.workspace.host, caps=caps)
        for mount in (*writable, place.staging):
            place.identity.give(mount.host)
        return boxed(
            argv,
            env,
            place.workspace.seen,
            read_only=(place.staging, *binds),
            writable=writable,
            identity=place.identity,
            tmp_bytes=limits.AGENT_TMP_BYTES,
            kernel_limits=limits.AGENT,
            network=network,
            hidden=self.hidden,
            caps=caps,
        )

    def subject_argv(self, workspace: Path, fd: int) -> Launch:
        """How to start the driver on a read-only workspace, with its socket `fd`.

        The workspace, a private copy, now belongs to whoever the driver runs as.
        What is questioned finds folders of the names that an agent found.
        """
        caps = Caps(
            memory_bytes=limits.SUBJECT_MEMORY_BYTES,
            n_processes=limits.SUBJECT["nproc"],
        )
        start = (view.python(), *PYTHON_OPTIONS, "-S")
        if self.isolation.level == NONE:
            scratch = workspace.parent / f".{workspace.name}.scratch"
            places = workspace, scratch / "workspace", scratch / "home", scratch
            words = (*start, view.DRIVER / view.PROGRAM, fd, NONE, *places)
            env = _subject_env(str(scratch))
            return Launch(tuple(map(str, words)), env, caps=caps)
        identity = next_identity()
        identity.give(workspace)
        places = DELIVERED_SEEN, WORKSPACE_SEEN, HOME_SEEN, f"{view.TMP}/work"
        return boxed(
            (*start, f"{view.DRIVER_SEEN}/{view.PROGRAM}", str(fd), "bwrap", *places),
            _subject_env(view.TMP),
            view.TMP,
            identity=identity,
            read_only=(
                Mount(workspace, DELIVERED_SEEN),
                Mount(view.DRIVER, view.DRIVER_SEEN),
            ),
            rooms=(WORKSPACE_SEEN, HOME_SEEN),
            as_pid_1=True,
            hidden=self.hidden,
            caps=caps,
        )


def boxed(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    *,
    read_only: Sequence[Mount] = (),
    writable: Sequence[Mount] = (),
    rooms: Sequence[str] = (),
    as_pid_1: bool = False,
    identity: Identity,
    tmp_bytes: int = limits.SUBJECT_TMP_BYTES,
    kernel_limits: Mapping[str, int] = limits.SUBJECT,
    network: Network = Network.NONE,
    hidden: Sequence[str] = (),
    caps: Caps | None = None,
) -> Launch:
    """The whole command; `rooms` are empty folders to write in.

    bwrap itself starts with an empty environment. Its options come from a file,
    since its command line can be read in the sandbox and would tell where things lie
    on this machine. So do the contents of /etc, which then lie nowhere on it. A user
    who was dropped to is not made pid 1: the kernel would not let bwrap end it at its
    own death, and it cannot look into a pid 1 that is root's.
    """
    etc = view.etc(identity.uid, identity.gid)
    shown = [*view.prefixes(), *read_only]
    options = (
        *view.ISOLATION,
        *(() if network is Network.OPEN else view.NO_NETWORK),
        *identity.namespace,
        *(("--as-pid-1",) if as_pid_1 and not identity.drops else ()),
        *view.SYSTEM,
        *_tmpfs(view.TMP, tmp_bytes),
        *_tmpfs("/dev/shm", limits.SHM_BYTES),  # noqa: S108
        *view.bind_words(shown, writable),
        *view.hiding_words(hidden, shown),
        *(
            word
            for path in rooms
            for word in ("--dir", str(Path(path).parent), *_tmpfs(path, tmp_bytes))
        ),
        *(view.NAMES_AND_CERTIFICATES if network is Network.OPEN else ()),
        *(word for item in env.items() for word in ("--setenv", *item)),
        *view.CLOSED,
        *("--chdir", cwd),
    )
    bwrap = process.find_program("bwrap") or "bwrap"
    filters, told, *texts = process.GIVEN
    words = (
        *(bwrap, "--seccomp", filters),
        *view.file_words(texts, etc),
        *("--args", told),
        *identity.become,
        *limits.words(kernel_limits),
        *argv,
    )
    listed = b"".join(os.fsencode(word) + b"\0" for word in options)
    given = (view.filter_program(), listed, *etc.values())
    return Launch(words, {}, given=given, caps=caps, contained=True)


def _tmpfs(path: str, size_bytes: int) -> tuple[str, ...]:
    return ("--perms", "1777", "--size", str(size_bytes), "--tmpfs", path)


def _subject_env(tmp: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(view.python()).parent}:/usr/bin:/bin",
        "HOME": f"{tmp}/home",
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
    }
