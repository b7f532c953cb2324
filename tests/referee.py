"""Grades one hostile delivery, inside an outer namespace; says what came of it.

    python referee.py '{"attack": FOLDER, "root": ROOT, ...}'

Before it, the machine is strewn with canaries, and listeners are open that nobody
has any business with. After it, no process and no file may be left, the listeners
must have seen nobody, and the next grading must be as good as ever.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import outerbox

from evalkit import corpus, reference

CANARY = "evalkit-canary-00112233445566778899aabbccddeeff"
PORT = 47_111
SOCKET = Path("/tmp/evalkit-attack.sock")
ABSTRACT = "\0evalkit-attack"
GONE_S = 10.0
GRADE_S = 100.0


def main(request: dict) -> dict:
    attack = Path(request["attack"])
    facts = tomllib.loads((attack / "attack.toml").read_text())
    root = Path(request["root"])
    home = strew_canaries()
    with listeners() as callers:
        delivered = Path(f"/tmp/{CANARY}/delivered")
        lay_out(root, facts["case"], facts["base"], attack, delivered)
        for name, kind, *more in facts.get("specials", ()):
            make_special(delivered / name, kind, *more)
        touch(facts.get("takes_gib", 0))
        before = files_seen(Path("/tmp"), Path("/dev/shm"))
        started = time.monotonic()
        grade = graded(root, facts["case"], delivered, home)
        wall_s = time.monotonic() - started
        found = {"grade": grade, "wall_s": round(wall_s, 2)}
        found["left_processes"] = left_processes()
        found["changed_files"] = changed(
            before, files_seen(Path("/tmp"), Path("/dev/shm"))
        )
        honest = Path("/tmp/honest")
        lay_out(root, facts["case"], "correct", None, honest)
        found["next"] = graded(root, facts["case"], honest, home)
        found["callers"] = callers
    return found


def lay_out(
    root: Path, case_id: str, base: str, attack: Path | None, target: Path
) -> None:
    """The base, and the attack over it."""
    case = corpus.load_case(root, case_id)
    target.mkdir(parents=True)
    reference.lay_out(root, case, base, case.steps[0], target)
    for path in sorted((attack or target.parent / "none").rglob("*")):
        name = path.relative_to(attack).as_posix() if attack else ""
        if path.is_file() and name != "attack.toml" and "__pycache__" not in name:
            goal = target / name.removesuffix(".hostile").replace("dot-git/", ".git/")
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, goal)


def make_special(path: Path, kind: str, *more: object) -> None:
    """What no version control would keep; `more` says where to, or how large."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(str(more[0]).format(root=outerbox.REPOSITORY))
    elif kind == "device":  # the one device that anybody may make
        os.mknod(path, 0o020644, 0)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif kind == "sparse":
        with path.open("wb") as opened:
            opened.truncate(int(str(more[0])))
    elif kind == "deep":
        for _ in range(int(str(more[0]))):
            path /= "d"
        path.mkdir(parents=True)
        (path / "bottom").write_text("here\n")
    else:
        raise ValueError(kind)


def touch(n_gib: int) -> None:
    """Have that much memory once, and give it back.

    A virtual machine may get memory from its host by the page, at the first touch;
    an attack on memory would then run into its time limit and not into ours.
    """
    fresh = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    held = [mmap.mmap(-1, 1 << 30, flags=fresh) for _ in range(n_gib)]
    for room in held:
        room.close()


def strew_canaries() -> Path:
    """Secrets where operators have them; the folder is the home."""
    home = Path("/tmp/operator")
    for path in (
        home / ".ssh/id_ed25519",
        home / ".claude/CLAUDE.md",
        home / ".claude/projects/other/session.jsonl",
        Path("/tmp/evalkit-other/trial/answers.jsonl"),
        Path("/dev/shm/evalkit-other"),
        outerbox.REPOSITORY / "runs/other/journal.jsonl",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{CANARY}\n")
    return home


@contextlib.contextmanager
def listeners():
    """Three servers of the outer namespace; yields who called."""
    callers: list[str] = []
    tcp = socket.create_server(("127.0.0.1", PORT))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(ABSTRACT)
    named = socket.socket(socket.AF_UNIX)
    named.bind(str(SOCKET))
    SOCKET.chmod(0o777)

    def serve(server: socket.socket, name: str) -> None:
        with contextlib.suppress(OSError):
            while True:
                server.accept()
                callers.append(name)

    servers = {"tcp": tcp, "abstract": abstract, "named": named}
    for name, server in servers.items():
        server.listen()
        threading.Thread(target=serve, args=(server, name), daemon=True).start()
    yield callers
    for server in servers.values():
        server.close()


def graded(root: Path, case: str, folder: Path, home: Path) -> dict:
    """What `evalkit grade` says of a folder; a canary in environment, argv and fds."""
    read, write = os.pipe()
    os.write(write, CANARY.encode())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "evalkit.cli", "grade", case, str(folder)),
            *("--json", "--root", str(root)),
        ],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "OPERATOR_SECRET": CANARY,
        },
        capture_output=True,
        pass_fds=[read],
        timeout=GRADE_S,
        check=False,
    )
    os.close(read)
    os.close(write)
    if done.returncode not in (0, 1):
        sys.exit(f"grade: exit {done.returncode}: {done.stderr.decode()[-2000:]}")
    return json.loads(done.stdout)


def left_processes(*, ours: str | None = None) -> list[str]:
    """Every process here that is not ours; what was just killed may take a moment."""
    deadline = time.monotonic() + GONE_S
    while True:
        left = [words for words in strangers() if not (ours and ours in words)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def strangers() -> list[str]:
    """All processes but this one, the first, and what of ours only awaits its burial."""
    found = []
    buried = ") Z " + str(os.getpid()) + " "
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in (1, os.getpid()):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                stat = (entry / "stat").read_text(errors="replace")
                if buried not in stat:
                    found.append(f"{stat[:40]} {words.decode(errors='replace')[:200]}")
    return found


def files_seen(*folders: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, size and time of change of all that lies below some folders."""
    found = {}
    for folder in folders:
        for path in folder.rglob("*"):
            seen = path.lstat()
            found[str(path)] = (seen.st_mode, seen.st_size, seen.st_mtime_ns)
    return found


def changed(before: dict, after: dict) -> list[str]:
    """Paths that came, went, or are no longer the same."""
    return sorted(
        path for path in {*before, *after} if before.get(path) != after.get(path)
    )


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    outerbox.refuse_outside(asked)
    json.dump(main(asked), sys.stdout)
