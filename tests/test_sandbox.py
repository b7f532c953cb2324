"""sandbox: what a process in it sees, may write and can reach."""

import json
import os
import pwd
import select
import struct
import sys
from pathlib import Path

import msgspec
import pytest
from conftest import REPOSITORY

from evalkit import process, sandbox
from evalkit.errors import InputError
from evalkit.sandbox import Mount, identity, limits, probe, seccomp, view

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
def denied(pid):
    return tried(lambda: open(f"/proc/{pid}/environ").read()) == "EACCES"
def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name + ":"))
"""


def _told(launch, code, **options):
    """What code prints as JSON where the launch would have started its program."""
    argv = (*launch.argv, "-c", f"{FACTS}\nprint(json.dumps({code}))")
    chosen = {"env": {}, "timeout_s": 60, "given": launch.given, **options}
    return json.loads(process.output(argv, **chosen))


CALLERS = ["user", "root"] if os.geteuid() == 0 else ["user"]


def _as_subject(box, workspace):
    """How the driver's interpreter is started, without the driver."""
    launch = box.subject_argv(workspace, 9)
    cut = launch.argv.index(f"{view.DRIVER_SEEN}/{view.PROGRAM}")
    return msgspec.structs.replace(launch, argv=launch.argv[:cut])


@pytest.fixture(params=CALLERS)
def box(request, monkeypatch):
    """A sandbox as an ordinary user's, and as root's."""
    if request.param == "user":
        monkeypatch.setattr(identity, "may_drop", lambda: False)
    probe._probe.cache_clear()
    yield sandbox.open_box("bwrap", allow_unsandboxed=False)
    probe._probe.cache_clear()


@pytest.fixture
def drops(request):
    """True where root gives itself up."""
    return request.node.callspec.params["box"] == "root"


@pytest.fixture
def workspace(tmp_path):
    made = tmp_path / "workspace"
    made.mkdir()
    (made / "app.py").write_text("x = 1\n")
    return made


@pytest.fixture
def in_subject(box, workspace):
    """Ask a process that stands where the driver would."""
    python = _as_subject(box, workspace)
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
        return _told(launch, code)

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
def test_the_detail_of_a_box_is_the_same_at_every_probe():
    box = sandbox.open_box("bwrap", allow_unsandboxed=False)
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
def test_the_subject_sees_no_process_but_the_sandboxs_own(in_subject, drops):
    seen = in_subject("[p for p in os.listdir('/proc') if p.isdigit()]")
    assert seen == (["1", "2"] if drops else ["1"])


@boxed
def test_the_subject_finds_only_what_is_listed(in_subject):
    seen = set(in_subject("os.listdir('/')"))
    listed = {"bin", "dev", "driver", "etc", "lib", "lib64", "proc", "tmp", "usr"}
    listed |= {"delivered", "home"}
    prefixes = {Path(p).parts[1] for p in (sys.prefix, sys.base_prefix)}
    assert seen == listed | {"workspace"} | prefixes
    assert in_subject(f"os.path.exists({str(REPOSITORY / 'graders')!r})") is False
    assert in_subject(f"os.path.exists({__file__!r})") is False


@boxed
def test_the_subject_writes_only_where_a_check_may(in_subject):
    places = ["/", "/etc", "/dev", "/usr", "/delivered", sys.prefix, "/driver"]
    assert in_subject(f"[write(p) for p in {places}]") == ["EROFS"] * len(places)
    rooms = ["/tmp", "/workspace", "/home/agent", "/dev/shm"]
    assert in_subject(f"[write(p) for p in {rooms}]") == ["done"] * len(rooms)


@boxed
@pytest.mark.parametrize(
    ("folder", "n_mb"), [("/tmp", 64), ("/workspace", 64), ("/dev/shm", 16)]
)
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
    own = (
        "''.join(open(f'/proc/{p}/environ').read() for p in range(1, os.getpid() + 1) "
    )
    own += "if os.access(f'/proc/{p}/environ', os.R_OK) and not denied(p))"
    assert "CANARY" not in in_subject(own)
    names = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "PWD"}
    for given in ({}, {"CANARY": "sings"}):
        seen = in_subject("sorted(os.environ)", env=given)
        assert set(seen) - {"LC_CTYPE"} == names


@boxed
def test_no_command_line_tells_where_things_lie_on_this_machine(
    in_subject, in_agent, workspace
):
    said = "''.join(open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') "
    said += "if p.isdigit())"
    for ask in (in_subject, in_agent):
        told = ask(said)
        assert "json.dumps" in told
        assert str(workspace.parent) not in told
        assert str(REPOSITORY / "evalkit") not in told


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
    seen = {"bwrap": view.DRIVER_SEEN, "none": str(view.DRIVER)}[level]
    cut = launch.argv.index(f"{seen}/{view.PROGRAM}")
    argv = (*launch.argv[:cut], "-c", "print(hash('a'))")
    first, second = (
        process.output(argv, timeout_s=60, env=launch.env, given=launch.given)
        for _ in "12"
    )
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
    launch = _as_subject(box, workspace)
    running = process.start(
        (*launch.argv, "-c", code), env={}, pass_fds=[write_end], given=launch.given
    )
    os.close(write_end)
    assert os.read(read_end, 10) == b"up"
    running.end()
    assert select.select([read_end], [], [], 60)[0]
    assert os.read(read_end, 10) == b""
    os.close(read_end)


# --- what no process in it may do -------------------------------------------

CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    ctypes.set_errno(0)
    told = libc.syscall(number, *map(ctypes.c_ulong, words))
    if told == 0 and number == CLONE:
        os._exit(0)
    if told >= 0:
        return "done"
    return errno.errorcode[ctypes.get_errno()]
"""
NEW_USER = 0x1000_0000
ATTEMPTS = {
    "ptrace": ("call({ptrace}, 0, 0, 0, 0)", "EPERM"),
    "process_vm_readv": (
        "call({process_vm_readv}, os.getpid(), 0, 0, 0, 0, 0)",
        "EPERM",
    ),
    "kcmp": ("call({kcmp}, os.getpid(), os.getpid(), 0, 0, 0)", "EPERM"),
    "clone into a new user": (f"call({{clone}}, {NEW_USER}, 0, 0, 0, 0)", "EPERM"),
    "new user": (f"call({{unshare}}, {NEW_USER})", "EPERM"),
    "clone3": ("call({clone3}, 0, 0)", "ENOSYS"),
    "io_uring": ("call({io_uring_setup}, 0, 0)", "ENOSYS"),
    "keyring": ("call({keyctl}, 0, 2**32 - 3, 1)", "EPERM"),
    "page faults": ("call({userfaultfd}, 1)", "EPERM"),
    "the host of a virtual machine": ("call({socket}, 40, 1, 0)", "EAFNOSUPPORT"),
    "the kernel's ciphers": ("call({socket}, 38, 5, 0)", "EAFNOSUPPORT"),
    "raw packets by netlink": ("call({socket}, 16, 3, 0)", "done"),
    "typing into the terminal": ("call({ioctl}, 0, 0x5412, 0)", "EPERM"),
    "x32": ("call(0x40000000 + 39)", "ENOSYS"),
}


def _attempts():
    column, _ = seccomp.MACHINES[os.uname().machine]
    tables = seccomp.DENIED | seccomp.ABSENT
    numbers = {name: pair[column] for name, pair in tables.items()}
    numbers |= {"clone": seccomp.CLONE[column], "socket": seccomp.SOCKET[column]}
    numbers["ioctl"] = seccomp.IOCTL[column]
    listed = ", ".join(text.format(**numbers) for text, _ in ATTEMPTS.values())
    code = CALLS.replace("CLONE", str(numbers["clone"]))
    return f"(exec({code!r}, globals()), [{listed}])[1]"


@boxed
def test_calls_that_reach_past_the_sandbox_are_denied(in_subject):
    answers = dict(zip(ATTEMPTS, in_subject(_attempts()), strict=True))
    assert answers == {name: wanted for name, (_, wanted) in ATTEMPTS.items()}


@boxed
def test_without_the_filter_each_of_these_calls_would_be_answered_otherwise(
    box, workspace, monkeypatch
):
    allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF_0000)
    monkeypatch.setattr(view, "filter_program", lambda: allow)
    python = _as_subject(box, workspace)
    answers = dict(zip(ATTEMPTS, _told(python, _attempts()), strict=True))
    same = {name for name, (_, wanted) in ATTEMPTS.items() if answers[name] == wanted}
    everywhere = {"raw packets by netlink", "typing into the terminal"}
    assert same <= everywhere | {"x32", "the kernel's ciphers"}  # kernels may lack them


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_every_jump_of_the_filter_lands_on_an_instruction(machine):
    code = list(struct.iter_unpack("<HBBI", seccomp.program(machine)))
    for n, (kind, then, otherwise, _) in enumerate(code):
        if kind & 7 == 5:
            assert max(then, otherwise) + n + 1 < len(code)
    assert code[-1] == (6, 0, 0, 0x7FFF_0000)


@boxed
def test_nobody_in_it_has_a_right_or_may_get_one(in_subject):
    rights = [
        in_subject(f"status('{name}')") for name in ("CapEff", "CapPrm", "CapAmb")
    ]
    assert rights == ["0" * 16] * 3
    assert in_subject("status('NoNewPrivs')") == "1"


@boxed
def test_root_gives_itself_up_to_a_user_that_nobody_else_is(in_subject, drops):
    own = in_subject("[os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]")
    if drops:
        assert own[0] >= 65_000
        assert own[0] not in {entry.pw_uid for entry in pwd.getpwall()}
        assert own == [own[0], own[0], own[0], []]
        assert identity.next_identity().uid != own[0]
    else:
        assert own[:3] == [os.getuid(), os.geteuid(), os.getgid()]


@boxed
def test_each_process_is_bound_by_the_limits_of_its_phase(in_subject, in_agent):
    for ask, wanted in ((in_subject, limits.SUBJECT), (in_agent, limits.AGENT)):
        names = [f"RLIMIT_{name.upper()}" for name in wanted]
        code = f"[__import__('resource').getrlimit(getattr(__import__('resource'), n)) for n in {names}]"
        assert ask(code) == [[value, value] for value in wanted.values()]


@boxed
def test_a_home_that_only_root_may_enter_can_still_hold_what_is_bound(
    box, tmp_path, place
):
    closed = tmp_path / "closed"
    tool = closed / "inner" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("here")
    closed.chmod(0o700)
    binds = [Mount(tool.parent, str(tool.parent))]
    launch = box.agent_argv([sys.executable, "-I", "-S"], {}, place, binds)
    assert _told(launch, f"open({str(tool)!r}).read()") == "here"


@boxed
def test_what_is_to_be_hidden_is_seen_nowhere_even_below_what_is_bound(
    box, place, tmp_path
):
    root = tmp_path / "shown" / "root"
    for name in ("graders", "cases"):
        (root / name).mkdir(parents=True)
        (root / name / "secret").write_text("x")
    (root / "open").write_text("x")
    (root.parent / "moved").mkdir()
    (root.parent / "moved" / "secret").write_text("x")
    (root / "runs").symlink_to("../moved")
    (root / "graders" / "inner").mkdir()
    (root / "reference").symlink_to("graders/inner")
    hiding = sandbox.open_box("bwrap", allow_unsandboxed=False, root=root)
    binds = [Mount(root.parent, str(root.parent))]
    seen = {}
    for name, tried in (("hiding", hiding), ("plain", box)):
        launch = tried.agent_argv([sys.executable, "-I", "-S"], {}, place, binds)
        listed = [str(root / name) for name in ("", "graders", "cases", "../moved")]
        code = f"[sorted(os.listdir(path)) for path in {listed}]"
        seen[name] = _told(launch, code)
    names = ["cases", "graders", "open", "reference", "runs"]
    assert seen["hiding"] == [names, [], [], []]
    assert seen["plain"] == [names, ["inner", "secret"], ["secret"], ["secret"]]


@boxed
def test_nothing_runs_under_limits_that_honest_work_would_pass():
    code = "from evalkit import sandbox; sandbox.open_box('bwrap', allow_unsandboxed=False)"
    for limit in ("--nofile=200:200", "--nproc=50:50"):
        with pytest.raises(process.CommandError, match="ulimit"):
            process.output(("prlimit", limit, sys.executable, "-c", code), timeout_s=60)


@boxed
def test_the_limit_on_processes_counts_this_sandbox_alone(workspace):
    box = sandbox.open_box("bwrap", allow_unsandboxed=False)
    code = (
        "import os, resource, time\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))\n"
        "n = 0\n"
        "try:\n"
        "    while n < 200:\n"
        "        if not os.fork(): time.sleep(60)\n"
        "        n += 1\n"
        "except BlockingIOError: pass\n"
        "os.write({fd}, str(n).encode()); time.sleep(60)"
    )
    counted = []
    running = []
    for _ in range(2):
        read_end, write_end = os.pipe()
        launch = _as_subject(box, workspace)
        argv = (*launch.argv, "-c", code.format(fd=write_end))
        running.append(
            process.start(argv, env={}, pass_fds=[write_end], given=launch.given)
        )
        os.close(write_end)
        counted.append(int(os.read(read_end, 10)))
        os.close(read_end)
    for one in running:
        one.end()
    assert all(30 <= n <= 40 for n in counted), counted


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
