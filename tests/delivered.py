"""A delivered program to question: a service, functions, a test suite."""

from __future__ import annotations

from pathlib import Path

SERVICE = '''
"""python -m service PORT [flag]: behaves as its path says."""
import http.server, json, os, signal, socket, struct, sys, threading, time

COUNTS = {}
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            return self.connection.close()
        if self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            return self.wfile.write(b"short")
        if self.path == "/slow":
            time.sleep(30)
        if self.path == "/binary":
            return self.reply(200, b"ok \\xff")
        if self.path == "/big":
            return self.reply(200, b"x" * 2_000_000)
        if self.path == "/exit":
            os._exit(7)
        if self.path == "/peers":
            return self.tell(connections(self.server.server_port))
        if self.path == "/count":
            with LOCK:
                COUNTS["n"] = n = COUNTS.get("n", 0) + 1
            return self.tell({"n": n, "done": n >= 3})
        print("asked", self.path)
        self.tell({"path": self.path, "from": self.client_address[0],
                   "headers": self.headers.items(), "env": dict(os.environ)})

    def do_POST(self):
        if self.path == "/small":
            self.close_connection = True
            return self.reply(413, b"too large")
        if self.path == "/early":
            self.reply(413, b"enough")
            time.sleep(30)
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            COUNTS["n"] = n = COUNTS.get("n", 0) + 1
        self.tell({"n": n, "length": len(body), "text": body[:40].decode()})

    def tell(self, value):
        self.reply(200, json.dumps(value).encode())

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Two", "a")
        self.send_header("X-Two", "b")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = False


def connections(port):
    rows = [row.split() for row in open("/proc/net/tcp")][1:]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def main(port, flag=""):
    if flag == "dies":
        sys.exit("no thank you")
    if flag == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server = Server((os.environ.get("BIND", "127.0.0.1"), int(port)), Handler)
    print("listening", file=sys.stderr)
    if flag == "late":
        time.sleep(0.5)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    main(*sys.argv[1:])
'''

GAP = '''
"""Listens, takes one request, is gone for a while, and serves."""
import socket, sys, time, service

first = socket.create_server(("127.0.0.1", int(sys.argv[1])))
peer, _ = first.accept()
peer.recv(9999)
first.close()
peer.sendall(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
peer.close()
time.sleep(0.3)
service.main(sys.argv[1])
'''

FUNCTIONS = '''
import enum, fcntl, getpass, os, socket, subprocess, sys, threading, time
from pathlib import Path

BALANCE = []


class Refused(ValueError):
    pass


class Number(int):
    pass


class Counter:
    def __init__(self, start=0):
        self.n = start

    def add(self, by):
        self.n += by
        return self.n


def echo(*args, **kwargs):
    return [args, kwargs]


def add(a, b):
    return a + b


def total(counter):
    return counter.n


def refuse():
    raise Refused("no")


def odd(kind):
    return {
        "nan": float("nan"), "object": object(), "number": Number(3), "key": {1: 2},
        "set": {1}, "surrogate": "\\ud800", "huge": 10 ** 6000, "large": "x" * 2_000_000,
        "path": Path("."), "infinite": float("inf"),
    }[kind]


def deep():
    value = []
    value.append(value)
    return value


def leave():
    os._exit(3)


def loop():
    while True:
        pass


def raw(data):
    return data + b"!"


def environment():
    return dict(os.environ)


def meet(n, file="met"):
    """Appends, waits until n have done so: returns only if they run together."""
    with open(file, "a") as there:
        there.write("x")
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        if len(Path(file).read_text()) >= n:
            return [os.getpid(), threading.get_ident()]
        time.sleep(0.005)
    return None


def look():
    """Descriptors this process holds, and whose descriptors it can read."""
    own = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
           if os.path.exists(f"/proc/self/fd/{fd}")}
    return {"own": own, "others": readable(), "uid": os.getuid(),
            "modules": sorted(name for name in sys.modules if "evalkit" in name),
            "path": sys.path}


def readable():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        for fd in range(256):
            try:
                os.readlink(f"/proc/{pid}/fd/{fd}")
                found.append([int(pid), fd])
            except OSError:
                pass
    return found


def names():
    return [socket.gethostbyname("localhost"), getpass.getuser(), socket.gethostname()]


def daemon():
    """Leaves a process in a session of its own, outside every group."""
    code = "import os, time; open('daemon', 'w').write(str(os.getpid())); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists("daemon") or not Path("daemon").read_text():
        time.sleep(0.005)
    return int(Path("daemon").read_text())


def alive():
    return threading.active_count()


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid):
    """True once a process is gone; killing takes the kernel a moment."""
    deadline = time.monotonic() + 8
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not lives(pid)


def siblings():
    """Pids of the other children of the driver, which adopted this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{pid}/stat") as stat:
            if int(stat.read().rpartition(")")[2].split()[1]) == os.getppid():
                found.append(int(pid))
    return sorted(set(found) - {os.getpid()})


def kill(pid):
    os.kill(pid, 9)


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
'''

SUITE = """
import unittest
from functions import add


class Adding(unittest.TestCase):
    def test_adds(self):
        print("said in a test")
        self.assertEqual(add(2, 3), 5)

    def test_each(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(add(n, 0), n)

    @unittest.skip("later")
    def test_later(self):
        pass
"""

FILES = {
    "service.py": SERVICE,
    "gap.py": GAP,
    "functions.py": FUNCTIONS,
    "tests/__init__.py": "",
    "tests/test_adding.py": SUITE,
    "docs/notes.md": "a note\n",
    "latin.txt": b"caf\xe9",
    "large.txt": "x" * 1_000_001,
    "broken.py": "def",
    "__pycache__/old.pyc": b"",
}


def deliver(folder: Path) -> Path:
    """Write the program into a folder, with links in, out and to nowhere."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "inner.md").symlink_to("docs/notes.md")
    (folder / "outer.md").symlink_to("/etc/passwd")
    (folder / "above.md").symlink_to("../../etc/passwd")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "run.sh").write_text("#!/bin/sh\necho ran $1\n")
    (folder / "run.sh").chmod(0o755)
    return folder
