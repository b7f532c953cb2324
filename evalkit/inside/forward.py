"""Leads an agent in a sandbox, which has no network, to the gateway's socket.

    forward.py SOCKET PORT PROGRAM ARGUMENTS...

Listens on that port of the sandbox's own loopback, carries every connection to the
socket and back, and runs the program with its own stdio. It passes SIGTERM on,
unless the program's own side sent it (a `pkill python` of an agent's means servers
that it began), and ends with the program's exit code; 128 + n where signal n ended it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress

CHUNK_BYTES = 65_536
BACKLOG = 128
CANNOT_START = 127
OUTSIDE = 0
"""As which a sender shows that is in no process id namespace of ours."""


def main(argv: list[str]) -> int:
    """Run the program; its exit code."""
    path, port, *program = argv
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=BACKLOG)
    # Blocked here and in all threads: `pass_on` takes them, and none is lost before.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = start(program)
    threading.Thread(target=pass_on, args=(child,), daemon=True).start()
    threading.Thread(target=accept, args=(listener, path), daemon=True).start()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def start(program: list[str]) -> int:
    """Start the program with our stdio and nothing else of ours; its id."""
    child = os.fork()
    if child:
        return child
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.execvp(program[0], program)
    except OSError as error:
        os.write(2, f"forward: {program[0]}: {error.strerror}\n".encode())
    os._exit(CANNOT_START)


def pass_on(child: int) -> None:
    """Pass on each SIGTERM that comes from outside or from who started us."""
    while told := signal.sigwaitinfo({signal.SIGTERM}):
        if told.si_pid in {OUTSIDE, os.getppid()}:
            os.kill(child, signal.SIGTERM)


def accept(listener: socket.socket, path: str) -> None:
    """Carry each connection, on threads of its own."""
    while True:
        near, _ = listener.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(path)
        except OSError:
            near.close()
            far.close()
            continue
        # Whichever side ends, both do: the gateway must see that a client is gone.
        for pair in ((near, far), (far, near)):
            threading.Thread(target=carry, args=pair, daemon=True).start()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Copy what comes from one socket to another until either ends."""
    with suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            target.sendall(chunk)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
