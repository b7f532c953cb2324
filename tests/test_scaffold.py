"""A new case works at once; one that cannot be made leaves no trace."""

import json
import re
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tinyroot
from conftest import REPOSITORY

from evalkit import ambiguity, corpus, files, plan, proof, reference, sandbox, strength
from evalkit.cli import app
from evalkit.errors import InputError
from evalkit.records import Kind, Plan
from evalkit.run import utc_now
from evalkit.scaffold import TEMPLATES, lock, new_case

pytestmark = pytest.mark.xdist_group("scaffold")
FORMS = {
    "late-fee": {"kind": Kind.DEBUGGING},
    "house-rule": {"kind": Kind.KNOWLEDGE, "into": "rules@1"},
    "tickets": {"chain": ("sport", "2nd-page")},
}
"""A case of each form."""
TELLING = re.compile(
    r"\b(eval\w*|grad(e|es|ed|er|ers|ing)|skills?|overlays?|benchmarks?|trials?"
    r"|mutants?|naive|hidden|injected|injection|placebo|baseline)\b|@[A-Z]+@",
    re.IGNORECASE,
)
"""Words that tell an agent that it is watched, and marks that were left."""


def box():
    level = tinyroot.isolation()
    return sandbox.open_box(level, allow_unsandboxed=level == "none")


def cli(*words):
    return subprocess.run(
        [sys.executable, "-m", "evalkit.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def tree(folder):
    """Every path below a folder, with what is in the file."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        if path.is_file()
        else b""
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A root made from nothing, with a case of each form, all of them proven."""
    root = tmp_path_factory.mktemp("scaffold") / "own"
    for name, chosen in FORMS.items():
        new_case(root, name, **chosen)
    proof.verify(root, list(FORMS), box=box(), n_workers=4, seed=1)
    return root


@pytest.mark.parametrize("name", FORMS)
def test_a_new_case_proves_at_once(made, name):
    case = corpus.load_case(made, name)
    rows = reference.load_proof(made, case).rows
    assert {row.got.score <= 0.3 for row in rows if row.overlay == "fixture"} == {True}
    wrong = [row for row in rows if row.overlay.startswith("wrong-")]
    assert len({row.overlay for row in wrong}) == 3
    assert {len(row.got.failing) for row in wrong} == {1}
    right = {row.overlay for row in rows if reference.is_right(row.overlay)}
    assert right == {"correct", "correct-other"}
    for step in case.steps:
        failing = {c for row in rows if row.step == step.slug for c in row.got.failing}
        assert failing <= set(step.complaints)


@pytest.mark.parametrize("name", FORMS)
def test_its_grader_notices_every_small_fault(made, name):
    (found,) = strength.measure(made, [name], box=box(), n_workers=4, seed=1)
    assert found.holds
    assert found.n_killed == found.n_mutants >= 4


def test_the_audit_finds_nothing_wrong_with_a_case_about_knowledge(made):
    found = ambiguity.audit_corpus(made, "rules@1", box=box(), n_workers=4, seed=1)
    assert not found.flagged, found.cases


@pytest.mark.parametrize(
    ("name", "into", "n_arms"),
    [
        ("late-fee", "late-fee", 1),
        ("house-rule", "rules@1", 3),
        ("tickets", "tickets", 1),
    ],
)
def test_its_corpus_can_be_planned(made, name, into, n_arms):
    level = tinyroot.isolation()
    wanted = Plan(into, isolation=level, allow_unsandboxed=level == "none")
    outline = plan.draft(wanted, made, now=utc_now).outline
    assert outline.cases == (name,)
    assert len(outline.arms) == n_arms


@pytest.mark.parametrize("name", FORMS)
def test_what_an_agent_sees_of_it_tells_of_no_evaluation(made, name):
    case = corpus.load_case(made, name)
    fixture = files.read_tree(made / "cases" / name / "fixture")
    seen = [(entry.path, entry.data.decode()) for entry in fixture]
    seen += [(step.slug, step.prompt) for step in case.steps]
    for where, text in seen:
        assert not TELLING.search(f"{where}\n{text}"), (where, TELLING.search(text))
    rest = b"".join(
        data
        for folder in ("cases", "graders", "reference")
        for data in tree(made / folder / name).values()
    )
    assert not re.search(rb"@[A-Z]+@", rest), "a mark was left"


@pytest.mark.parametrize("name", FORMS)
def test_its_tests_pass_as_shipped(made, name):
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."],
        cwd=made / "cases" / name / "fixture",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr


def test_its_grader_keeps_the_house_rules(made):
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [
                Path(sys.executable).parent / "ruff",
                *words,
                f"--config={REPOSITORY / 'pyproject.toml'}",
                made / "graders",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_the_templates_are_shipped(tmp_path):
    command = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run([sys.executable, *command], cwd=REPOSITORY, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    shipped = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"evalkit/data/case/{entry.path}" for entry in files.read_tree(TEMPLATES)}
    assert wanted <= shipped


# --- roots ------------------------------------------------------------------


@pytest.mark.parametrize("there", [[], [".git"], None])
def test_an_empty_folder_becomes_a_root(tmp_path, there):
    root = tmp_path / "own"
    if there is not None:
        root.mkdir()
        for name in there:
            (root / name).mkdir()
    found = new_case(root, "first")
    assert {"cases", "graders", "reference", "runs"} <= {p.name for p in root.iterdir()}
    assert "cases/arms.toml" in found.made
    assert corpus.load_corpus(root, "first").preset.arms == ("baseline",)
    again = new_case(root, "second", into="first")
    assert "cases/arms.toml" not in again.made
    assert [c.id for c in corpus.load_corpus(root, "first").cases] == [
        "first",
        "second",
    ]
    assert not list(root.glob(".new-*"))


def test_a_new_corpus_has_the_arms_of_the_root_that_fit(root):
    new_case(root, "more")
    assert corpus.load_corpora(root)["more"].arms == (
        "full",
        "routed",
        "canonical",
        "baseline",
    )


def test_the_command_tells_what_it_made_and_what_comes_next(tmp_path):
    done = cli("new-case", "rule", "--kind", "knowledge", "--root", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert all((tmp_path / path).exists() for path in told["made"])
    at = f" --root {tmp_path}"
    assert told["commands"] == [
        f"evalkit verify rule{at}",
        f"evalkit verify rule --mutants{at}",
        f"evalkit audit rule{at}",
        f"evalkit plan --design gate --corpus rule{at}",
        f"evalkit preflight rule{at}",
        f"evalkit plan --corpus rule{at}",
    ]
    commands = {command.callback.__name__ for command in app.registered_commands}
    assert {command.split()[1] for command in told["commands"]} <= commands


# --- corpora.toml -----------------------------------------------------------

REST = 'arms = ["full", "baseline"]  # two\nrepeats = 2\n'
MORE = '\n[other] # last\ncases = ["greet"]\narms = ["full"]\nrepeats = 1\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["greet"] # one', '["greet", "more"] # one'),
        ("['greet']", "['greet', \"more\"]"),
        ('["greet",]', '["greet", "more",]'),
        ('[ # all\n  "greet"\n]', '[ # all\n  "greet",\n  "more"\n]'),
        ('[\n\t"greet", # a, b\n]', '[\n\t"greet", # a, b\n\t"more",\n]'),
        ('[\n "greet" # "greet"\n ]', '[\n "greet", # "greet"\n "more"\n ]'),
        ('[\n "greet"]', '[\n "greet", "more"]'),
        ('["greet",\n]', '["greet", "more",\n]'),
    ],
)
def test_a_line_more_in_corpora_leaves_the_rest_as_it_was(root, before, after):
    path = root / "cases/corpora.toml"
    head = '# "greet" is tried first\n[other-one]\ncases = ["greet"]\n' + REST
    text = f"{head}\n[tiny]\ncases = {{}}\n{REST}{MORE}"
    path.write_text(text.replace("{}", before))
    new_case(root, "more", into="tiny")
    assert path.read_text() == text.replace("{}", after)


def test_the_last_case_is_found_in_a_large_file_that_names_it_everywhere(root):
    path = root / "cases/corpora.toml"
    more = "".join(
        f'["of-{n}"] # "greet"\ncases = ["greet"]\n{REST}' for n in range(1500)
    )
    text = f'{more}["greet"]\ncases = {{}}\n{REST}{more.replace("of-", "also-")}'
    path.write_text(text.replace("{}", '["greet"]'))
    before = time.process_time()
    new_case(root, "more", into="greet")
    assert time.process_time() - before < 10
    assert path.read_text() == text.replace("{}", '["greet", "more"]')


@pytest.mark.parametrize("end", ["\n", "", "\n\n# the end\n", "\r\n"])
def test_a_new_table_comes_after_all_that_is_there(root, end):
    path = root / "cases/corpora.toml"
    old = path.read_bytes().rstrip() + end.encode()
    path.write_bytes(old)
    new_case(root, "more", into="mine@2")
    assert path.read_bytes().startswith(old)
    assert b'\n\n["mine@2"]\n' in path.read_bytes().replace(b"\r", b"")
    assert corpus.load_corpora(root)["mine@2"].cases == ("more",)
    assert corpus.load_corpora(root)["tiny"].cases == ("greet",)


# --- others at the same time ---------------------------------------------------


def test_no_case_is_lost_where_several_are_made_at_once(tmp_path):
    root = tmp_path / "own"
    names = [f"case-{n}" for n in range(6)]
    with ThreadPoolExecutor(len(names)) as pool:
        ended = pool.map(
            lambda name: cli("new-case", name, "--corpus", "all", "--root", root), names
        )
        assert [done.returncode for done in ended] == [0] * len(names)
    assert set(corpus.load_corpora(root)["all"].cases) == set(names)
    assert {path.name for path in root.iterdir()} == {
        "cases",
        "graders",
        "reference",
        "runs",
    }


HOLDER = """import sys
import filelock
with filelock.SoftFileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(root):
    """Another process that makes a case in the root, and comes to no end."""
    command = [sys.executable, "-c", HOLDER, root / lock.LOCK]
    process = subprocess.Popen(command, stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.usefixtures("holder")
def test_whoever_waits_too_long_for_another_is_told_so(root, monkeypatch):
    monkeypatch.setattr(lock, "WAIT_S", 0.2)
    before = tree(root)
    with pytest.raises(InputError, match=r"held for 0\.2 s; wait for that process"):
        new_case(root, "late")
    assert tree(root) == before


def test_a_killed_process_keeps_nobody_waiting(root, holder):
    holder.kill()
    holder.wait()
    new_case(root, "late")
    assert not (root / lock.LOCK).exists()


# --- what is refused --------------------------------------------------------


def _corpora(change):
    def spoil(root):
        path = root / "cases/corpora.toml"
        path.write_text(change(path.read_text()))

    return spoil


def _made(path):
    return lambda root: (root / path).mkdir()


def _as_link(folder):
    def spoil(root):
        files.remove_tree(root / folder)
        (root / folder).symlink_to("/proc")

    return spoil


KNOWING = '[told]\ncases = ["greet"]\narms = ["injected"]\nrepeats = 1\n'
TELLING_ARM = '\n[injected]\nhome = "none"\nprompt = "injection"\n'


def _told(root):
    _corpora(lambda text: text + KNOWING)(root)
    with (root / "cases/arms.toml").open("a") as opened:
        opened.write(TELLING_ARM)


REFUSED = {
    "bad name": (None, {"name": "Late_Fee"}, "joined by hyphens"),
    "name that climbs": (None, {"name": "../late"}, "joined by hyphens"),
    "no name": (None, {"name": ""}, "joined by hyphens"),
    "case there": (None, {"name": "greet"}, "cases/greet"),
    "grader there": (_made("graders/late"), {}, "graders/late"),
    "reference there": (_made("reference/late"), {}, "reference/late"),
    "link to nothing": (
        lambda root: (root / "graders/late").symlink_to("nowhere"),
        {},
        "nothing of this name",
    ),
    "case listed": (
        _corpora(lambda text: text.replace('["greet"]', '["greet", "late"]')),
        {},
        "[tiny] cases",
    ),
    "released corpus": (
        _corpora(lambda text: f'{text}digest = "0"\n'),
        {"into": "tiny"},
        "released",
    ),
    "bad corpus": (None, {"into": "No Corpus"}, "@N"),
    "corpora no TOML": (_corpora(lambda _: "= ="), {}, "corpora.toml"),
    "corpora no UTF-8": (
        lambda root: (root / "cases/corpora.toml").write_bytes(b"# \xff\n"),
        {},
        "TOML in UTF-8",
    ),
    "corpora a folder": (
        lambda root: (
            (root / "cases/corpora.toml").unlink(),
            (root / "cases/corpora.toml").mkdir(),
        ),
        {},
        "a regular file",
    ),
    "corpus in escapes": (
        _corpora(lambda text: text.replace('"greet"', '"gr\\u0065et"')),
        {"into": "tiny"},
        "in another form",
    ),
    "knowledge among others": (
        None,
        {"kind": Kind.KNOWLEDGE, "into": "tiny"},
        "arms that tell",
    ),
    "another among knowledge": (_told, {"into": "told"}, "arms that do not tell"),
    "knowledge that no arm tells": (None, {"kind": Kind.KNOWLEDGE}, "an injection"),
    "chain without steps": (None, {"kind": Kind.CHAIN}, "--chain"),
    "chain of one": (None, {"chain": ["one"]}, "2 to 8"),
    "chain of nine": (None, {"chain": [f"s{n}" for n in range(9)]}, "2 to 8"),
    "step twice": (None, {"chain": ["one", "one"]}, "named once"),
    "bad step": (None, {"chain": ["one", "Two"]}, "'Two'"),
    "steps about knowledge": (
        None,
        {"chain": ["one", "two"], "kind": Kind.KNOWLEDGE},
        "no steps",
    ),
    "grader cannot be put there": (_as_link("graders"), {}, "can be written"),
    "reference cannot be put there": (_as_link("reference"), {}, "can be written"),
    "no cases": (lambda root: files.remove_tree(root / "cases"), {}, "cases/"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_made_leaves_no_trace(root, why):
    spoil, chosen, said = REFUSED[why]
    if spoil:
        spoil(root)
    before = tree(root)
    with pytest.raises(InputError) as caught:
        new_case(root, **{"name": "late", **chosen})
    assert said in str(caught.value)
    assert caught.value.cure
    assert tree(root) == before


def test_a_root_that_was_begun_is_taken_back(tmp_path):
    with pytest.raises(InputError, match="@N"):
        new_case(tmp_path / "own", "late", into="No Corpus")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["a-file", "a-file/below", "no/such/folder"])
def test_a_root_that_cannot_be_is_refused(tmp_path, place):
    (tmp_path / "a-file").write_text("here before")
    with pytest.raises(InputError):
        new_case(tmp_path / place, "late")
    assert tree(tmp_path) == {"a-file": b"here before"}


def test_an_unknown_kind_is_bad_input(tmp_path):
    done = cli("new-case", "late", "--kind", "quiz", "--root", tmp_path)
    assert done.returncode == 2
    assert "'quiz'" in done.stderr
    assert list(tmp_path.iterdir()) == []
