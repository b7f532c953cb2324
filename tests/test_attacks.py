"""Hostile deliveries and hostile agents: each gets what it deserves, and no more.

Every one of them runs in an outer namespace, as an ordinary user; see `outerbox`.
`tests/attacks/<nn-name>/` is laid over a real case; its `attack.toml` says which kind
of attack it is, what it deserves, and what reasons must be given.
"""

import os
import re
import shutil
import tomllib
from pathlib import Path

import foreigner
import outerbox
import pytest
from outerbox import REPOSITORY

from evalkit import scoring

pytestmark = pytest.mark.needs_sandbox

ATTACKS = sorted(path.parent for path in REPOSITORY.glob("tests/attacks/*/attack.toml"))
FOREIGNER = Path(foreigner.__file__)
HOSTILITY = REPOSITORY / "tests" / "hostility.py"
REFEREE = REPOSITORY / "tests" / "referee.py"
USERS = {"user": False, "root": True} if os.geteuid() == 0 else {"user": False}
"""As whom evalkit is run in the outer namespace: root only where we are root."""

ALIKE = {
    *("user", "ids", "host", "localhost", "language", "terminal", "python", "etc"),
    *("devices", "capabilities", "no new privileges", "seccomp", "interfaces"),
    *("version control", "zone", "year", "mask"),
    *("home", "working folder", "temporary"),
}
"""What a program sees where it is written, and sees no other where it is graded."""
TOLD_APART = {
    *("folder", "environment", "search path"),
    *("descriptors", "flags", "root", "mounts", "limits", "first process"),
    *("processes", "writable"),
}
"""What a program could tell grading by, if it looked for it."""


def _facts(attack):
    return tomllib.loads((attack / "attack.toml").read_text())


def _refereed(attack, **options):
    request = {"attack": str(attack), "root": str(REPOSITORY)}
    return outerbox.inside(REFEREE, request, **options)


def _judge(attack, found):
    """The grade is the deserved one, the machine is as before, and life goes on."""
    facts, grade = _facts(attack), found["grade"]
    assert grade["died"] is None
    failed = {c["id"]: c["reason"] for c in grade["checks"] if not c["passed"]}
    assert sorted(failed) == sorted(facts["failing"]), failed
    won = sum(c["weight"] for c in grade["checks"] if c["passed"])
    total = sum(c["weight"] for c in grade["checks"])
    assert won / total == scoring.parse_share(facts["score"])
    assert all(failed.values())
    for check, pattern in facts.get("reasons", {}).items():
        assert re.search(pattern, failed[check]), (check, failed[check])
    assert found["left_processes"] == []
    assert found["changed_files"] == []
    assert found["callers"] == []
    assert all(check["passed"] for check in found["next"]["checks"])


def test_all_kinds_of_attack_are_there():
    assert {_facts(attack)["kind"] for attack in ATTACKS} == set(range(1, 18))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_on_its_grading_gets_what_it_deserves(attack, user):
    _judge(attack, _refereed(attack, as_root=USERS[user]))


# --- hostile agents ---------------------------------------------------------


@pytest.fixture(scope="module", params=USERS)
def hostile_run(request):
    """A run of six trials, in each of which the agent does another deed."""
    return outerbox.inside(HOSTILITY, {}, as_root=USERS[request.param])


def test_a_run_of_hostile_agents_goes_on_to_its_planned_end(hostile_run):
    assert hostile_run["status"] == {"state": "complete", "done": 6}
    assert hostile_run["n_planned"] == hostile_run["n_attempts"] == 6


def test_hostile_agents_leave_nothing_behind(hostile_run):
    assert hostile_run["left_processes"] == []
    assert hostile_run["changed_files"] == []


def test_what_hostile_agents_delivered_is_graded_honestly(hostile_run):
    failing = {deed: t["failing"] for deed, t in hostile_run["trials"].items()}
    assert set(failing.pop("look")) == {"says-hello", "says-name"}
    assert failing.pop("linger") == {"says-name": "greets by name: hello"}
    assert set(failing) == {"litter", "bomb", "fill", "shout"}
    assert not any(failing.values())


def test_an_agent_sees_nothing_of_graders_runs_or_the_operator(hostile_run):
    told = hostile_run["told"]["look"]["report"]
    assert told["n_looked"] > 300
    assert (told["secrets"], told["names"]) == ([], [])
    assert hostile_run["kept_secrets"] == []


def test_an_agent_reaches_its_own_loopback_and_nobody_else(hostile_run):
    told = hostile_run["told"]["look"]["report"]
    assert (told["reached"], told["own_loopback"]) == ([], "ok")
    assert hostile_run["callers"] == []


def test_what_an_agent_left_is_neither_followed_nor_waited_for(hostile_run):
    told = hostile_run["told"]["litter"]
    why = dict(line.rpartition(": ")[::2] for line in told["left_out"])
    links = {"above", "home", "itself", "loop", "machine", "passwd"}
    assert {name for name, reason in why.items() if reason == "a link"} == links
    kinds = {"pipe": "a pipe", "socket": "a socket", "device": "a special file"}
    assert {name: why[name] for name in kinds} == kinds
    assert told["session_left_out"]


def test_what_an_agent_takes_is_bounded(hostile_run):
    told, trials = hostile_run["told"], hostile_run["trials"]
    forks = told["bomb"]["report"].get("n_forks")
    assert (forks or 0) < 2000
    assert forks or "processes" in trials["bomb"]["detail"]
    filled = told["fill"]["report"]
    assert filled["/"] == filled["/dev"] == 0
    assert 0 < filled["/tmp"] + filled["/dev/shm"] < 2048
    assert trials["shout"]["outcome"] == "agent_limit"


def test_agent_phase_and_grading_look_alike_in_what_is_listed(hostile_run):
    working = hostile_run["told"]["look"]["report"]["observed"]
    graded = hostile_run["observed"]
    assert working.keys() == graded.keys()
    alike = {name for name in working if working[name] == graded[name]}
    assert alike >= ALIKE, sorted(ALIKE - alike)
    assert working.keys() - alike <= TOLD_APART, sorted(working.keys() - alike)


# --- foreign graders --------------------------------------------------------


def _foreign(deliveries, **options):
    return outerbox.inside(FOREIGNER, {"deliveries": deliveries}, **options)


@pytest.fixture(scope="module", params=USERS)
def foreign(request):
    """Grades of hostile deliveries by an honest grader of somebody else's."""
    return _foreign(list(foreigner.DELIVERED), as_root=USERS[request.param])


@pytest.mark.parametrize(
    ("delivery", "why"),
    [
        ("prints", "2 score lines"),
        ("glues", "does not begin its line"),
        ("glues-from-outside", "^said 'hello'$"),
        ("rewrites", "^said None$"),
        ("kills", "exit 137"),
        ("interrupts", "exit 130"),
        ("terminates", "exit 143"),
        ("stops", "no verdict within 5 s"),
    ],
)
def test_a_line_forged_beside_a_foreign_grader_wins_nothing(foreign, delivery, why):
    grade = foreign[delivery]
    assert not any(check["passed"] for check in grade["checks"])
    assert re.search(why, grade["died"] or grade["checks"][0]["reason"])
    assert grade["left"] == []


def test_a_foreign_grader_judges_as_before_beside_a_daemon(foreign):
    for delivery in ("daemon", "plain"):
        (check,) = foreign[delivery]["checks"]
        assert check["reason"] == "said 'hello'"
        assert foreign[delivery]["left"] == []
    (right,) = foreign["right"]["checks"]
    assert right["passed"]


# --- without a protection ---------------------------------------------------

PROBE = ("sandbox/probe.py", "if found != wanted:", "if not found:")
APART = ("sandbox/view.py", '    "--unshare-pid",\n', "")
AS_PID_1 = ("sandbox/box.py", '("--as-pid-1",) if as_pid_1', "() if as_pid_1")
DUMPABLE = ("inside/subject/__main__.py", "DUMPABLE, 0, 0", "DUMPABLE, 1, 0")
ALONE = ("inside/subject/__main__.py", "alone=apart and", "alone=False and")
NETWORK = ("sandbox/view.py", 'NO_NETWORK = ("--unshare-net",)', "NO_NETWORK = ()")
HOST_NAME = ("sandbox/view.py", '"--hostname", "sandbox"', '"--hostname", "ci"')
ROOT = (
    *("sandbox/view.py", '*("--ro-bind", "/usr", "/usr"),'),
    '*("--ro-bind", "/usr", "/usr"), *("--ro-bind", "/", "/machine"),',
)
MASKED = ("grading/foreign.py", ', [Mount(nothing, "/proc")])', ")")
GLUED = ("scoring.py", "if holding != lines:", "if not lines:")


SPOILING = {"06-descriptors"}
"""Those that spoil the answers, and do not change them."""


def _without(tmp_path, *protections):
    """A copy of the package in which some lines are others."""
    package = Path(shutil.copytree(REPOSITORY / "evalkit", tmp_path / "evalkit"))
    for name, old, new in protections:
        text = (package / name).read_text()
        assert text.count(old) == 1, (name, old)
        (package / name).write_text(text.replace(old, new))
    return package


@pytest.mark.parametrize(
    ("name", "protections"),
    [
        ("06-descriptors", [DUMPABLE]),
        ("07-nonce", [APART, AS_PID_1, PROBE]),
        ("08-graders", [ROOT]),
        ("11-daemon", [ALONE]),
        ("15-network", [NETWORK]),
        ("17-surroundings", [HOST_NAME]),
    ],
)
def test_an_attack_succeeds_once_its_protection_is_gone(tmp_path, name, protections):
    attack = REPOSITORY / "tests" / "attacks" / name
    found = _refereed(attack, package=_without(tmp_path, *protections))
    with pytest.raises(AssertionError):
        _judge(attack, found)
    won = sum(c["weight"] for c in found["grade"]["checks"] if c["passed"])
    deserved = scoring.parse_share(_facts(attack)["score"])
    assert won / 8 > deserved or name in SPOILING


def test_a_daemon_outlives_its_grading_where_process_ids_are_shared(tmp_path):
    attack = REPOSITORY / "tests" / "attacks" / "11-daemon"
    found = _refereed(attack, package=_without(tmp_path, APART, AS_PID_1, PROBE))
    assert found["left_processes"]


def test_a_glued_line_would_win_where_only_whole_lines_counted(tmp_path):
    found = _foreign(["glues"], package=_without(tmp_path, GLUED))
    (check,) = found["glues"]["checks"]
    assert check["passed"]


def test_a_foreign_grader_is_rewritten_where_it_has_a_proc(tmp_path):
    found = _foreign(["rewrites"], package=_without(tmp_path, MASKED))
    (check,) = found["rewrites"]["checks"]
    assert check["passed"]


# --- the outer namespace ----------------------------------------------------


def test_attacks_refuse_to_run_elsewhere():
    own = {name: outerbox.namespace(name) for name in outerbox.NAMESPACES}
    with pytest.raises(SystemExit, match="outer namespace only"):
        outerbox.refuse_outside({"outside": own, "as_root": False})
