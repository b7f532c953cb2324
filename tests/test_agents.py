"""Agents: the table, what a stream and an exit mean, and the scripted control."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import tinyroot

from evalkit import agents, files, process, sandbox, transcript
from evalkit.agents import claude
from evalkit.agents.scripted import Scripted
from evalkit.errors import InputError
from evalkit.records import Access, Budget, Ended, Limits, TrialKey

DATA = Path(__file__).parent / "data" / "claude"
REPOSITORY = Path(__file__).parent.parent
ENDED_WELL = process.Finished(0, 1.0, 0.5, timed_out=False, truncated=False)
POLICY = """
[default]
n_requests = [2, 4]
latency_ms = [0, 2]
skill_chance = 0.0
overlays = { correct = 0.5, naive = 0.3, wrong-shouts = 0.2 }

[default.tokens]
input = { median = 10, sigma = 0.3 }
write_5m = { median = 2000, sigma = 0.5 }
write_1h = { median = 100 }
read = { median = 9000, sigma = 0.5 }
output = { median = 300, sigma = 0.5 }

[full]
skill_chance = 1.0
overlays = { naive = 1.0 }

[baseline]
overlays = { correct = 1.0 }
"""
LEVELS = [
    pytest.param("none", id="none"),
    pytest.param("bwrap", id="bwrap", marks=pytest.mark.needs_sandbox),
]


@pytest.fixture
def root(root: Path) -> Path:
    """The tiny root with a policy of its own."""
    (root / "reference" / "scripted.toml").write_text(POLICY)
    return root


def _open(root: Path) -> Scripted:
    opened = agents.open_agent(tinyroot.Plan("tiny"), root)
    assert isinstance(opened, Scripted)
    return opened


class Started:
    """One call of an agent in a place of its own, and where its evidence is."""

    def __init__(
        self, agent: Scripted, folder: Path, level: str, arm: str = "full"
    ) -> None:
        self.agent = agent
        self.workspace, self.home, self.staging = (
            folder / name for name in ("workspace", "home", "staging")
        )
        for path in (self.workspace, self.home, self.staging):
            path.mkdir(parents=True)
        self.skills = self.home / agent.config_home / "skills"
        self.stdout, self.stderr = folder / "stdout", folder / "stderr"
        self.box = sandbox.open_box(level, allow_unsandboxed=level == "none")
        self.place = self.box.place(self.workspace, self.home, self.staging)
        (step,) = agent._cases["greet"].steps
        self.task = agents.Task(
            key=TrialKey("greet", arm, 1),
            step=step,
            prompt="Please do it.\n--really",
            model="claude-opus-5-5",
            place=self.place,
            seed=7,
        )

    def command(self) -> agents.Command:
        """How the agent is started; stages what it needs."""
        return self.agent.command(self.task)

    def run(self, command: agents.Command) -> process.Finished:
        """Start a command in the place, as a trial does."""
        launch = self.box.agent_argv(
            command.argv, command.env, self.place, command.binds
        )
        return process.run(
            launch.argv,
            given=launch.given,
            env=launch.env,
            cwd=launch.cwd,
            stdout=self.stdout,
            stderr=self.stderr,
            timeout_s=30,
            grace_s=1,
            max_output_bytes=10**7,
        )

    @property
    def session(self) -> Path:
        """The agent's own session files."""
        return self.home / self.agent.sessions

    @property
    def script(self) -> dict:
        """The script that was staged."""
        return json.loads((self.staging / "script.json").read_bytes())


# --- the table ----------------------------------------------------------------


def test_an_agent_that_nobody_knows_is_refused_listing_those_that_can_run(root):
    with pytest.raises(InputError, match=r"claude, codex.*found 'scritped") as caught:
        agents.open_agent(tinyroot.Plan("tiny", agent="scritped"), root)
    assert caught.value.exit_code == 2


def test_the_seal_stamps_it_simulated_and_holds_program_and_policy(root):
    seal = _open(root).seal()
    program = REPOSITORY / "evalkit" / "inside" / "scripted.py"
    assert (seal.simulated, seal.version) == (True, "scripted-1")
    assert seal.sha256 == files.file_digest(program)
    (root / "reference" / "scripted.toml").write_text(POLICY + "# more\n")
    assert _open(root).seal().policy != seal.policy


def test_a_case_s_own_policy_is_part_of_the_seal(root):
    before = _open(root)
    own = root / "reference" / "greet" / "scripted.toml"
    own.write_text("[baseline]\noverlays = { wrong-shouts = 1.0 }\n")
    after = _open(root)
    assert after.seal().policy != before.seal().policy
    key = TrialKey("greet", "baseline", 1)
    assert (before.policy.overlay(key, 1), after.policy.overlay(key, 1)) == (
        "correct",
        "wrong-shouts",
    )


# --- the policy ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[full]", "[ful]", r"scripted\.toml \[ful\]: .*'ful'"),
        ("naive = 1.0", "nave = 1.0", r"\[full\] overlays, case greet: .*nave"),
        ("naive = 1.0", "naive = 0.9", r"\[full\] overlays.*found 0\.9"),
        ("naive = 1.0", "naive = 1.5, correct = -0.5", r"arm full: "),
        ("skill_chance = 1.0", "skil_chance = 1.0", r"arm full: .*skil_chance"),
        ("n_requests = [2, 4]", "n_requests = [1, 4]", r"n_requests.*\[1, 4\]"),
        ("latency_ms = [0, 2]", "latency_ms = [2, 0]", r"latency_ms.*\[2, 0\]"),
        ("latency_ms = [0, 2]", "", r"latency_ms"),
        ("[default.tokens]", "[[default.tokens]", r"TOML"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_place(root, old, new, said):
    (root / "reference" / "scripted.toml").write_text(POLICY.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        _open(root)


def test_an_arm_without_a_table_behaves_as_the_default(root):
    behaviours = _open(root).policy.behaviours["greet"]
    assert behaviours["routed"].overlays == {
        "correct": 0.5,
        "naive": 0.3,
        "wrong-shouts": 0.2,
    }
    assert behaviours["full"].n_requests == (2, 4)


def test_overlays_are_drawn_by_their_chances_and_the_same_again(root):
    policy = _open(root).policy
    keys = [TrialKey("greet", "routed", n) for n in range(1, 2001)]
    drawn = [policy.overlay(key, 1) for key in keys]
    assert drawn == [policy.overlay(key, 1) for key in keys]
    assert drawn != [policy.overlay(key, 2) for key in keys]
    shares = {name: n / len(keys) for name, n in Counter(drawn).items()}
    assert shares == pytest.approx(
        {"correct": 0.5, "naive": 0.3, "wrong-shouts": 0.2}, abs=0.05
    )


def test_the_shipped_policy_fits_the_shipped_corpora():
    plan = tinyroot.Plan("complex-tasks@1")
    opened = agents.open_agent(plan, REPOSITORY)
    assert opened.simulated


# --- the scripted agent, run --------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_scripted_is_delivered_and_read_back(root, tmp_path, level):
    started = Started(_open(root), tmp_path / "call", level)
    (started.skills / "greeting").mkdir(parents=True)
    (started.skills / "greeting" / "SKILL.md").write_text("# Greeting\n")
    finished = started.run(started.command())
    assert finished.exit_code == 0, started.stderr.read_text()
    reading = started.agent.read(started.stdout, started.session, finished)
    script = started.script
    told = [
        {name: getattr(request, name) for name in turn["usage"]}
        for request, turn in zip(reading.requests, script["turns"], strict=True)
    ]
    assert told == [turn["usage"] for turn in script["turns"]]
    assert {request.source for request in reading.requests} == {"session"}
    assert reading.disagreement is None
    assert reading.invoked == ("greeting",)
    call = reading.call
    assert (call.ended, call.model) == (Ended.FINISHED, "claude-opus-5-5")
    assert call.agent_reported_usd == pytest.approx(script["cost_usd"])
    naive = root / "reference" / "greet" / "naive"
    assert files.read_tree(started.workspace) == files.read_tree(naive)


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_of_other_overlays_is_within_reach(root, tmp_path, level):
    started = Started(_open(root), tmp_path / "call", level)
    command = started.command()
    staged = {entry.path: entry.data for entry in files.read_tree(started.staging)}
    assert sorted(staged) == ["files/greet.py", "script.json", "scripted"]
    naive = root / "reference" / "greet" / "naive" / "greet.py"
    assert staged["files/greet.py"] == naive.read_bytes()
    for overlay in (b"correct", b"naive", b"wrong-"):
        assert overlay not in staged["script.json"]
    if level == "none":
        return
    look = (
        "import os, sys\n"
        "print(sorted(p for p in sys.argv[1:] if os.path.exists(p)))\n"
        "print(sorted(os.listdir('/opt/agent')))"
    )
    outside = [str(root / name) for name in ("reference", "graders", "cases")]
    argv = (sys.executable, "-I", "-S", "-c", look, *outside)
    started.run(msgspec.structs.replace(command, argv=argv))
    seen = started.stdout.read_text().splitlines()
    assert seen == ["[]", "['files', 'script.json', 'scripted']"]


def test_the_same_seed_gives_the_same_bytes(root, tmp_path):
    folder = tmp_path / "call"
    texts = []
    for _ in range(2):
        files.remove_tree(folder)
        started = Started(_open(root), folder, "none")
        started.run(started.command())
        script = (started.staging / "script.json").read_bytes()
        kept = files.read_tree(started.session)
        texts.append((script, started.stdout.read_bytes(), kept))
    assert texts[0] == texts[1]


def test_the_stream_has_the_traps_of_the_real_one(root, tmp_path):
    """A copy of the start's usage on each block; only the session file is final."""
    started = Started(_open(root), tmp_path / "call", "none")
    finished = started.run(started.command())
    with started.stdout.open("rb") as opened:
        told = transcript.parse(opened)
    assert not any(call.final for call in told.calls)
    assert {call.tokens.output for call in told.calls if call.tokens} == {1}
    alone = started.agent.read(started.stdout, None, finished)
    assert [(r.source, r.n_requests) for r in alone.requests] == [("modelUsage", None)]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--verbose", None),
        ("--model", "another-model"),
        ("--output-format", "json"),
        ("--permission-mode", "bypassPermissions"),
        ("--setting-sources", "user,project"),
        ("--settings", "[]"),
        ("--allowedTools", "Read"),
        ("--unheard-of", None),
    ],
)
def test_the_program_refuses_arguments_that_the_adapter_must_not_give(
    root, tmp_path, flag, value
):
    started = Started(_open(root), tmp_path / "call", "none")
    command = started.command()
    argv = list(command.argv)
    if flag not in argv:
        argv.append(flag)
    elif value is None:
        argv.remove(flag)
    else:
        argv[argv.index(flag) + 1] = value
    finished = started.run(msgspec.structs.replace(command, argv=tuple(argv)))
    assert finished.exit_code == 2
    assert started.stderr.read_text().startswith("scripted: ")


@pytest.mark.parametrize("text", [None, "{", '{"model": 1}'])
def test_a_missing_or_broken_script_is_a_fault_of_ours(root, tmp_path, text):
    started = Started(_open(root), tmp_path / "call", "none")
    command = started.command()
    script = started.staging / "script.json"
    script.unlink()
    if text is not None:
        script.write_text(text)
    finished = started.run(command)
    assert (finished.exit_code, started.stdout.read_bytes()) == (2, b"")
    assert started.stderr.read_text().startswith("scripted: ")
    reading = started.agent.read(started.stdout, None, finished)
    assert reading.call.ended is Ended.SANDBOX_FAULT


def test_the_environment_is_built_from_nothing(root, tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "IS_SANDBOX", "CANARY"):
        monkeypatch.setenv(name, "leaked")
    started = Started(_open(root), tmp_path / "call", "none")
    env = started.command().env
    assert "leaked" not in env.values()
    assert env["HOME"] == started.place.home.seen
    assert env["CLAUDE_CONFIG_DIR"] == f"{started.place.home.seen}/.claude"
    assert (env["CLAUDE_CODE_MAX_RETRIES"], env["DISABLE_TELEMETRY"]) == ("0", "1")


# --- what a stream and an exit mean -------------------------------------------

ENDINGS = {
    "success": (0, Ended.FINISHED),
    "empty_reply": (0, Ended.FINISHED),
    "refusal": (1, Ended.REFUSED),
    "error_401": (1, Ended.LOGIN_FAILED),
    "no_key": (1, Ended.LOGIN_FAILED),
    "error_529_no_retries": (1, Ended.PROVIDER_FAULT),
    "connection_refused": (1, Ended.PROVIDER_FAULT),
    "sse_truncated_no_fallback": (1, Ended.PROVIDER_FAULT),
    "error_404_model": (1, Ended.MODEL_MISSING),
    "error_400": (1, Ended.AGENT_ERROR),
    "error_prompt_too_long": (1, Ended.AGENT_ERROR),
    "max_turns": (1, Ended.AGENT_LIMIT),
    "max_budget": (1, Ended.AGENT_LIMIT),
    "max_tokens": (1, Ended.AGENT_LIMIT),
    "killed_in_tool_sigterm": (143, Ended.INTERRUPTED),
    "killed_sigterm": (-9, Ended.INTERRUPTED),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_real_stream_and_its_exit_code_say_how_the_call_ended(name):
    code, wanted = ENDINGS[name]
    finished = msgspec.structs.replace(ENDED_WELL, exit_code=code)
    reading = claude.read(DATA / f"{name}.stream.jsonl", None, finished)
    assert reading.call.ended is wanted
    assert bool(reading.call.detail) == (wanted is not Ended.FINISHED)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"timed_out": True, "exit_code": None}, Ended.TIMED_OUT),
        ({"exit_code": 1}, Ended.AGENT_ERROR),
    ],
)
def test_a_result_that_says_success_does_not_outweigh_the_exit(changes, wanted):
    finished = msgspec.structs.replace(ENDED_WELL, **changes)
    reading = claude.read(DATA / "success.stream.jsonl", None, finished)
    assert reading.call.ended is wanted


def test_a_real_stream_with_its_session_file_is_settled_per_request(tmp_path):
    kept = (DATA / "success.session.jsonl").read_bytes()
    (tmp_path / "-workspace").mkdir()
    (tmp_path / "-workspace" / "1277c918.jsonl").write_bytes(kept)
    reading = claude.read(DATA / "success.stream.jsonl", tmp_path, ENDED_WELL)
    assert [request.output for request in reading.requests] == [61, 48, 22]
    assert reading.disagreement is None
    assert reading.call.agent_reported_usd == 0.055074


def test_what_other_reporters_say_of_cut_attempts_is_a_disagreement():
    stream = DATA / "sse_truncated_no_fallback.stream.jsonl"
    reading = claude.read(stream, None, ENDED_WELL)
    assert [request.source for request in reading.requests] == ["modelUsage"]
    assert reading.disagreement == (
        "input: 24 by modelUsage, 12 by usage; "
        "write_5m: 18,000 by modelUsage, 9,000 by usage; "
        "output: 54 by modelUsage, 1 by usage"
    )


@pytest.mark.parametrize(
    "changes", [{}, {"access": Access.DIRECT, "allow_credentialed_tools": True}]
)
def test_caps_that_nobody_would_hold_are_refused(root, changes):
    other = {"agent": "claude", "executable": "/usr/bin/true"} if changes else {}
    plan = tinyroot.plan(
        limits=Limits(max_requests=3),
        provider_url="http://127.0.0.1:9",
        **other,
        **changes,
    )
    with pytest.raises(InputError, match="the gateway stands between"):
        agents.open_agent(plan, root)


def test_a_real_provider_and_a_bare_credential_need_a_word(root):
    chosen = {"agent": "claude", "executable": "/usr/bin/true"}
    with pytest.raises(InputError, match="--allow-real-provider"):
        agents.open_agent(tinyroot.plan(**chosen), root)
    with pytest.raises(InputError, match="--allow-credentialed-tools"):
        agents.open_agent(
            tinyroot.plan(
                **chosen, access=Access.DIRECT, provider_url="http://[::1]:9"
            ),
            root,
        )


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1", "http://[::1", "http://me:pw@127.0.0.1", "http://127.0.0.1:99999",
     "http://127.0.0.1:9/?key=x", "127.0.0.1:9"],
)  # fmt: skip
def test_an_address_that_nobody_could_ask_or_that_holds_a_secret_is_refused(root, url):
    chosen = {"agent": "claude", "executable": "/usr/bin/true"}
    with pytest.raises(InputError, match="provider") as caught:
        agents.open_agent(tinyroot.plan(**chosen, provider_url=url), root)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"budget": Budget(max_usd=1.0), "accounting": "list", "model": "mystery-1"}, "run"),
        ({"budget": Budget(max_usd=float("inf"))}, "run"),
        ({"limits": Limits(max_usd=1.0), "accounting": "list", "model": "mystery-1"}, "trial"),
    ],
)  # fmt: skip
def test_a_cap_in_dollars_that_nobody_could_count_is_refused(root, changes, what):
    chosen = {"agent": "claude", "executable": "/usr/bin/true", **changes}
    with pytest.raises(InputError, match=f"cap of a {what} in dollars"):
        agents.open_agent(
            tinyroot.plan(**chosen, provider_url="http://127.0.0.1:9"), root
        )
