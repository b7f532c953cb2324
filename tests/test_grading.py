"""grading: what a grader may do, how it may fail, and that a grade replays."""

import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import psutil
import pytest

from evalkit import files, grading, process, sandbox, scoring
from evalkit.errors import InputError, SandboxUnavailableError, StoppedEarlyError
from evalkit.grader import Get, Send
from evalkit.grading import warm
from evalkit.grading.live import Live, RunawayError, patience_s
from evalkit.grading.verdict import add_verdict, judge
from evalkit.grading.work import Told
from evalkit.records import Case, Digests, Kind, Step
from evalkit.wire import GoneError, SilentError, Wire

LEVELS = [
    pytest.param("none", id="none"),
    pytest.param("bwrap", marks=pytest.mark.needs_sandbox, id="bwrap"),
]
HEAD = "from evalkit.grader import Checks, expect, fail\n"
GOOD = (
    HEAD
    + """
checks = Checks({"adds": 2, "names": 1})

@checks("adds")
def adds(subject):
    a, b = subject.random.randrange(100), subject.random.randrange(100)
    expect(subject.call("app:add", a, b).value == a + b, "sum", (a, b))

@checks("names")
def names(subject):
    expect(subject.read("name.txt") == subject.original("name.txt"), "name is kept")
"""
)
APP = "def add(a, b):\n    return a + b\n"
ONE = HEAD + "checks = Checks({'c': 1})\n@checks('c')\ndef c(subject):\n    "
CHILDREN = """
import os, signal, threading
def send_to_subject(number):
    # The grader's only children are the subjects it started itself.
    listed = open(f"/proc/self/task/{os.getpid()}/children").read()
    for pid in listed.split():
        os.kill(int(pid), number)
"""


class Lab:
    """A root with one case, and a box to grade it in."""

    def __init__(self, folder, level="none"):
        self.root = folder / "root"
        self.folder = folder
        self.box = sandbox.open_box(level, allow_unsandboxed=True)
        self.workspace = folder / "workspace"
        for made in (self.root / "cases/x/fixture", self.root / "graders/x"):
            made.mkdir(parents=True)
        self.workspace.mkdir()
        (self.root / "cases/x/fixture/name.txt").write_text("x\n")
        self.deliver("name.txt", "x\n")
        self.deliver("app.py", APP)
        self.grader(GOOD)
        self.n = 0

    def deliver(self, name, text):
        (self.workspace / name).write_text(text)

    def grader(self, text, name="grade.py"):
        (self.root / "graders/x" / name).write_text(text)

    def case(self, **changes):
        step = Step(1, "task", "do it")
        fixture, grader = (
            files.tree_digest(self.root / name)
            for name in ("cases/x/fixture", "graders/x")
        )
        digests = Digests("c", fixture, grader, "r")
        known = Case("x", "X", Kind.FEATURE, "none", (step,), digests)
        return msgspec.structs.replace(known, **changes)

    def grade(self, *, seed=1, step=None, **changes):
        case = self.case(**changes)
        self.n += 1
        self.answers = self.folder / str(self.n) / "answers.jsonl"
        self.answers.parent.mkdir()
        grade = grading.grade(
            case,
            step or case.steps[0],
            self.workspace,
            root=self.root,
            box=self.box,
            seed=seed,
            answers=self.answers,
        )
        self.last = grading.Replay(case, step or case.steps[0], grade, self.answers)
        return grade

    def rows(self):
        return [json.loads(row) for row in self.answers.read_text().splitlines()]

    def replays(self):
        again = grading.replay_all([self.last], root=self.root, hash_seed=1234)
        return again == (True,)


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.fixture(params=LEVELS)
def any_lab(request, tmp_path):
    return Lab(tmp_path, request.param)


def _passed(grade):
    assert grade.died is None, grade.died
    return {check.id: check.passed for check in grade.checks}


# --- a good grader ----------------------------------------------------------


def test_a_right_delivery_passes_and_a_wrong_one_fails_its_check_alone(any_lab):
    assert _passed(any_lab.grade()) == {"adds": True, "names": True}
    any_lab.deliver("app.py", "def add(a, b):\n    return a - b\n")
    wrong = any_lab.grade()
    assert _passed(wrong) == {"adds": False, "names": True}
    assert scoring.step_score(wrong.checks) == 1 / 3
    assert (wrong.seed, wrong.grader_digest) == (1, any_lab.case().digests.grader)
    assert wrong.cpu_s > 0


def test_every_question_is_a_row_and_the_last_row_is_the_verdict(any_lab):
    grade = any_lab.grade()
    *asked, verdict = any_lab.rows()
    assert [(row["check"], row["n"], row["q"]["op"]) for row in asked] == [
        ("adds", 0, "begin"),
        ("adds", 1, "call"),
        ("names", 0, "begin"),
        ("names", 1, "read"),
    ]
    assert all(set(row["a"]) == {"answer"} for row in asked)
    assert verdict["verdict"] == scoring.score_line(grade.checks)
    assert grading.read_verdict(any_lab.answers) == grade


def test_the_seed_decides_the_inputs(lab):
    def inputs(seed):
        lab.grade(seed=seed)
        return lab.rows()[1]["q"]["calls"][0]["args"]

    assert inputs(1) == inputs(1) != inputs(2)


def test_a_grader_of_several_steps_is_asked_for_the_one_graded(lab):
    checks = "{0} = Checks({{'{0}': 1}}, step='{0}')\n@{0}('{0}')\ndef c(s): pass\n"
    lab.grader(HEAD + checks.format("one") + checks.format("two"))
    assert _passed(lab.grade(step=Step(2, "two", "p"))) == {"two": True}


def test_many_threads_grade_at_once(tmp_path):
    labs = [Lab(tmp_path / str(n)) for n in range(4)]
    labs[2].deliver("name.txt", "y")
    with ThreadPoolExecutor(4) as pool:
        grades = list(pool.map(lambda one: one.grade(), labs))
    assert [_passed(g)["names"] for g in grades] == [True, True, False, True]


def test_a_thread_that_ends_leaves_no_grader_nor_what_remains_of_one(lab):
    lab.grade()
    before = _descendants()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lab.grade).result().died is None
    assert _descendants() == before


def test_a_fork_of_this_process_leaves_its_graders_alone(lab):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lab.grade).result()
        before = _descendants()
        if not (forked := os.fork()):
            os._exit(0)
        os.waitpid(forked, 0)
        assert _passed(pool.submit(lab.grade).result()) == {"adds": True, "names": True}
        assert _descendants() == before


def _silent_nursery(answer_s):
    nursery = warm._living_nursery()
    nursery._control.settimeout(answer_s)
    os.kill(nursery._running.pid, signal.SIGSTOP)
    return nursery


def test_where_what_makes_graders_does_not_answer_another_one_does(lab):
    silent = _silent_nursery(0.1)
    with ThreadPoolExecutor(1) as pool:
        assert _passed(pool.submit(lab.grade).result()) == {"adds": True, "names": True}
    assert not psutil.pid_exists(silent._running.pid)


def test_a_grading_that_waits_for_its_grader_is_ended_on_request(lab):
    silent = _silent_nursery(60.0)
    with ThreadPoolExecutor(1) as pool:
        grading_now = pool.submit(lab.grade)
        while not silent._lock.locked():
            assert not grading_now.done()
        process.end_all()
        with pytest.raises(StoppedEarlyError):
            grading_now.result()


def _descendants():
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_grader_is_where_the_runner_is(lab, monkeypatch):
    lab.grade()
    monkeypatch.chdir(lab.folder)
    lab.root = lab.root.relative_to(lab.folder)
    assert lab.grade().died is None


def test_graders_run_under_one_hash_seed_whatever_the_thread(lab):
    lab.grader(ONE + "fail(' '.join({f'w{n}' for n in range(50)}))")
    here = lab.grade().checks
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lab.grade).result().checks == here


def test_nothing_is_written_beside_a_grader_and_no_bytecode_there_is_run(lab):
    import py_compile

    text = ONE + "repr('x')"
    lab.grader(text.replace("repr", "fail"))
    source = lab.root / "graders/x/grade.py"
    os.utime(source, (1, 1))
    py_compile.compile(str(source))
    lab.grader(text)
    os.utime(source, (1, 1))
    cached = source.parent / "__pycache__"
    before = sorted(cached.iterdir())
    assert _passed(lab.grade()) == {"c": True}
    assert sorted(cached.iterdir()) == before


def test_an_original_file_comes_from_the_fixture_and_from_nowhere_else(lab):
    lab.grader(ONE + "expect(subject.original('../case.toml') == '', 'secret')")
    (lab.root / "cases/x/case.toml").write_text("")
    (check,) = lab.grade().checks
    assert "a relative path inside its folder" in check.reason


# --- bad graders ------------------------------------------------------------

BAD = {
    "fails on import": ("1 / 0", "ZeroDivisionError"),
    "is no Python": ("def", "SyntaxError"),
    "declares nothing": (HEAD, "0 Checks for step 'task'"),
    "declares twice": (HEAD + "a = Checks({'a': 1}); b = Checks({'b': 1})", "2 Checks"),
    "leaves a check out": (HEAD + "checks = Checks({'a': 1})", "checks without a func"),
    "weighs by parts": (HEAD + "checks = Checks({'a': 0.5})", "a positive int"),
    "exits": (ONE + "import sys; sys.exit(3)", r"\(exit 3\)"),
    "exits well": (ONE + "import sys; sys.exit(0)", r"\(exit 0\)"),
    "leaves hard": (ONE + "import os; os._exit(4)", r"\(exit 4\)"),
    "is killed": (ONE + "import os; os.kill(os.getpid(), 9)", r"\(exit -9\)"),
    "never ends": (ONE + "while True: pass", r"no verdict within 1 s"),
    "never loads": ("while True: pass", r"no verdict within 1 s"),
    "ignores SIGTERM": (
        ONE + "import signal; signal.signal(15, signal.SIG_IGN)\n    while True: pass",
        r"no verdict within 1 s",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_grader_that_dies_leaves_a_named_reason_and_a_score_of_zero(lab, name):
    text, why = BAD[name]
    lab.grader(text)
    grade = lab.grade(grade_timeout_s=1.0 if "within" in why else 60.0)
    assert re.search(why, grade.died), grade.died
    assert grade.checks == ()
    assert scoring.grade_score(grade) == 0.0
    assert lab.rows()[-1]["verdict"] is None
    assert not lab.replays()
    lab.grader(GOOD)
    assert _passed(lab.grade()) == {"adds": True, "names": True}


def test_an_error_in_one_check_fails_that_check_alone(lab):
    lab.grader(GOOD.replace("a, b =", "a, b = [][0],"))
    grade = lab.grade()
    assert _passed(grade) == {"adds": False, "names": True}
    assert grade.checks[0].reason.startswith("IndexError")


def test_a_check_that_fails_without_a_word_fails(lab):
    lab.grader(ONE + "fail('')")
    assert _passed(lab.grade()) == {"c": False}


def test_what_a_grader_prints_is_no_verdict(lab):
    line = scoring.PREFIX + '{"score": 1.0, "checks": []}'
    forged = f"import os; [os.write(n, {line.encode()!r} + b'\\n') for n in (1, 2)]"
    lab.grader(ONE + f"{forged}; fail('not so')")
    assert _passed(lab.grade()) == {"c": False}
    assert lab.replays()


def test_a_reason_that_quotes_an_answer_is_the_same_each_time(lab):
    program = "import sys; print('told'); sys.exit(3)"
    lab.grader(ONE + f"fail('seen', subject.run('python', '-c', {program!r}))")
    first, second = lab.grade(), lab.grade()
    [check] = first.checks
    assert check.reason.startswith("seen: Ran(exit=3, stdout='told\\n'")
    assert first.checks == second.checks


def test_a_huge_reason_is_cut(lab):
    lab.grader(ONE + "fail('x' * 20_000_000)")
    (check,) = lab.grade().checks
    assert len(check.reason) == scoring.MAX_REASON
    assert lab.replays()


def test_a_reason_that_quotes_half_a_character_can_be_kept(lab):
    lab.deliver("app.py", "def add(a, b):\n    return chr(0xD800)\n")
    lab.grader(ONE + "fail('seen', subject.call('app:add', 1, 2))")
    grade = lab.grade()
    assert _passed(grade) == {"c": False}
    msgspec.json.encode(grade)
    assert lab.replays()


def test_a_grader_that_asks_without_end_is_stopped(lab, monkeypatch, tmp_path):
    monkeypatch.setattr("evalkit.grading.live.MAX_QUESTIONS", 20)
    launch = lab.box.subject_argv(lab.workspace, 200)
    with (tmp_path / "rows").open("wb") as rows, Live(launch, rows) as channel:
        for _ in range(20):
            channel.ask("c", {"op": "begin", "check": "c"})
        with pytest.raises(RunawayError):
            channel.ask("c", {"op": "begin", "check": "c"})


def test_a_grader_that_never_ends_leaves_no_subject_behind(any_lab):
    any_lab.grader(ONE + "subject.list()\n    while True: pass")
    assert any_lab.grade(grade_timeout_s=2.0).died
    deadline = time.monotonic() + 60
    while _processes_naming(any_lab.workspace):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _processes_naming(path):
    found = psutil.process_iter(["cmdline"])
    return [p for p in found if str(path) in " ".join(p.info["cmdline"] or [])]


# --- subjects that die ------------------------------------------------------

DEATH = (
    CHILDREN
    + HEAD
    + """
checks = Checks({"before": 1, "during": 1, "after": 1})

@checks("before")
def before(subject):
    subject.list()

@checks("during")
def during(subject):
    DIE
    subject.call("app:stay", timeout_s=60)

@checks("after")
def after(subject):
    expect(subject.call("app:add", 1, 2).value == 3, "sum")
"""
)


@pytest.mark.parametrize(
    "die",
    [
        "send_to_subject(signal.SIGKILL)",
        "threading.Timer(0.3, send_to_subject, [signal.SIGKILL]).start()",
    ],
    ids=["between questions", "in a question"],
)
def test_a_subject_that_dies_fails_the_check_that_asked_and_is_replaced(any_lab, die):
    any_lab.deliver("app.py", APP + "def stay():\n    import time; time.sleep(60)\n")
    any_lab.grader(DEATH.replace("DIE", die))
    grade = any_lab.grade()
    assert _passed(grade) == {"before": True, "during": False, "after": True}
    assert "ended before it answered" in grade.checks[1].reason
    assert grade.cpu_s is None
    gone = [row for row in any_lab.rows() if "gone" in row.get("a", {})]
    assert [row["check"] for row in gone] == ["during"]
    assert any_lab.replays()


@pytest.mark.needs_sandbox
def test_a_delivery_that_kills_all_it_can_costs_its_own_checks_at_most(tmp_path):
    lab = Lab(tmp_path, "bwrap")
    kill = "def add(a, b):\n    import os; os.kill(-1, 9)\n"
    lab.deliver("app.py", kill)
    assert _passed(lab.grade()) == {"adds": False, "names": True}
    assert lab.replays()


@pytest.mark.needs_sandbox
def test_a_subject_that_cannot_start_says_nothing_about_the_delivery(tmp_path):
    lab = Lab(tmp_path, "bwrap")
    lab.workspace = tmp_path / "nowhere"
    with pytest.raises(SandboxUnavailableError, match="nowhere"):
        lab.grade()


def test_end_all_ends_a_grading_without_a_verdict(lab):
    lab.grader(ONE + "subject.list()\n    while True: pass")
    with ThreadPoolExecutor(1) as pool:
        grading_now = pool.submit(lab.grade)
        while not (hasattr(lab, "answers") and lab.answers.exists() and lab.rows()):
            assert not grading_now.done()
            time.sleep(0.02)
        process.end_all()
        with pytest.raises(StoppedEarlyError):
            grading_now.result(60)
    assert all("check" in row for row in lab.rows())


def test_a_grader_process_that_was_ended_while_idle_is_replaced(lab):
    lab.grade()
    process.end_all()
    assert _passed(lab.grade()) == {"adds": True, "names": True}


# --- replays ----------------------------------------------------------------


def test_a_grade_replays_from_its_answers_alone(any_lab):
    grade = any_lab.grade()
    files.remove_tree(any_lab.workspace)
    assert grading.replay(any_lab.last, root=any_lab.root) == grade.checks
    assert any_lab.replays()


def test_a_question_that_changed_is_named(lab):
    lab.grade()
    lab.grader(GOOD.replace("app:add", "app:sum"))
    with pytest.raises(grading.DivergedError) as found:
        grading.replay(lab.last, root=lab.root)
    assert (found.value.check, found.value.index) == ("adds", 1)
    assert found.value.registered["calls"][0]["target"] == "app:add"
    assert found.value.asked["calls"][0]["target"] == "app:sum"
    assert not lab.replays()


def test_a_question_that_was_not_asked_before_is_named(lab):
    lab.grade()
    lab.grader(GOOD + "    subject.list()\n")
    with pytest.raises(grading.DivergedError) as found:
        grading.replay(lab.last, root=lab.root)
    assert (found.value.index, found.value.registered) == (2, None)


def test_a_stricter_check_over_the_same_questions_is_judged_anew(lab):
    lab.grade()
    lab.grader(GOOD.replace("== a + b", "== a + b + 1"))
    assert not grading.replay(lab.last, root=lab.root)[0].passed
    assert not lab.replays()


def test_a_grader_that_depends_on_the_order_of_a_set_does_not_replay(lab):
    lab.grader(ONE + "fail(' '.join({f'w{n}' for n in range(50)}))")
    lab.grade()
    assert not lab.replays()


def test_many_grades_replay_in_one_go_each_by_itself(lab):
    lab.grade()
    good = lab.last
    lab.grade(seed=2)
    other = msgspec.structs.replace(lab.last, answers=good.answers)
    found = grading.replay_all([good, other, good], root=lab.root, hash_seed=7)
    assert found == (True, False, True)


# --- foreign graders --------------------------------------------------------

FOREIGN = """
import json, sys
workspace, step, seed = sys.argv[1:]
sys.path.insert(0, workspace)
sys.dont_write_bytecode = True
import app
checks = [{"id": f"{step}-{seed}", "weight": 1, "passed": app.add(1, 2) == 3, "reason": ""}]
line = "ECC_EVAL_SCORE " + json.dumps({"score": 1.0, "checks": checks})
"""
COMMAND = ("python", "{grader}/judge.py", "{workspace}", "{step}", "{seed}")


def _foreign(lab, tail, timeout_s=60.0):
    lab.grader(FOREIGN + tail, "judge.py")
    return lab.grade(grader_command=COMMAND, grade_timeout_s=timeout_s)


def test_a_grader_in_any_language_states_its_verdict_on_stdout(any_lab):
    assert _passed(_foreign(any_lab, "print('hello'); print(line)")) == {"task-1": True}
    assert any_lab.replays()


@pytest.mark.parametrize(
    ("tail", "why"),
    [
        ("", "no score line"),
        ("print(line); print(line)", "2 score lines"),
        ("print(line.replace('1.0', 'NaN'))", "NaN is not JSON"),
        ("print(line.replace('1.0', '1.5'))", "outside 0..1"),
        ("print(line); sys.exit(1)", "exit 1"),
        ("print(line); import os; os.kill(os.getpid(), 9)", "exit -9"),
        ("print(line, flush=True)\nwhile True: pass", "no verdict within 1 s"),
        ("print(line)\nfor _ in range(9): print('x' * 2**20)", "wrote over"),
    ],
)
def test_a_foreign_grader_that_dies_leaves_a_named_reason(lab, tail, why):
    grade = _foreign(lab, tail, timeout_s=1.0 if "within" in why else 60.0)
    assert why in grade.died
    assert grade.checks == ()
    assert grading.read_verdict(lab.answers) == grade
    assert not lab.replays()


@pytest.mark.needs_sandbox
def test_a_foreign_grader_cannot_change_itself_or_see_the_other_parts(tmp_path):
    lab = Lab(tmp_path, "bwrap")
    tail = (
        "import os\n"
        f"if not os.path.exists({str(lab.root)!r}) "
        "and not os.access(os.path.dirname(__file__), os.W_OK): print(line)"
    )
    assert _passed(_foreign(lab, tail)) == {"task-1": True}


# --- verdicts ---------------------------------------------------------------


def _judged(**told):
    return judge(Told(**told), seed=1, grader_digest="d", wall_s=0.5)


def test_a_verdict_follows_the_last_row_that_is_whole(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_bytes(b'{"check": "a"}\n{"check": "b", "n": 0, "q": {"o')
    add_verdict(answers, _judged(died="killed"))
    first, last = answers.read_bytes().splitlines()
    assert first == b'{"check": "a"}'
    assert json.loads(last)["died"] == "killed"
    assert grading.read_verdict(answers).died == "killed"


@pytest.mark.parametrize(
    "last",
    [
        b"",
        b'{"check": "a", "n": 0, "q": {}, "a": {}}',
        msgspec.json.encode(msgspec.structs.replace(_judged(line="x"), died=None)),
    ],
    ids=["nothing", "a question", "neither line nor reason"],
)
def test_answers_that_do_not_end_in_a_verdict_are_refused(tmp_path, last):
    answers = tmp_path / "answers.jsonl"
    answers.write_bytes(last + b"\n")
    with pytest.raises(InputError, match="last row"):
        grading.read_verdict(answers)


# --- the wire ---------------------------------------------------------------


@pytest.fixture
def wires():
    ours, theirs = socket.socketpair()
    yield Wire(ours), theirs
    ours.close()
    theirs.close()


def test_one_object_a_line_goes_and_comes(wires):
    wire, other = wires
    wire.send({"a": [1, None, "\ud800"]})
    other.sendall(other.recv(1000))
    assert wire.receive(60) == {"a": [1, None, "\ud800"]}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b'{"answer": NaN}\n', "NaN is not JSON"),
        (b'{"answer": 1, "answer": 2}\n', "occurs twice"),
        (b"[1]\n", "no object"),
        (b"hello\n", "not JSON"),
        (b"\xff\n", "not JSON"),
        (b"[" * 60_000 + b"\n", "not JSON"),
        (b'{"answer": ' + b"9" * 5000 + b"}\n", "not JSON"),
        (b'{"answer": 1}\n{"answer": 2}\n', "more than one"),
        (b'{"answer": 1}\n{"ans', "more than one"),
    ],
)
def test_anything_but_one_strict_object_is_no_answer(wires, sent, why):
    wire, other = wires
    other.sendall(sent)
    with pytest.raises(GoneError, match=why):
        wire.receive(60)


def test_an_answer_nobody_asked_for_ends_the_talk(wires):
    wire, other = wires
    other.sendall(b'{"answer": 1}\n')
    with pytest.raises(GoneError, match="without being asked"):
        wire.send({"op": "list"})


def test_an_answer_over_the_cap_is_not_read_to_its_end(wires, monkeypatch):
    monkeypatch.setattr("evalkit.wire.MAX_LINE_BYTES", 1000)
    wire, other = wires
    other.sendall(b"x" * 1001)
    with pytest.raises(GoneError, match="over 1,000 bytes"):
        wire.receive(60)


def test_silence_and_a_closed_end_are_told_apart(wires):
    wire, other = wires
    other.sendall(b'{"half')
    with pytest.raises(SilentError, match=r"within 0\.05 s"):
        wire.receive(0.05)
    other.close()
    with pytest.raises(GoneError, match="ended"):
        wire.receive(60)


@pytest.mark.parametrize(
    ("question", "seconds"),
    [
        ({"op": "list"}, 0),
        (Get("/", timeout_s=3), 3),
        (Send("POST", "/", body="b", halves={"wait_s": 2}, timeout_s=3), 5),
        ({"op": "http_many", "requests": [Get("/", timeout_s=n) for n in (1, 4)]}, 4),
        ({"op": "until", "question": Get("/", timeout_s=3), "within_s": 9}, 12),
        ({"op": "start", "ready_s": 7}, 7),
    ],
)
def test_a_question_is_given_the_time_it_asks_for(question, seconds):
    assert patience_s(question) == seconds
