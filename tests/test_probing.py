"""probing: probes asked of the real Claude Code, against a provider on this machine."""

import json
import shutil
from pathlib import Path

import pytest
import realroot
from typer.testing import CliRunner

from evalkit import cli, probing, tables
from evalkit import plan as planning
from evalkit.loading import load

pytestmark = [pytest.mark.needs_claude, pytest.mark.xdist_group("real-claude")]
PROBES = """
[[probe]]
id = "named"
query = "use the greeting skill for this"
expected = ["greeting"]
category = "direct"

[[probe]]
id = "wanted"
query = "how shall we greet our guests"
expected = ["greeting"]
category = "paraphrase"

[[probe]]
id = "unwanted"
query = "greet the compiler with a new flag"
expected = []
category = "none"

[[probe]]
id = "mistaken"
query = "which skills greet whom"
expected = ["guide"]
category = "paraphrase"
"""
PLAN = """
corpus = "tiny"
arms = ["routed"]
repeats = 1
agent = "claude"
provider_url = "{url}"
isolation = "bwrap"
min_rank_score = 0.01
"""


def _chooses(word, skill):
    answer = {"text": json.dumps({"skill": skill}), "usage": realroot.USED, "times": 9}
    tool = {"name": "StructuredOutput", "input": {"skill": skill}}
    turns = [{"text": "", "tools": [tool], "usage": realroot.USED}, answer]
    return {"match": [realroot.CHOOSES, word], "turns": turns}


@pytest.fixture(scope="module")
def asked(proven_root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("probing")
    root = Path(shutil.copytree(proven_root, folder / "root"))
    (root / "cases/_skills/probes.toml").write_text(PROBES)
    told = [
        _chooses("guests", "greeting"),
        _chooses("compiler", None),
        _chooses("whom", "greeting"),
    ]
    with realroot.provider(folder / "stub", *told) as stub:
        (folder / "plan.toml").write_text(PLAN.format(url=stub.url))
        words = ["route", "--probes", "--ask", str(folder / "plan.toml"), "--json"]
        done = CliRunner().invoke(cli.app, [*words, "--root", str(root)])
        assert done.exit_code == 0, done.output
        yield json.loads(done.stdout), root, stub


def test_each_probe_is_admitted_or_asked_once(asked):
    document, _, stub = asked
    assert {
        name: (one["picked"], one["how"]) for name, one in document["answers"].items()
    } == {
        "named": ("greeting", "explicit"),
        "wanted": ("greeting", "model"),
        "unwanted": (None, "none"),
        "mistaken": ("greeting", "model"),
    }
    assert document["n_calls"] == 3
    assert len({line["session"] for line in stub.lines("asked")}) == 3
    assert document["agent"]["simulated"] is True


def test_accuracy_is_told_by_category(asked):
    document, _, _ = asked
    scores = {one["category"]: one for one in document["scores"]["categories"]}
    assert {name: (one["right"]["k"], one["n"]) for name, one in scores.items()} == {
        "direct": (1, 1),
        "paraphrase": (1, 2),
        "none": (1, 1),
        "all": (3, 4),
    }
    assert document["scores"]["wrong"] == ["mistaken"]


def test_what_was_asked_and_answered_is_kept(asked):
    document, root, _ = asked
    (folder,) = (root / "runs").glob("probes-*")
    assert json.loads((folder / "probes.json").read_text()) == document
    kept = {path.parent.parent.name for path in folder.rglob("select.requests.jsonl")}
    assert kept == {"wanted", "unwanted", "mistaken"}


def test_a_run_with_that_library_agent_and_model_has_them_in_its_report(asked):
    document, root, _ = asked
    plan = planning.load_plan(root.parent / "plan.toml")
    now = "2026-11-30T05:00:00.000+00:00"
    run = planning.seal_plan(plan, root, now=lambda: now)
    analysis = load(run).analysis
    (found,) = analysis.probed
    assert (found.asked, found.simulated, found.n_calls) == (True, True, 3)
    assert (found.exact.k, found.exact.n, found.choices.wrong) == (3, 4, 1)
    assert f"SIMULATED: {document['plan']['model']}" in tables.probes(analysis).text
    assert probing.open_asked(load(run).registration, root).agent.selects
