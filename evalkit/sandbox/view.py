"""What a process in the sandbox sees: an empty root, and what is put into it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from evalkit.records import Record
from evalkit.sandbox import seccomp

DRIVER = Path(__file__).parent.parent / "inside" / "subject"
PROGRAM = "__main__.py"
"""Of the driver; started as a file, for a folder would be run through runpy."""
TMP = "/tmp"  # noqa: S108 - the sandbox's own
DRIVER_SEEN = "/driver/evalkit/inside/subject"

ISOLATION = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    *("--hostname", "sandbox"),
)
NO_NETWORK = ("--unshare-net",)
"""Leaves the sandbox's own loopback."""
SYSTEM = (
    *("--ro-bind", "/usr", "/usr"),
    *("--symlink", "usr/bin", "/bin"),
    *("--symlink", "usr/lib", "/lib"),
    *("--symlink", "usr/lib64", "/lib64"),
    *("--dir", "/etc"),
    *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
    *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
    *("--proc", "/proc"),
    *("--dev", "/dev"),
)
NAMES_AND_CERTIFICATES = (
    *("--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"),
    *("--ro-bind-try", "/etc/ssl", "/etc/ssl"),
    *("--ro-bind-try", "/etc/ca-certificates", "/etc/ca-certificates"),
)
"""Beside the above, for who may use the machine's network."""
CLOSED = (*("--remount-ro", "/"), *("--remount-ro", "/dev"))
ETC = {
    "passwd": "root:x:0:0:root:/tmp:/bin/sh\nagent:x:{uid}:{gid}::/tmp:/bin/sh\n",
    "group": "root:x:0:\nagent:x:{gid}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""Generated files without which honest programs fail: localhost, getuser."""


class Mount(Record, frozen=True):
    """A folder on this machine, and the path under which a process sees it."""

    host: Path
    seen: str


def python() -> str:
    """Path of this interpreter, as it is also seen in the sandbox."""
    # normpath, never realpath, which would lose the virtual environment.
    return os.path.normpath(Path(sys.executable).absolute())


def prefixes() -> list[Mount]:
    """Where the interpreter lives, when not under /usr: base first."""
    found = [
        os.path.normpath(Path(p).absolute()) for p in (sys.base_prefix, sys.prefix)
    ]
    return [
        Mount(Path(p), p)
        for p in dict.fromkeys(found)
        if not p.startswith("/usr/") and p != "/usr"
    ]


def etc(uid: int, gid: int) -> dict[str, bytes]:
    """The generated files by their paths, for a user of these numbers."""
    return {
        f"/etc/{name}": text.format(uid=uid, gid=gid).encode()
        for name, text in ETC.items()
    }


def file_words(numbers: Sequence[str], paths: Iterable[str]) -> list[str]:
    """Words of bwrap that make files, of what files of these numbers hold."""
    flags = ("--perms", "0644", "--file")
    given = zip(numbers, paths, strict=True)
    return [word for number, path in given for word in (*flags, number, path)]


def bind_words(read_only: Sequence[Mount], writable: Sequence[Mount]) -> list[str]:
    """Words of bwrap that put things of this machine into the root."""
    binds = [("--ro-bind", m) for m in read_only] + [("--bind", m) for m in writable]
    parents = dict.fromkeys(
        str(parent)
        for _, mount in binds
        for parent in reversed(Path(mount.seen).parents[:-1])
    )
    # Those that bwrap would make by itself only root could enter.
    made = [word for parent in parents for word in ("--dir", parent)]
    return made + [w for flag, m in binds for w in (flag, str(m.host), m.seen)]


def hiding_words(hidden: Sequence[str], shown: Sequence[Mount]) -> list[str]:
    """Words of bwrap that cover folders of this machine wherever they would be seen.

    Args:
        hidden: Folders, resolved; those that do not exist are passed over.
        shown: What is bound; the system's own is looked at as well.
    """
    covers: list[str] = []
    for mount in (Mount(Path("/usr"), "/usr"), *shown):
        host = os.path.realpath(mount.host)
        covered = "\0"
        for folder in sorted(f"{name}/" for name in hidden if _lies_in(name, host)):
            if not folder.startswith(covered) and Path(folder).is_dir():
                seen = mount.seen + folder[:-1].removeprefix(host)
                covers += ["--perms", "0555", "--tmpfs", seen, "--remount-ro", seen]
                covered = folder
    return covers


def _lies_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


@cache
def filter_program() -> bytes:
    """The filter of system calls for this machine.

    Raises:
        KeyError: There is none for it.
    """
    return seccomp.program(os.uname().machine)
