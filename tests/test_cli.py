"""cli: the contract that others script against."""

import json
import subprocess
import sys

import pytest
import tinyroot

from evalkit.cli import app
from evalkit.parameters import PlanParameters
from evalkit.records import Plan

COMMANDS = [
    "verify",
    "grade",
    "plan",
    "run",
    "status",
    "report",
    "export",
    "replicate",
    "compare",
    "route",
    "doctor",
    "regrade",
    "replay",
    "audit",
    "gate",
    "preflight",
    "new-case",
    "calibrate",
    "export",
    "replicate",
    "compare",
    "show",
    "corpus",
]


def _evalkit(*words, root=None, isolated=True):
    level = tinyroot.isolation()
    extra = ["--root", str(root)] if root else []
    if not isolated and level == "none":
        extra += ["--isolation", "none", "--allow-unsandboxed"]
    return subprocess.run(
        [sys.executable, "-m", "evalkit.cli", *map(str, words), *extra],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)])
def test_help_says_what_a_command_is_for(command):
    done = _evalkit(*command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_verify_prints_a_row_per_overlay_and_proves(root):
    done = _evalkit("verify", "greet", root=root, isolated=False)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 as expected" in done.stdout
    assert list((root / "runs/proofs").glob("greet-*.json"))


def test_verify_ends_with_1_where_an_overlay_gets_something_else(root):
    path = root / "reference/greet/expected.toml"
    path.write_text(path.read_text().replace('"1/4"', '"2/4"'))
    done = _evalkit("verify", "greet", root=root, isolated=False)
    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_grade_takes_any_folder(root):
    folder = root / "reference/greet/naive"
    done = _evalkit("grade", "greet", folder, "--json", root=root, isolated=False)
    assert done.returncode == 1, done.stderr
    checks = json.loads(done.stdout)["checks"]
    assert [check["passed"] for check in checks] == [True, False, False]


def test_plan_run_status_speak_json(own_root):
    planned = _evalkit(
        "plan", "--corpus", "tiny", "--seal", "--json", root=own_root, isolated=False
    )
    assert planned.returncode == 0, planned.stderr
    document = json.loads(planned.stdout)
    assert document["outline"]["n_trials"] == 6
    ran = _evalkit("run", document["sealed"], "--json", root=own_root)
    assert ran.returncode == 0, ran.stderr
    status = _evalkit("status", document["sealed"], "--json", root=own_root)
    assert json.loads(status.stdout) == json.loads(ran.stdout)
    assert json.loads(ran.stdout)["state"] == "complete"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "nothing"], 2, "folder of a sealed run"),
        (["plan", "--corpus", "nothing"], 2, "nothing"),
        (["verify", "nobody"], 2, "nobody"),
        (["verify", "--root", "/nonexistent"], 2, "--root"),
        (["grade", "greet", "/nonexistent"], 2, "existing folder"),
        (["grade", "greet", ".", "--step", "2"], 2, "step from 1 to 1"),
        (["plan", "--corpus", "tiny", "--isolation", "none"], 2, "allow-unsandboxed"),
        (["plan", "--corpus", "tiny", "--arms", "x"], 2, "arms named x"),
    ],
)
def test_bad_input_ends_with_2_and_one_clear_line(own_root, words, code, said):
    done = _evalkit(*words, root=None if "--root" in words else own_root)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_drift_ends_with_3(own_root):
    planned = _evalkit(
        "plan", "--corpus", "tiny", "--seal", "--json", root=own_root, isolated=False
    )
    guide = own_root / "cases/_skills/guide/SKILL.md"
    guide.write_text(guide.read_text() + "changed\n")
    done = _evalkit("run", json.loads(planned.stdout)["sealed"], root=own_root)
    assert done.returncode == 3
    assert "skill_digests.guide" in done.stderr


def test_the_flags_of_plan_are_those_of_its_notebook_and_have_the_same_defaults():
    command = next(c for c in app.registered_commands if c.callback.__name__ == "plan")
    code, defaults = command.callback.__code__, command.callback.__defaults__
    flags = dict(zip(code.co_varnames, defaults, strict=False))
    parameters = PlanParameters()
    names = PlanParameters.__struct_fields__
    assert {name: flags[name] for name in names} == {
        name: getattr(parameters, name) for name in names
    }
    assert flags.keys() - set(names) == {"file", "root", "as_json"}


def test_parameters_left_alone_are_the_plan_left_alone():
    assert PlanParameters().plan == Plan("complex-tasks@1")


def test_route_ranks_without_a_model(root):
    done = _evalkit("route", "--query", "say hello", "--json", root=root)
    assert json.loads(done.stdout)["picked"] == "greeting"


def test_probes_of_a_sealed_run_are_those_of_its_own_library(root):
    asked = ("route", "--probes", "--for", "RUN", "--library", "mine")
    done = _evalkit(*asked, root=root)
    assert done.returncode == 2
    assert "leave --library out" in done.stderr


def test_doctor_names_every_thing_it_looked_at(root):
    found = json.loads(_evalkit("doctor", "--json", root=root).stdout)
    assert {"Python", "sandbox"} <= {finding["what"] for finding in found}


@pytest.mark.parametrize(
    "words", ["grade greet reference/greet/correct", "verify greet"]
)
def test_closed_streams_are_no_fault(own_root, words):
    command = f"{sys.executable} -m evalkit.cli {words} --json --root ."
    done = subprocess.run(
        ["sh", "-c", f"{command} <&- 2>&-"],
        cwd=own_root,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)
