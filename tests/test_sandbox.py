"""sandbox: what a process in it sees, may write and can reach."""

import json
import os
import select
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from evalkit import process, sandbox
from evalkit.errors import InputError
from evalkit.sandbox import Mount

boxed = pytest.mark.needs_sandbox
FACTS = """
import errno, getpass, json, os, socket
def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def write(path):
    return tried(lambda: open(path + "/new", "w").close())
def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name + ":"))
"""


def _told(launch, code, **options):
    """What code prints as JSON where the launch would have started its program."""
    argv = (*launch, "-c", f"{FACTS}\nprint(json.dumps({code}))")
    chosen = {"env": {}, "timeout_s": 60, **options}
    return json.loads(process.output(argv, **chosen))


@pytest.fixture
def box():
    return sandbox.open_box("bwrap", allow_unsandboxed=False)


@pytest.fixture
def workspace(tmp_path):
    made = tmp_path / "workspace"
    made.mkdir()
    (made / "app.py").write_text("x = 1\n")
    return made


@pytest.fixture
def in_subject(box, workspace):
    """Ask a process that stands where the driver would."""
    python = box.subject_argv(workspace, 9).argv[:-2]
    return lambda code, **options: _told(python, code, **options)


@pytest.fixture
def place(box, workspace, tmp_path):
    for name in ("home", "staging"):
        (tmp_path / name).mkdir()
    return box.place(workspace, tmp_path / "home", tmp_path / "staging")


@pytest.fixture
def in_agent(box, place):
    """Ask a process that stands where the agent would."""

    def ask(code, binds=(), **env):
        launch = box.agent_argv([sys.executable, "-I", "-S"], env, place, binds)
        assert (launch.env, launch.cwd) == ({}, None)
        return _told(launch.argv, code)

    return ask


# --- levels -----------------------------------------------------------------


@pytest.mark.parametrize(("level", "consent"), [("docker", True), ("none", False)])
def test_an_unknown_level_or_none_without_consent_is_refused(level, consent):
    with pytest.raises(InputError, match="--allow-unsandboxed"):
        sandbox.open_box(level, allow_unsandboxed=consent)


def test_level_none_says_so_and_shows_places_as_they_are(tmp_path):
    box = sandbox.open_box("none", allow_unsandboxed=True)
    place = box.place(tmp_path / "w", tmp_path / "h", tmp_path / "s")
    assert box.isolation.level == "none"
    assert place.home == Mount(tmp_path / "h", str(tmp_path / "h"))
    launch = box.agent_argv(["agent"], {"A": "1"}, place)
    assert (launch.argv, launch.env) == (("agent",), {"A": "1"})
    assert launch.cwd == tmp_path / "w"


@boxed
def test_the_detail_of_a_box_is_the_same_at_every_probe(box):
    code = (
        "from evalkit import sandbox;"
        "print(sandbox.open_box('bwrap', allow_unsandboxed=False).isolation.detail)"
    )
    said = process.output((sys.executable, "-c", code), timeout_s=60)
    assert said.decode().strip() == box.isolation.detail
    assert box.isolation.detail.startswith("bubblewrap ")


OUTER = ("bwrap", "--unshare-user", "--bind", "/", "/", "--dev", "/dev")


@boxed
@pytest.mark.parametrize(
    ("outer", "cure"),
    [
        (("--proc", "/proc", "--ro-bind", "/dev/null", "/usr/bin/bwrap"), "apt-get"),
        (("--proc", "/proc", "--disable-userns"), "namespaces are forbidden here"),
        (("--unshare-pid", "--proc", "/proc", "--ro-bind", "/dev/null", "/proc/keys"),
         "/proc is masked"),
    ],
    ids=["no bwrap", "no user namespaces", "masked proc"],
)  # fmt: skip
def test_a_sandbox_that_cannot_start_is_an_error_with_a_cure(outer, cure):
    code = (
        "from evalkit import errors, sandbox\n"
        "try: sandbox.open_box('bwrap', allow_unsandboxed=False)\n"
        "except errors.SandboxUnavailableError as error: print(error)"
    )
    said = process.output((*OUTER, *outer, sys.executable, "-c", code), timeout_s=60)
    assert cure in said.decode()
    assert "--allow-unsandboxed" in said.decode()


# --- the subject ------------------------------------------------------------


@boxed
def test_the_subject_is_process_1_and_sees_no_other(in_subject):
    assert in_subject("[p for p in os.listdir('/proc') if p.isdigit()]") == ["1"]


@boxed
def test_the_subject_finds_only_what_is_listed(in_subject):
    seen = set(in_subject("os.listdir('/')"))
    listed = {"bin", "dev", "driver", "etc", "lib", "lib64", "proc", "tmp", "usr"}
    prefixes = {Path(p).parts[1] for p in (sys.prefix, sys.base_prefix)}
    assert seen == listed | {"workspace"} | prefixes
    assert in_subject(f"os.path.exists({str(REPOSITORY / 'graders')!r})") is False
    assert in_subject(f"os.path.exists({__file__!r})") is False


@boxed
def test_the_subject_writes_only_below_tmp(in_subject):
    places = ["/", "/etc", "/dev", "/usr", "/workspace", sys.prefix, "/driver"]
    assert in_subject(f"[write(p) for p in {places}]") == ["EROFS"] * len(places)
    assert in_subject("write('/tmp')") == "done"


@boxed
@pytest.mark.parametrize(("folder", "n_mb"), [("/tmp", 64), ("/dev/shm", 16)])
def test_what_the_subject_writes_is_bounded(in_subject, folder, n_mb):
    code = (
        f"tried(lambda: open('{folder}/f', 'wb').write(bytes({n_mb + 1} * 2**20))),"
        f"os.stat('{folder}/f').st_size <= {n_mb} * 2**20"
    )
    assert in_subject(f"[{code}]") == ["ENOSPC", True]


@boxed
def test_the_subject_has_a_network_of_its_own(in_subject):
    reach = "tried(lambda: socket.create_connection(('{}', 9), timeout=5))"
    assert in_subject(reach.format("192.0.2.1")) == "ENETUNREACH"
    assert in_subject(reach.format("localhost")) == "ECONNREFUSED"


@boxed
def test_honest_programs_find_a_user_a_host_name_and_local_host(in_subject):
    assert in_subject("bool(getpass.getuser())")
    assert in_subject("socket.gethostname()") == "sandbox"
    assert in_subject("socket.gethostbyname('sandbox')") == "127.0.0.1"


@boxed
def test_the_subject_has_no_capabilities_and_gains_none(in_subject):
    assert int(in_subject("status('CapEff')"), 16) == 0
    assert in_subject("status('NoNewPrivs')") == "1"


@boxed
def test_the_launcher_environment_is_nowhere_to_be_found(in_subject, monkeypatch):
    monkeypatch.setenv("CANARY", "sings")
    assert "CANARY" not in in_subject("open('/proc/1/environ').read()")
    names = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "PWD"}
    for given in ({}, {"CANARY": "sings"}):
        seen = in_subject("sorted(os.environ)", env=given)
        assert set(seen) - {"LC_CTYPE"} == names


@boxed
def test_the_subject_gets_no_descriptor_but_the_one_named(in_subject, tmp_path):
    leak = os.open(tmp_path, os.O_RDONLY)
    named = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003 - its signature
    try:
        code = "sorted(int(n) for n in os.listdir('/proc/self/fd'))"
        seen = in_subject(code, pass_fds=[named])
    finally:
        os.close(leak)
        os.close(named)
    listing = 3 if named != 3 else 4
    assert seen == sorted([0, 1, 2, listing, named])


@boxed
@pytest.mark.parametrize("level", ["bwrap", "none"])
def test_the_subject_runs_under_a_fixed_hash_seed(level, workspace):
    box = sandbox.open_box(level, allow_unsandboxed=True)
    launch = box.subject_argv(workspace, 9)
    cut = {"bwrap": -2, "none": -5}[level]
    argv = (*launch.argv[:cut], "-c", "print(hash('a'))")
    first, second = (process.output(argv, timeout_s=60, env=launch.env) for _ in "12")
    assert first == second


@boxed
def test_nothing_of_a_subject_outlives_it(box, workspace):
    read_end, write_end = os.pipe()
    code = (
        "import os, signal\n"
        "if os.fork():\n    signal.pause()\n"
        "os.setsid()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"os.write({write_end}, b'up')\n"
        "signal.pause()"
    )
    argv = (*box.subject_argv(workspace, 9).argv[:-2], "-c", code)
    running = process.start(argv, env={}, pass_fds=[write_end])
    os.close(write_end)
    assert os.read(read_end, 10) == b"up"
    running.end()
    assert select.select([read_end], [], [], 60)[0]
    assert os.read(read_end, 10) == b""
    os.close(read_end)


# --- the agent --------------------------------------------------------------


@boxed
def test_the_agent_writes_its_workspace_and_home_and_nothing_it_was_brought(
    in_agent, place, workspace
):
    places = [place.workspace.seen, place.home.seen, place.staging.seen, "/usr", "/"]
    told = in_agent(f"[write(p) for p in {places}]")
    assert told == ["done", "done", "EROFS", "EROFS", "EROFS"]
    assert (workspace / "new").exists()
    assert in_agent("os.getcwd()") == place.workspace.seen


@boxed
def test_the_agent_gets_the_environment_it_was_given_and_no_other(
    in_agent, monkeypatch
):
    monkeypatch.setenv("CANARY", "sings")
    assert set(in_agent("sorted(os.environ)", A="1")) - {"LC_CTYPE"} == {"A", "PWD"}


@boxed
def test_what_an_adapter_binds_is_seen_where_it_says_read_only(in_agent, tmp_path):
    brought = tmp_path / "brought"
    brought.mkdir()
    (brought / "tool").write_text("here")
    bind = Mount(brought, "/opt/tools")
    assert in_agent("open('/opt/tools/tool').read()", [bind]) == "here"
    assert in_agent("write('/opt/tools')", [bind]) == "EROFS"


@boxed
def test_the_agent_has_no_network_and_no_capabilities(in_agent):
    reach = "tried(lambda: socket.create_connection(('192.0.2.1', 9), timeout=5))"
    assert in_agent(reach) == "ENETUNREACH"
    assert int(in_agent("status('CapEff')"), 16) == 0


@boxed
def test_the_agent_sees_neither_the_operator_home_nor_the_root(in_agent, tmp_path):
    (tmp_path / "secret").write_text("s")
    outside = [str(tmp_path / "secret"), str(REPOSITORY / "graders"), __file__]
    assert in_agent(f"[os.path.exists(p) for p in {outside}]") == [False] * 3
