"""The only argv builder of isolation: what a process in the sandbox can see.

Level `bwrap` starts from an empty root and binds what is listed here; level
`none` is no isolation at all, and needs consent.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from evalkit import process
from evalkit.errors import InputError, SandboxUnavailableError
from evalkit.records import Isolation, Record

LEVELS = ("bwrap", "none")
DRIVER = Path(__file__).parent / "inside" / "subject"
DRIVER_SEEN = "/driver/evalkit/inside/subject"
TMP_BYTES = 64 * 1024 * 1024
AGENT_TMP_BYTES = 512 * 1024 * 1024
SHM_BYTES = 16 * 1024 * 1024
PROBE_TIMEOUT_S = 20.0
PYTHON_OPTIONS = ("-P", "-s", "-B")
"""For programs of ours. Not -I: it would ignore PYTHONHASHSEED."""

ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    *("--cap-drop", "ALL"),
    *("--hostname", "sandbox"),
)
SYSTEM = (
    *("--ro-bind", "/usr", "/usr"),
    *("--symlink", "usr/bin", "/bin"),
    *("--symlink", "usr/lib", "/lib"),
    *("--symlink", "usr/lib64", "/lib64"),
    *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
    *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
    *("--proc", "/proc"),
    *("--dev", "/dev"),
)
CLOSED = (*("--remount-ro", "/"), *("--remount-ro", "/dev"))
ETC = {
    "passwd": "root:x:0:0:root:/tmp:/bin/sh\nagent:x:{uid}:{gid}::/tmp:/bin/sh\n",
    "group": "root:x:0:\nagent:x:{gid}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
CURES = {
    "setting up uid map": "AppArmor forbids user namespaces here: an administrator "
    "may allow bwrap by a profile, or set kernel.apparmor_restrict_unprivileged_userns=0",
    "No permissions to create": "user namespaces are forbidden here (often a "
    "container's seccomp profile): run the container with one that allows them",
    "mount proc": "/proc is masked (often a container): run it with an unmasked /proc",
    "ENOSPC": "nested user namespaces are forbidden here",
    "expected a program": "apt-get install bubblewrap",
}


class Mount(Record, frozen=True):
    """A folder on this machine, and the path under which a process sees it."""

    host: Path
    seen: str


class Place(Record, frozen=True):
    """Where an agent works. `staging` is read-only, for what its adapter brings."""

    workspace: Mount
    home: Mount
    staging: Mount


class Launch(Record, frozen=True):
    """How to start a process: pass argv, env and cwd to `process.start` or `run`.

    `contained` says that the kernel ends with it all that it started.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path | None
    contained: bool = False


class Box(Record, frozen=True):
    """An opened level of isolation; builds the argv of what runs in it."""

    isolation: Isolation

    def place(self, workspace: Path, home: Path, staging: Path) -> Place:
        """The three folders of an agent, as it will see them."""
        if self.isolation.level == "none":
            return Place(*(Mount(p, str(p)) for p in (workspace, home, staging)))
        return Place(
            Mount(workspace, "/workspace"),
            Mount(home, "/home/agent"),
            Mount(staging, "/opt/agent"),
        )

    def agent_argv(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        place: Place,
        binds: Sequence[Mount] = (),
    ) -> Launch:
        """How to start an agent: workspace and home writable, no network."""
        if self.isolation.level == "none":
            return Launch(tuple(argv), dict(env), place.workspace.host)
        own = (
            *("--bind", str(place.workspace.host), place.workspace.seen),
            *("--bind", str(place.home.host), place.home.seen),
            *("--ro-bind", str(place.staging.host), place.staging.seen),
            *(word for b in binds for word in ("--ro-bind", str(b.host), b.seen)),
        )
        return _boxed(argv, env, own, place.workspace.seen, tmp_bytes=AGENT_TMP_BYTES)

    def subject_argv(self, workspace: Path, fd: int) -> Launch:
        """How to start the driver on a read-only workspace, with its socket `fd`."""
        if self.isolation.level == "none":
            argv = (sys.executable, *PYTHON_OPTIONS, "-S", str(DRIVER), str(fd))
            scratch = workspace.parent / f".{workspace.name}.scratch"
            words = (*argv, str(workspace), str(scratch), "none")
            return Launch(words, _subject_env(str(scratch)), None)
        own = (
            *("--ro-bind", str(workspace), "/workspace"),
            *("--ro-bind", str(DRIVER), DRIVER_SEEN),
        )
        argv = (_python(), *PYTHON_OPTIONS, "-S", DRIVER_SEEN, str(fd))
        env = _subject_env("/tmp")  # noqa: S108 - the sandbox's own
        return _boxed(argv, env, ("--as-pid-1", *own), "/tmp", tmp_bytes=TMP_BYTES)  # noqa: S108


def open_box(level: str, *, allow_unsandboxed: bool) -> Box:
    """Probe a level of isolation by really running it.

    Raises:
        InputError: The level is unknown, or `none` without consent.
        SandboxUnavailableError: The sandbox does not start; says why, and a cure.
    """
    if level not in LEVELS or (level == "none" and not allow_unsandboxed):
        raise InputError(
            "isolation",
            expected="bwrap, or none together with --allow-unsandboxed",
            found=level,
            cure="use bwrap; without it agent code can read and change anything here",
        )
    if level == "none":
        return Box(Isolation("none", "no isolation, by explicit consent"))
    return Box(Isolation("bwrap", _probe()))


@cache
def _probe() -> str:
    look = "import os; print(os.getpid(), os.readlink('/proc/self'))"
    argv = (_python(), *PYTHON_OPTIONS, "-S", "-c", look)
    launch = _boxed(argv, {}, ("--as-pid-1",), "/", tmp_bytes=TMP_BYTES)
    try:
        said = process.output(launch.argv, timeout_s=PROBE_TIMEOUT_S, env=launch.env)
        version = process.output(("bwrap", "--version"), timeout_s=PROBE_TIMEOUT_S)
    except process.CommandError as error:
        cure = next((c for sign, c in CURES.items() if sign in str(error)), None)
        raise SandboxUnavailableError(
            f"sandbox: expected bwrap to start with its production flags, found: "
            f"{error}; {cure or 'see what it said'}; or consent to isolation none "
            f"with --isolation none --allow-unsandboxed"
        ) from error
    if said.split() != [b"1", b"1"]:
        raise SandboxUnavailableError(
            f"sandbox: expected process 1 in a /proc of its own, found {said!r}; "
            "run it where user and pid namespaces are allowed"
        )
    return version.decode().strip()


def _boxed(
    argv: Sequence[str],
    env: Mapping[str, str],
    own: Sequence[str],
    cwd: str,
    *,
    tmp_bytes: int,
) -> Launch:
    """The whole command; bwrap itself starts with an empty environment."""
    words = (
        "bwrap",
        *ISOLATION,
        *SYSTEM,
        *("--size", str(tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108
        *("--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"),  # noqa: S108
        *(word for p in _prefixes() for word in ("--ro-bind", p, p)),
        *(w for n in ETC for w in ("--ro-bind", str(_etc() / n), f"/etc/{n}")),
        *own,
        *(word for item in env.items() for word in ("--setenv", *item)),
        *CLOSED,
        *("--chdir", cwd),
        *argv,
    )
    return Launch((_bwrap(), *words[1:]), {}, None, contained=True)


def _bwrap() -> str:
    return process.find_program("bwrap") or "bwrap"


def _subject_env(tmp: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(_python()).parent}:/usr/bin:/bin",
        "HOME": f"{tmp}/home",
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
    }


def _python() -> str:
    # normpath, never realpath, which would lose the virtual environment.
    return os.path.normpath(Path(sys.executable).absolute())


def _prefixes() -> list[str]:
    """Where the interpreter lives, when not under /usr: base first."""
    found = [
        os.path.normpath(Path(p).absolute()) for p in (sys.base_prefix, sys.prefix)
    ]
    return [
        p for p in dict.fromkeys(found) if not p.startswith("/usr/") and p != "/usr"
    ]


@cache
def _etc() -> Path:
    """Generated files without which honest programs fail: localhost, getuser."""
    folder = Path(tempfile.mkdtemp(prefix="evalkit-etc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in ETC.items():
        (folder / name).write_text(text.format(uid=os.getuid(), gid=os.getgid()))
    return folder
