"""The outer namespace that attacks run in, and nowhere else.

`inside` starts one of our own programs with process ids, network, and a root of
its own: the repository and the interpreter read-only, everything writable in
memory. There it is an ordinary user; `as_root` makes it the machine's root, yet
in those namespaces alone. `refuse_outside` is the first call of every such program.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import process

REPOSITORY = Path(__file__).parent.parent
UID = 61_234
"""An unused one, which root gives itself up for."""
NAMESPACES = ("pid", "net", "ipc", "uts", "mnt")
TMP_BYTES = 6 * 1024**3
TIMEOUT_S = 150.0
DROPPED = ("SYS_BOOT", "SYS_MODULE", "SYS_RAWIO", "SYS_TIME")
"""What root in the outer namespace needs for nothing here."""
MOUNT = "mount -t proc -o nosuid,nodev,noexec proc /proc"
WHOLE_PROC = ("/bin/sh", "-c", f'{MOUNT} && exec "$@"', "sh")
"""For root bwrap masks parts of /proc, under which no inner one could be mounted."""


def inside(
    program: Path,
    request: Mapping[str, Any],
    *,
    as_root: bool = False,
    package: Path | None = None,
) -> Any:
    """Run one of our programs in an outer namespace; what it says, as JSON.

    Args:
        program: A script that begins with `refuse_outside`.
        request: Its one argument.
        as_root: Keep the machine's root; for callers that are root.
        package: Folder that stands there in the place of `evalkit`.
    """
    own = {name: namespace(name) for name in NAMESPACES}
    argument = json.dumps({**request, "outside": own, "as_root": as_root})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        running = process.start(
            [*_words(as_root=as_root, package=package), str(program), argument],
            env={},
            stdout=out,
            stderr=err,
        )
        ended = running.wait(TIMEOUT_S)
        running.end()
        said, complaint = _text(out), _text(err)
    assert ended is not None, f"no end within {TIMEOUT_S} s; {complaint[-3000:]}"
    assert ended.code == 0, complaint[-3000:]
    return json.loads(said)


def refuse_outside(request: Mapping[str, Any]) -> None:
    """End at once unless this process is in namespaces of its own, and no root."""
    shared = [
        name for name in NAMESPACES if request["outside"][name] == namespace(name)
    ]
    if shared:
        sys.exit(f"attacks run in an outer namespace only; shared: {shared}")
    if (os.geteuid() == 0) != request["as_root"]:
        sys.exit(f"attacks run as an ordinary user; this is uid {os.geteuid()}")


def namespace(name: str) -> str:
    """Which namespace of a kind this process is in."""
    return str(Path(f"/proc/self/ns/{name}").readlink())


def _text(stream: Any) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")


def _words(*, as_root: bool, package: Path | None) -> Sequence[str]:
    root = os.geteuid() == 0
    prefixes = dict.fromkeys(
        os.path.normpath(Path(p).absolute()) for p in (sys.base_prefix, sys.prefix)
    )
    names = ("pid", "net", "ipc", "uts")
    python = os.path.normpath(Path(sys.executable).absolute())
    become = (
        *("/usr/bin/setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"),
        *("--inh-caps=-all", "--bounding-set=-all", "--pdeathsig", "KILL"),
    )
    return (
        *("bwrap", "--die-with-parent", "--new-session", "--clearenv"),
        *(f"--unshare-{name}" for name in (*names, *(() if root else ("user",)))),
        *(w for c in DROPPED if as_root for w in ("--cap-drop", f"CAP_{c}")),
        *("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"),
        *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"),
        *("--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"),
        *("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/dev/shm"),
        *(w for p in (str(REPOSITORY), *prefixes) for w in _seen(Path(p))),
        *_package(package),
        *("--perms", "1777", "--tmpfs", str(REPOSITORY / "runs")),
        *("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"),
        *("--setenv", "HOME", "/tmp/operator", "--setenv", "LANG", "C.UTF-8"),
        *("--chdir", "/tmp"),
        *(WHOLE_PROC if root else ()),
        *(become if root and not as_root else ()),
        *(python, "-P", "-s", "-B"),
    )


def _seen(path: Path) -> Sequence[str]:
    # A folder that is only made on the way to a mount is closed to others.
    above = [parent for parent in reversed(path.parents) if parent != Path("/")]
    made = (word for parent in above for word in ("--dir", str(parent)))
    return (*made, "--ro-bind", str(path), str(path))


def _package(package: Path | None) -> Sequence[str]:
    if package is None:
        return ()
    return ("--ro-bind", str(package), str(REPOSITORY / "evalkit"))
