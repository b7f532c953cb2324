"""process: what a started process gets, and that nothing of it stays."""

import os
import select
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from evalkit import process
from evalkit.errors import StoppedEarlyError
from evalkit.process import Caps

PYTHON = (sys.executable, "-I", "-S", "-c")
HOLD = "import os; held = os.open(FIFO, os.O_WRONLY); os.write(held, b'up');"


def _run(code, tmp_path, **options):
    chosen = {
        "env": {},
        "stdout": tmp_path / "out",
        "stderr": tmp_path / "err",
        "timeout_s": 60,
        "grace_s": 60,
        "max_output_bytes": 1_000_000,
        **options,
    }
    return process.run((*PYTHON, code), **chosen)


class Fifo:
    """A named pipe; it reads as ended once no process holds it any more."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def held(self, code: str) -> str:
        """Code that holds the pipe while it runs, and says when it is up."""
        return HOLD.replace("FIFO", repr(str(self.path))) + code

    def read(self) -> bytes:
        """What was written; empty at the end. Fails after a minute of neither."""
        assert select.select([self.end], [], [], 60)[0]
        return os.read(self.end, 100)


@pytest.fixture
def fifo(tmp_path):
    made = Fifo(tmp_path / "fifo")
    yield made
    os.close(made.end)


def test_output_exit_code_and_times_are_kept(tmp_path):
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    finished = _run(code, tmp_path)
    assert (finished.exit_code, finished.timed_out, finished.truncated) == (
        3,
        False,
        False,
    )
    assert (tmp_path / "out").read_text() == "out\n"
    assert (tmp_path / "err").read_text() == "err\n"
    assert 0 < finished.cpu_s < 60
    assert finished.wall_s > 0


def test_an_exit_by_a_signal_is_negative_and_its_cpu_time_unknown(tmp_path):
    finished = _run("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert (finished.exit_code, finished.cpu_s) == (-9, None)


def test_the_environment_is_what_was_given_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("CANARY", "sings")
    _run("import os; print(sorted(os.environ))", tmp_path, env={"A": "1"})
    names = eval((tmp_path / "out").read_text())
    assert set(names) - {"LC_CTYPE"} == {"A"}


def test_stdin_is_empty_unless_it_is_given(tmp_path):
    echo = "import sys; sys.stdout.write(sys.stdin.read())"
    assert _run(echo, tmp_path).exit_code == 0
    assert (tmp_path / "out").read_text() == ""
    _run(echo, tmp_path, stdin=b"x" * 300_000)
    assert (tmp_path / "out").stat().st_size == 300_000


def test_a_process_inherits_no_descriptor_that_was_not_named(tmp_path):
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003 - its signature
    try:
        _run("import os; print(len(os.listdir('/proc/self/fd')))", tmp_path)
    finally:
        os.close(leak)
    assert (tmp_path / "out").read_text() == "4\n"  # three, and the listing itself


def test_a_named_descriptor_keeps_its_number():
    read_end, write_end = os.pipe()
    code = f"import os; os.write({write_end}, b'here')"
    running = process.start((*PYTHON, code), env={}, pass_fds=[write_end])
    os.close(write_end)
    assert os.read(read_end, 10) == b"here"
    assert running.end() is not None
    os.close(read_end)


def test_a_process_leads_a_session_of_its_own(tmp_path):
    _run("import os; print(os.getsid(0) == os.getpid() == os.getpgrp())", tmp_path)
    assert (tmp_path / "out").read_text() == "True\n"


def test_a_time_out_asks_first_so_that_a_program_may_leave_its_last_words(tmp_path):
    code = (
        "import signal, sys, time\n"
        "def leave(*_):\n    print('bye', flush=True)\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)"
    )
    finished = _run(code, tmp_path, timeout_s=2)
    assert (finished.timed_out, finished.exit_code, finished.cpu_s) == (
        True,
        None,
        None,
    )
    assert (tmp_path / "out").read_text() == "up\nbye\n"


def test_a_program_that_ignores_the_request_is_killed_with_its_group(tmp_path, fifo):
    code = fifo.held(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "os.fork(); time.sleep(600)"
    )
    finished = _run(code, tmp_path, timeout_s=1, grace_s=0.1)
    assert finished.timed_out
    assert fifo.read() in (b"up", b"")
    assert fifo.read() == b""


def test_what_a_finished_program_left_in_its_group_is_killed(tmp_path, fifo):
    code = fifo.held("import time; os.fork() or time.sleep(600)")
    assert _run(code, tmp_path).exit_code == 0
    assert fifo.read() == b"up"
    assert fifo.read() == b""


def test_a_daemon_that_keeps_the_output_open_does_not_hold_up_the_end(tmp_path, fifo):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = fifo.held(
        "ours, theirs = os.pipe()\n"
        "if os.fork(): os.read(ours, 1); os._exit(0)\n"
        f"os.setsid(); os.write(theirs, b'left'); open({str(gate)!r}).read()"
    )
    finished = _run(code, tmp_path)
    assert (finished.exit_code, finished.timed_out) == (0, False)
    assert fifo.read() == b"up"
    gate.open("w").close()
    assert fifo.read() == b""


@pytest.mark.parametrize(("stream", "kept"), [(1, "out"), (2, "err")])
def test_output_over_the_cap_is_dropped_and_said_so(tmp_path, stream, kept):
    code = f"import os\nfor _ in range(300): os.write({stream}, b'x' * 10_000)"
    finished = _run(code, tmp_path, max_output_bytes=12_345)
    assert (finished.exit_code, finished.truncated) == (0, True)
    assert (tmp_path / kept).stat().st_size == 12_345


def test_output_of_just_the_cap_is_whole(tmp_path):
    finished = _run("print('x' * 99)", tmp_path, max_output_bytes=100)
    assert not finished.truncated


def test_a_flood_does_not_keep_a_time_out_from_ending_it(tmp_path):
    code = "import os\nwhile True: os.write(1, b'x' * 65536)"
    finished = _run(code, tmp_path, timeout_s=0.3, max_output_bytes=1000)
    assert finished.timed_out
    assert finished.truncated


def test_cpu_time_counts_children_that_were_waited_for(tmp_path):
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import os\nif os.fork(): os.wait()\nelse:\n  exec({spin!r}); os._exit(0)"
    assert _run(code, tmp_path).cpu_s >= 0.3


def test_a_program_that_is_not_there_is_named_with_a_cure():
    with pytest.raises(process.CommandError, match=r"no-such-program.*install it"):
        process.output(("no-such-program",), timeout_s=2)


def test_output_gives_stdout_and_a_failure_ends_in_the_last_of_stderr():
    assert process.output((*PYTHON, "print('fine')"), timeout_s=60) == b"fine\n"
    code = "import sys; sys.exit('it broke')"
    with pytest.raises(process.CommandError, match="exit 1; it broke"):
        process.output((*PYTHON, code), timeout_s=60)


def test_output_ends_a_command_that_takes_too_long(fifo):
    code = fifo.held("import time; time.sleep(600)")
    with pytest.raises(process.CommandError, match=r"no end within 0\.5 s"):
        process.output((*PYTHON, code), timeout_s=0.5)
    while fifo.read():
        pass


def test_end_all_kills_what_is_in_flight_and_its_run_raises(tmp_path, fifo):
    code = fifo.held("import time; time.sleep(600)")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(_run, code, tmp_path)
        assert fifo.read() == b"up"
        while not running.done():  # it may have begun, and not be known yet
            process.end_all()
            wait([running], 0.1)
        with pytest.raises(StoppedEarlyError):
            running.result()
    assert fifo.read() == b""


def test_many_threads_may_run_processes_at_once(tmp_path):
    def one(n):
        folder = tmp_path / str(n)
        folder.mkdir()
        _run(f"print({n})", folder)
        return int((folder / "out").read_text())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(24))) == list(range(24))


def test_a_process_that_asked_for_it_ends_with_the_thread_that_made_it():
    read_end, write_end = os.pipe()
    code = (
        "import os, signal\n"
        "from evalkit import process\n"
        "process.die_with_parent()\n"
        f"os.write({write_end}, b'up')\n"
        "signal.pause()"
    )
    made = []

    def make():
        argv = (sys.executable, "-P", "-s", "-c", code)
        made.append(process.start(argv, env={}, pass_fds=[write_end]))
        assert os.read(read_end, 10) == b"up"

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    os.close(write_end)
    ended = made[0].wait(60)
    assert ended is not None
    assert ended.code == -signal.SIGKILL
    os.close(read_end)


def test_a_signal_to_what_was_reaped_goes_nowhere():
    running = process.start((*PYTHON, "pass"), env={})
    assert running.wait(60) == running.end()
    running.signal(signal.SIGKILL)


# --- caps -------------------------------------------------------------------

MIB = 1024 * 1024
HOLDERS = """
import os, signal, sys
for _ in range(4):
    if not os.fork():
        os.setsid()
        held = bytes(30 * 2**20) + b'x'
        kept = bytearray(held)
        signal.pause()
signal.pause()
"""


def test_memory_is_counted_over_all_processes_and_ends_them_all(tmp_path):
    ended = _run(HOLDERS, tmp_path, caps=Caps(memory_bytes=100 * MIB, n_processes=50))
    assert ended.excess == "its processes held over 104,857,600 bytes of memory"
    assert (ended.exit_code, ended.timed_out) == (-9, False)


def test_one_process_may_take_what_all_may(tmp_path):
    code = "kept = bytearray(30 * 2**20)"
    ended = _run(code, tmp_path, caps=Caps(memory_bytes=100 * MIB, n_processes=50))
    assert (ended.excess, ended.exit_code) == (None, 0)


def test_a_process_that_starts_too_many_is_ended(tmp_path):
    code = (
        "import os, signal\n"
        "for _ in range(30):\n    if not os.fork(): signal.pause()\n"
        "signal.pause()"
    )
    ended = _run(code, tmp_path, caps=Caps(memory_bytes=10_000 * MIB, n_processes=20))
    assert ended.excess == "it ran over 20 processes"


def test_a_process_that_fills_its_folders_is_ended(tmp_path):
    (tmp_path / "own" / "deep").mkdir(parents=True)
    code = (
        "import signal\n"
        "for n in range(8):\n"
        f"    open('{tmp_path}/own/deep/' + str(n), 'wb').write(bytes(2**20))\n"
        "signal.pause()"
    )
    caps = Caps(
        memory_bytes=10_000 * MIB,
        n_processes=20,
        disk_bytes=4 * MIB,
        folders=(str(tmp_path / "own"),),
    )
    assert (
        _run(code, tmp_path, caps=caps).excess
        == "it filled over 4,194,304 bytes of disk"
    )


def test_many_threads_may_wait_for_one_process_that_ends():
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            for _ in range(6):
                running = process.start(["/bin/sleep", "60"], env={})
                waits = [pool.submit(_wait_in_turns, running) for _ in range(6)]
                running.signal(signal.SIGKILL)
                assert {wait.result(20) for wait in waits} == {-signal.SIGKILL}
    finally:
        sys.setswitchinterval(pause)


def _wait_in_turns(running):
    while not (ended := running.wait(0.0)):
        pass
    return ended.code
