"""The driver, asked over its real socket: without isolation, and in the sandbox."""

from __future__ import annotations

import base64
import json
import os
import socket
import time
from pathlib import Path

import pytest
from delivered import deliver

from evalkit import process, sandbox
from evalkit.grader import Call, Failed, Get, Send, Service, Subject, parse_json
from evalkit.inside.subject import trees
from evalkit.questions import Question
from evalkit.sandbox import identity

SERVICE = Service(("python", "-m", "service", "{port}"))
FORKED = Service(("python", "-m", "service", "{port}"), fork=True)


class Wire:
    """A driver that was started as grading starts it, and the socket to it."""

    def __init__(self, level: str, workspace: Path) -> None:
        box = sandbox.open_box(level, allow_unsandboxed=True)
        ours, theirs = socket.socketpair()
        launch = box.subject_argv(workspace, theirs.fileno())
        self.running = process.start(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            pass_fds=[theirs.fileno()],
            given=launch.given,
        )
        theirs.close()
        ours.settimeout(60)
        self.socket = ours
        self.lines = ours.makefile("rb")
        self.ready = json.loads(self.lines.readline())

    def ask(self, _: str, question: Question) -> dict:
        """The one answer to a question."""
        self.socket.sendall(json.dumps(question).encode() + b"\n")
        return parse_json(self.lines.readline().decode(), "an answer")

    def hang_up(self) -> None:
        """End the stream of questions, and wait for the driver to end."""
        self.lines.close()
        self.socket.close()
        assert self.running.wait(20) is not None
        self.running.end()


LEVELS = [
    pytest.param("none", id="none"),
    pytest.param("bwrap", marks=pytest.mark.needs_sandbox, id="bwrap"),
]


def _open(level, folder):
    wire = Wire(level, deliver(folder / "delivered"))
    yield wire
    wire.hang_up()


@pytest.fixture(scope="module", params=LEVELS)
def wire(request, tmp_path_factory):
    yield from _open(request.param, tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def boxed_wire(tmp_path_factory):
    yield from _open("bwrap", tmp_path_factory.mktemp("driver"))


def _begin(wire: Wire) -> Subject:
    assert wire.ask("c", {"op": "begin", "check": "c"}) == {"answer": None}
    return Subject(wire, "c", seed=1, service=SERVICE, original=lambda _: "")


@pytest.fixture
def subject(wire):
    return _begin(wire)


@pytest.fixture
def boxed(boxed_wire):
    return _begin(boxed_wire)


# --- begin, end, refusals ---------------------------------------------------


def test_it_says_when_it_is_ready(wire, request):
    level = request.node.callspec.params["wire"]
    assert wire.ready["ready"] is True
    assert wire.ready["apart"] is (level == "bwrap")


def test_a_check_finds_nothing_of_the_one_before(wire, subject):
    subject.write("new.txt", "x")
    subject.write("docs/notes.md", "changed")
    subject.run("sh", "-c", "echo x > $HOME/left; echo x > $TMPDIR/left")
    subject = _begin(wire)
    assert subject.read("docs/notes.md") == "a note\n"
    assert not subject.exists("new.txt")
    assert subject.run("sh", "-c", "ls -A $HOME $TMPDIR").stdout.count("left") == 0


DEEP = """
import os
for name in ("d", "e" * 200):
    os.chdir(os.environ["HOME"])
    for _ in range(1200 // len(name) + 30):
        os.mkdir(name)
        os.chdir(name)
        open("left", "w").close()
"""


@pytest.mark.needs_sandbox
def test_what_lies_too_deep_for_calls_and_paths_is_gone_as_well(boxed_wire, boxed):
    assert boxed.run("python", "-c", DEEP).exit == 0
    assert _begin(boxed_wire).run("sh", "-c", "ls -A $HOME").stdout == "tmp\n"


def test_a_link_in_the_place_of_a_folder_is_removed_not_what_it_leads_to(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir()
    (target / "kept").touch()
    link.symlink_to("target")
    trees.empty(str(link))
    assert [path.name for path in tmp_path.rglob("*")] == ["target", "kept"]


def test_the_delivered_workspace_is_never_written(wire, subject):
    subject.run("sh", "-c", "echo changed > docs/notes.md")
    subject.tests({"docs/notes.md": "changed"})
    assert subject.read("docs/notes.md") == "changed\n"
    assert _begin(wire).read("docs/notes.md") == "a note\n"


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"op": "guess"}, "unknown op: guess"),
        ({"op": "read"}, "bad question: KeyError: 'path'"),
        ({"op": "output", "service": 9}, "no such service: 9"),
        ({"op": "sink_calls", "sink": 9}, "no such sink: 9"),
        ({"op": "read", "path": "large.txt"}, "too large"),
        ({"op": "read", "path": "../up"}, "outside the copy"),
        ({"op": "read", "path": "/etc/passwd"}, "outside the copy"),
        ({"op": "list", "path": "docs/../.."}, "outside the copy"),
        ({"op": "write", "path": "../up", "text": ""}, "outside the copy"),
        ({"op": "write", "path": "inner.md", "text": ""}, "inner.md"),
    ],
)
def test_what_it_will_not_do_is_refused_by_name(wire, subject, question, why):
    assert why in wire.ask("c", question)["refused"]
    assert subject.read("docs/notes.md") == "a note\n"


def test_the_end_of_questions_ends_children_and_removes_the_copy(tmp_path):
    wire = Wire("none", deliver(tmp_path / "delivered"))
    service = _begin(wire).start()
    started = int(_begin(wire).call("functions:daemon").value)
    subject = Subject(wire, "c", seed=1, service=SERVICE, original=lambda _: "")
    pid = json.loads(subject.http("GET", "/pid").body)["env"]["HOME"]
    assert Path(pid).is_dir()
    assert service.port
    wire.hang_up()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["delivered"]
    os.kill(started, 9)


# --- files ------------------------------------------------------------------


def test_files_are_read_listed_and_written(subject):
    subject.write("a/b/c.txt", "text")
    assert subject.read("a/b/c.txt") == "text"
    assert subject.read("latin.txt") == "caf\ufffd"
    assert not subject.exists("docs")
    assert subject.list("docs") == ("docs/notes.md",)
    assert subject.list("nowhere") == ()
    names = subject.list()
    assert names == tuple(sorted(names))
    assert {"service.py", "a/b/c.txt"} <= set(names)
    assert not any("__pycache__" in name for name in names)


def test_links_that_leave_are_not_copied_and_none_is_followed(subject):
    there = subject.run("ls").stdout.split()
    assert "inner.md" in there
    assert not {"outer.md", "above.md", "loop.md"} & set(there)
    assert not subject.exists("inner.md")
    subject.run("ln", "-s", "/etc", "etc")
    assert not subject.exists("etc/passwd")
    with pytest.raises(Failed, match="etc"):
        subject.write("etc/new", "x")
    with pytest.raises(Failed, match="outside the copy"):
        subject.run("ls", cwd="etc")


# --- commands ---------------------------------------------------------------


def test_a_command_answers_exit_and_both_streams(subject):
    ran = subject.run(
        "sh", "-c", "cat; echo $WORD >&2; exit 3", stdin="in", env={"WORD": "out"}
    )
    assert (ran.exit, ran.stdout, ran.stderr) == (3, "in", "out\n")
    assert not ran.timed_out
    assert subject.run("./run.sh", "it").stdout == "ran it\n"
    assert subject.run("pwd", cwd="docs").stdout.endswith("/workspace/docs\n")
    assert subject.run("no-such-command").exit == 127
    assert subject.run("sh", "-c", "kill -9 $$").exit == -9


def test_python_is_this_interpreter_and_leaves_no_bytecode(subject):
    ran = subject.run(
        "python", "-c", "import functions, sys; print(sys.version_info[:2])"
    )
    assert ran.stdout.startswith("(3, ")
    assert "__pycache__" not in subject.run("ls").stdout


def test_a_command_over_its_time_is_ended_with_its_group(subject):
    ran = subject.run("sh", "-c", "sleep 600 & echo $!; wait", timeout_s=0.5)
    assert ran.timed_out
    assert ran.exit is None
    assert subject.call("functions:ends", int(ran.stdout)).value is True


def test_what_a_command_leaves_in_its_group_ends_with_it(subject):
    ran = subject.run("sh", "-c", "sleep 600 & echo $!")
    assert ran.exit == 0
    assert subject.call("functions:ends", int(ran.stdout)).value is True


def test_output_is_capped_and_says_so(subject):
    ran = subject.run("python", "-c", "print('x' * 3_000_000)")
    assert ran.exit == 0
    assert ran.truncated
    assert len(ran.stdout) == 256_000


def test_limits_reach_the_process(subject):
    code = "import pathlib; pathlib.Path('f').write_bytes(b'x' * 5000)"
    ran = subject.run("python", "-c", code, limits={"fsize": 1000})
    assert "File too large" in ran.stderr
    assert subject.run("sh", "-c", "ulimit -n", limits={"nofile": 50}).stdout == "50\n"


def test_the_environment_is_an_allowlist(subject):
    names = set(subject.run("env").stdout.replace("=", " ").split()[::2])
    expected = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "PWD", "SHLVL", "_"}
    expected |= {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "OLDPWD"}
    assert names <= expected


# --- services ---------------------------------------------------------------


@pytest.mark.parametrize("service", [SERVICE, FORKED], ids=["exec", "fork"])
def test_a_service_starts_answers_and_stops(subject, service):
    running = subject.start(service)
    assert running.http("GET", "/x").json["path"] == "/x"
    assert "asked /x" in running.output()
    stopped = running.stop()
    assert (stopped.exit, stopped.killed) == (0, False)
    assert (stopped.stdout, stopped.stderr) == ("asked /x\n", "listening\n")
    assert running.http("GET", "/x").error == "refused"


@pytest.mark.parametrize("fork", [False, True], ids=["exec", "fork"])
@pytest.mark.usefixtures("subject")
def test_a_service_that_ends_at_once_says_why(wire, fork):
    argv = ("python", "-m", "service", "{port}", "dies")
    answer = wire.ask("c", _start(argv, fork=fork))["answer"]
    assert answer["ready"] is False
    assert answer["exit"] == 1
    assert "no thank you" in answer["output"]


def _start(argv, **options) -> Question:
    return {"op": "start", "env": {}, "port": None, "cwd": ".", "limits": {},
            "fork": False, "ready_s": 10.0, "argv": list(argv)} | options  # fmt: skip


@pytest.mark.usefixtures("subject")
def test_a_service_that_never_listens_is_not_ready(wire):
    answer = wire.ask("c", _start(["sleep", "600"], ready_s=0.3))["answer"]
    assert (answer["ready"], answer["exit"]) == (False, None)


def test_a_service_that_ignores_the_signal_is_killed(subject):
    running = subject.start(Service((*SERVICE.argv, "stays")))
    stopped = running.stop(within_s=0.2)
    assert stopped.killed
    assert stopped.exit == -9


def test_a_service_that_died_reports_its_own_exit(subject):
    running = subject.start()
    assert running.http("GET", "/exit").error == "transport"
    stopped = running.stop()
    assert (stopped.exit, stopped.killed) == (7, False)


def test_a_restart_keeps_port_and_number_and_adds_environment(subject):
    running = subject.start(env={"FIRST": "1"})
    assert running.http("POST", "/", body="x").json["n"] == 1
    assert running.restart(env={"SECOND": "2"}).exit == 0
    seen = running.http("GET", "/").json
    assert (seen["env"]["FIRST"], seen["env"]["SECOND"]) == ("1", "2")
    assert running.http("POST", "/", body="x").json["n"] == 1


def test_a_taken_port_is_no_started_service(subject):
    running = subject.start()
    with pytest.raises(Failed, match="is taken"):
        subject.start(Service(SERVICE.argv, port=running.port))


def test_a_service_bound_to_localhost_is_reached(subject):
    assert subject.start(env={"BIND": "localhost"}).http("GET", "/").status == 200


# --- requests ---------------------------------------------------------------


def test_a_request_is_sent_as_it_is_said(subject):
    reply = subject.http(
        "GET", "/a/../b%2e?x=%00", headers={"X-One": "1"}, source="127.0.0.7"
    )
    assert reply.json["path"] == "/a/../b%2e?x=%00"
    assert reply.json["from"] == "127.0.0.7"
    assert ["X-One", "1"] in reply.json["headers"]
    assert [value for name, value in reply.headers if name == "X-Two"] == ["a", "b"]
    assert reply.header("date") is None


def test_bodies_go_whole_chunked_and_as_json(subject):
    data = "x" * 100_000
    assert subject.http("POST", "/", body=data).json["length"] == 100_000
    assert subject.http("POST", "/", body=data, chunked=True).json["length"] == 100_000
    assert subject.http("POST", "/", json={"a": 1}).json["text"] == '{"a": 1}'
    assert subject.http("POST", "/").json["length"] == 0


def test_a_reply_is_read_though_the_body_was_never_taken(subject):
    reply = subject.http("POST", "/small", body="x" * 20_000_000)
    assert (reply.status, reply.body) == (413, "too large")


def test_a_reply_ends_the_sending_of_a_body_nobody_takes(subject):
    reply = subject.http("POST", "/early", body="x" * 20_000_000, timeout_s=20)
    assert (reply.status, reply.body) == (413, "enough")


def test_a_large_reply_is_capped_and_one_that_is_no_text_is_mended(subject):
    reply = subject.http("GET", "/big")
    assert reply.truncated
    assert len(reply.body) == 1_000_000
    assert subject.http("GET", "/binary").body == "ok \ufffd"


def test_what_is_no_reply_has_a_kind(subject):
    assert subject.http("GET", "/reset").error == "transport"
    assert subject.http("GET", "/cut").error == "transport"
    slow = subject.http("GET", "/slow", timeout_s=0.2)
    assert (slow.status, slow.error) == (None, "timeout")


def test_a_signal_between_two_halves_leaves_the_request_to_finish(subject):
    running = subject.start()
    halves = {"signal": "TERM", "wait_s": 0.3}
    reply = running.http("POST", "/", body="x" * 1000, halves=halves)
    assert reply.json["length"] == 1000
    assert reply.elapsed_s >= 0.3
    assert running.stop(None).exit == 0


def test_the_signal_between_halves_waits_until_the_service_reads(subject):
    running = subject.start(Service((*SERVICE.argv, "late")))
    halves = {"signal": "TERM", "wait_s": 0.1}
    assert running.http("POST", "/", body="x" * 1000, halves=halves).status == 200
    assert running.stop(None).exit == 0


def test_many_requests_connect_before_any_is_sent(subject):
    replies = subject.http_many([Get("/peers")] * 20)
    assert (
        max(reply.json for reply in replies) >= 20
    )  # and whoever asked whether it listens


def test_a_refused_connection_of_many_is_tried_again(subject):
    running = subject.start(Service(("python", "-m", "gap", "{port}")))
    assert running.http("GET", "/").status == 204
    assert [r.status for r in subject.http_many([Get("/")] * 5)] == [200] * 5


def test_fifty_requests_at_once_all_arrive(subject):
    requests = [Send("POST", "/", body=f"n{n}") for n in range(50)]
    replies = subject.http_many(requests)
    assert [reply.json["text"] for reply in replies] == [f"n{n}" for n in range(50)]
    assert sorted(reply.json["n"] for reply in replies) == list(range(1, 51))


def test_until_asks_again_inside(subject):
    reply = subject.until(Get("/count"), json={"done": True})
    assert reply.json["n"] == 3
    with pytest.raises(Failed, match="not seen within"):
        subject.until(Get("/count"), json={"done": 1}, within_s=0.1)


def test_a_sink_replies_by_its_script_and_records(subject):
    sink = subject.sink([500, {"status": 201, "body": "hi", "headers": {"X-A": "b"}}])
    code = (
        "import sys, urllib.request, urllib.error\n"
        "for n in range(3):\n"
        "    try:\n"
        "        got = urllib.request.urlopen(sys.argv[1] + '/in', b'n%d' % n)\n"
        "        print(got.status, got.read().decode(), got.headers['X-A'])\n"
        "    except urllib.error.HTTPError as error:\n"
        "        print(error.code)\n"
    )
    assert subject.run("python", "-c", code, sink.url).stdout == (
        "500\n201 hi b\n201 hi b\n"
    )
    calls = subject.until(sink, calls=3)
    assert [(c.method, c.path, c.body) for c in calls] == [
        ("POST", "/in", "n0"), ("POST", "/in", "n1"), ("POST", "/in", "n2"),
    ]  # fmt: skip
    assert calls[0].at_s < calls[1].at_s < calls[2].at_s


# --- calls ------------------------------------------------------------------


def test_a_call_answers_a_value_or_an_exception(subject):
    assert subject.call("functions:add", 2, 3).value == 5
    echoed = subject.call("functions:echo", None, 1.5, "\u00e9", a=[True]).value
    assert echoed == [[None, 1.5, "\u00e9"], {"a": [True]}]
    refused = subject.call("functions:refuse")
    assert refused.mro[:3] == ("Refused", "ValueError", "Exception")
    assert refused.message == "no"
    assert subject.call("no_such_module:x").raises("ModuleNotFoundError")
    assert subject.call("functions:nothing").raises("AttributeError")
    assert subject.call("broken:x").raises("SyntaxError")


def test_bytes_go_in_and_come_out(subject):
    given = {"$bytes": base64.b64encode(b"\xff").decode()}
    wanted = {"$bytes": base64.b64encode(b"\xff!").decode()}
    assert subject.call("functions:raw", given).value == wanted


def test_saved_values_are_used_by_later_calls(subject):
    made, added, total = subject.call_many(
        [
            Call("functions:Counter", 5, save="c"),
            Call("$c.add", 2),
            Call("functions:total", {"$ref": "c"}),
        ]
    )
    assert (made.value, added.value, total.value) == (None, 7, 7)


@pytest.mark.parametrize(
    "kind",
    ["nan", "infinite", "object", "number", "key", "set", "surrogate", "huge", "large"],
)
def test_what_is_not_plain_is_no_value(subject, kind):
    odd, good = subject.call_many(
        [Call("functions:odd", kind), Call("functions:add", 1, 1)]
    )
    assert (odd.error, odd.returned) == ("not-plain", False)
    assert good.value == 2


def test_a_value_without_end_is_not_plain(subject):
    assert subject.call("functions:deep").error == "not-plain"


def test_a_child_that_leaves_or_hangs_costs_only_what_it_owed(subject):
    good, gone, after = subject.call_many(
        [Call("functions:add", 1, 1), Call("functions:leave"), Call("functions:add", 1)]
    )
    assert (good.value, gone.error, after.error) == (2, "no-answer", "no-answer")
    good, hung = subject.call_many(
        [Call("functions:add", 1, 1), Call("functions:loop")], timeout_s=0.5
    )
    assert (good.value, hung.error) == (2, "timeout")
    assert hung.elapsed_s >= 0.5
    assert subject.call("functions:add", 2, 2).value == 4


@pytest.mark.parametrize("how", ["threads", "processes"])
def test_calls_run_together(subject, how):
    met = subject.call_many([Call("functions:meet", 8)] * 8, how=how)
    pids = {answer.value[0] for answer in met}
    assert len(pids) == (1 if how == "threads" else 8)


def test_threads_all_wait_for_the_last_one(subject):
    seen = subject.call_many([Call("functions:alive")] * 20, how="threads")
    assert max(answer.value for answer in seen) == 21


def test_threads_share_what_was_saved_first(subject):
    calls = [Call("$c.add", 1)] * 5 + [Call("functions:Counter", save="c")]
    *added, made = subject.call_many(calls, how="threads")
    assert made.returned
    assert max(answer.value for answer in added) == 5


def test_a_call_sees_its_copy_and_its_environment(subject):
    env = subject.call_many([Call("functions:environment")], env={"WORD": "x"})[0].value
    assert env["WORD"] == "x"
    assert "EVALKIT" not in "".join(env)
    subject.write("late.py", "def word(): return 'late'")
    assert subject.call("late:word").value == "late"


# --- the delivered tests ----------------------------------------------------


def test_a_suite_passes_fails_and_skips_by_id(subject):
    own = subject.tests()
    assert own.passed
    assert own.ran == ("tests.test_adding.Adding.test_adds",
                       "tests.test_adding.Adding.test_each",
                       "tests.test_adding.Adding.test_later")  # fmt: skip
    assert own.skipped == ("tests.test_adding.Adding.test_later",)
    bitten = subject.tests({"functions.py": "def add(a, b): return a - b - (a == 1)"})
    assert bitten.failed["tests.test_adding.Adding.test_adds"][0] == "AssertionError"
    assert bitten.failed["tests.test_adding.Adding.test_each"][0] == "AssertionError"
    assert "AssertionError" in bitten.output
    assert subject.tests().passed


def test_a_mutant_of_the_same_size_is_not_taken_for_the_original(subject):
    one, two = "def add(a, b): return a + b", "def add(a, b): return a - b"
    runs = [
        subject.tests({"functions.py": text}).passed for text in (one, two, one, two)
    ]
    assert runs == [True, False, True, False]


def test_a_test_module_that_cannot_be_imported_says_why(subject):
    run = subject.tests({"tests/test_broken.py": "import no_such_thing"})
    names = run.failed["unittest.loader._FailedTest.tests.test_broken"]
    assert names[:2] == ("ModuleNotFoundError", "ImportError")
    run = subject.tests({"tests/test_broken.py": "1 / 0"})
    names = run.failed["unittest.loader._FailedTest.tests.test_broken"]
    assert names[0] == "ZeroDivisionError"
    assert "ImportError" in names


def test_a_suite_that_cannot_run_has_an_error(subject):
    assert subject.tests(start="nowhere").error == "no such folder: nowhere"
    assert subject.tests(start="docs").error == "no tests were collected"
    leaving = subject.tests({"tests/test_adding.py": "import os; os._exit(0)"})
    assert leaving.error == "no-answer"
    endless = {"tests/test_adding.py": "while True: pass"}
    assert subject.tests(endless, timeout_s=0.5).error == "timeout"


# --- holes ------------------------------------------------------------------


def test_cpu_counts_the_children(wire, subject):
    before = wire.ask("", {"op": "cpu"})["answer"]["cpu_s"]
    subject.call("functions:burn", 0.3)
    subject.run("python", "-c", "import functions; functions.burn(0.3)")
    after = wire.ask("", {"op": "cpu"})["answer"]["cpu_s"]
    assert after - before >= 0.6


def test_a_child_holds_only_its_streams_and_its_answer_pipe(subject):
    seen = subject.call("functions:look").value
    own = {int(fd) for fd in seen["own"]}
    assert {0, 1, 2} < own
    assert len(own) == 4
    assert seen["modules"] == []
    assert not any("evalkit" in part for part in seen["path"])
    code = "import functions, json; print(json.dumps(functions.look()))"
    assert set(json.loads(subject.run("python", "-c", code).stdout)["own"]) == set(
        "012"
    )


def test_what_one_kind_of_child_needs_is_hidden_from_all(subject):
    subject.start(FORKED)
    assert subject.tests().passed
    seen = subject.call("functions:look").value
    assert seen["modules"] == []
    assert not any("evalkit" in part for part in seen["path"])


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("way", ["call", "run"])
def test_nobody_reads_the_descriptors_of_driver_or_zygote(boxed, way):
    if way == "call":
        assert boxed.call("functions:readable").value == []
    else:
        code = "import functions, json; print(json.dumps(functions.readable()))"
        assert boxed.run("python", "-c", code).stdout == "[]\n"


@pytest.mark.needs_sandbox
def test_the_sandbox_has_names_of_its_own(boxed):
    address, user, host = boxed.call("functions:names").value
    assert (address, host) == ("127.0.0.1", "sandbox")
    assert user


@pytest.mark.needs_sandbox
def test_the_next_check_ends_what_a_daemon_left(boxed_wire, boxed):
    pid = boxed.call("functions:daemon").value
    assert boxed.call("functions:lives", pid).value is True
    boxed = _begin(boxed_wire)
    assert boxed.call("functions:lives", pid).value is False


@pytest.mark.needs_sandbox
def test_nothing_under_tmp_outlives_a_check(boxed_wire, boxed):
    left = "mkdir /tmp/left; echo x > /tmp/left/x; echo x > /dev/shm/x; echo x > ~/x"
    boxed.run("sh", "-c", left)
    boxed = _begin(boxed_wire)
    found = boxed.run("sh", "-c", "ls -A /tmp /dev/shm ~").stdout.split()
    assert "tmp" in found
    assert not {"left", "x"} & set(found)


@pytest.mark.needs_sandbox
def test_a_check_works_where_an_agent_worked(boxed):
    where = boxed.run("sh", "-c", "pwd; echo $HOME $TMPDIR").stdout
    assert where == "/workspace\n/home/agent /home/agent/tmp\n"


@pytest.mark.needs_sandbox
def test_a_killed_zygote_costs_one_question(boxed_wire, boxed):
    (zygote,) = boxed.call("functions:siblings").value
    boxed.run("kill", "-9", str(zygote))
    assert "zygote" in boxed_wire.ask("c", _run("true"))["refused"]
    assert boxed.run("echo", "again").stdout == "again\n"


def _run(*argv: str) -> Question:
    return {"op": "run", "argv": list(argv), "stdin": "", "env": {}, "cwd": ".",
            "limits": {}, "timeout_s": 5.0}  # fmt: skip


@pytest.mark.needs_sandbox
def test_an_ordinary_users_driver_takes_no_signal_from_inside(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "may_drop", lambda: False)
    wire = Wire("bwrap", deliver(tmp_path / "delivered"))
    boxed = _begin(wire)
    boxed.run("sh", "-c", "kill -9 1; kill -INT 1; kill -TERM 1; kill -STOP 1")
    assert boxed.run("echo", "here").stdout == "here\n"
    wire.hang_up()


@pytest.mark.needs_sandbox
def test_no_process_is_left_when_the_driver_is_gone(tmp_path):
    wire = Wire("bwrap", deliver(tmp_path / "delivered"))
    _begin(wire).call("functions:daemon")
    started = time.monotonic()
    wire.hang_up()
    assert time.monotonic() - started < 20
