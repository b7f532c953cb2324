"""skills and arms: what a library holds, and what an arm gives of it."""

import re
import subprocess
import sys

import pytest
from conftest import REPOSITORY

from evalkit import arms, choices, corpus, files, routing, skills
from evalkit.errors import InputError
from evalkit.records import Arm, Home, Step, Wording

BUILT_IN = REPOSITORY / "cases" / "_skills"
CANONICAL = [
    "api-design",
    "backend-patterns",
    "continuous-learning",
    "error-handling",
    "orch-fix-defect",
    "python-keccak256",
    "security-review",
    "tdd-workflow",
]
LEAN = ["configure-ecc", "context-budget", "ecc-guide"]


@pytest.fixture(scope="module")
def library():
    return skills.load_library(BUILT_IN, name="built-in")


def _step(*names):
    return Step(1, "task", "Do the task.", names)


def _arm(home, prompt):
    return Arm("an-arm", home, prompt, "current")


def test_the_built_in_library_holds_the_canonical_and_the_lean_skills(library):
    assert {skill.name for skill in library.skills} > {*CANONICAL, *LEAN}
    for skill in library.skills:
        assert 1_500 <= len(skill.body.encode()) <= 22_000, skill.name
        skills.check_injectable(skill, "library")


def test_two_large_skills_together_pass_the_cap_on_injected_bodies(library):
    arm = _arm(Home.LEAN, Wording.CANONICAL)
    with pytest.raises(InputError, match="32,000 bytes"):
        arms.deliver(arm, _step("tdd-workflow", "backend-patterns"), library, lean=LEAN)
    alone = arms.deliver(arm, _step("tdd-workflow"), library, lean=LEAN)
    assert alone.injected == ("tdd-workflow",)
    assert 20_000 < alone.n_injected_bytes < 32_000


def test_a_catalogue_names_every_skill_at_home_and_no_body(library):
    given = arms.deliver(_arm(Home.ALL, Wording.CATALOGUE), _step(), library, lean=LEAN)
    assert given.n_injected_bytes == 0
    assert all(f"- {s.name}: {s.description}" in given.prompt for s in library.skills)
    assert not any(skill.body.strip() in given.prompt for skill in library.skills)
    assert len(given.files) == len(library.skills)


def test_the_lean_home_holds_three_skills_and_a_bare_one_none(library):
    lean = arms.deliver(_arm(Home.LEAN, Wording.BARE), _step(), library, lean=LEAN)
    assert sorted(lean.offered) == LEAN
    bare = arms.deliver(Arm("b", Home.NONE, Wording.BARE), _step(), None, lean=LEAN)
    assert (bare.files, bare.prompt, bare.offered) == ({}, "Do the task.", ())


def test_a_canonical_skill_the_library_lacks_is_named(library):
    with pytest.raises(InputError, match="'nonsense'"):
        arms.deliver(
            _arm(Home.LEAN, Wording.CANONICAL), _step("nonsense"), library, lean=LEAN
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no front matter", "front matter"),
        ("---\nname: [\n---\nx", "front matter"),
        ("---\nname: x\n---\nbody", "description"),
        ("---\nname: ../x\ndescription: d\n---\nbody", "a plain name"),
    ],
)
def test_a_bad_skill_is_refused_with_its_file(root, text, said):
    (root / "cases/_skills/guide/SKILL.md").write_text(text)
    with pytest.raises(InputError, match=r"guide.SKILL\.md") as caught:
        skills.load_library(root / "cases/_skills", name="x")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: guide\ndescription: d\n---\nRun !`date` now.",
        "---\nname: guide\ndescription: d\n---\n```!\ndate\n```",
        "---\nname: guide\ndescription: d\nallowed-tools: Bash\n---\nx",
    ],
)
def test_a_skill_that_runs_or_declares_tools_is_not_injected(root, text):
    (root / "cases/_skills/guide/SKILL.md").write_text(text)
    loaded = skills.load_library(root / "cases/_skills", name="x")
    guide = next(skill for skill in loaded.skills if skill.name == "guide")
    with pytest.raises(InputError, match="plain text to inject"):
        skills.check_injectable(guide, "here")


@pytest.mark.needs_history
def test_the_legacy_library_is_exported_from_git_objects(library):
    legacy = skills.load_legacy(REPOSITORY, arm="ecc-legacy")
    early = {skill.name: skill for skill in legacy.skills}
    now = {skill.name: skill for skill in library.skills}
    assert set(early) == {*CANONICAL, *LEAN}
    same = {name for name in early if now[name].digest == early[name].digest}
    assert same == {"api-design", "context-budget"}


def test_without_history_the_legacy_arm_is_refused_by_name(root):
    (root / "cases/_skills/legacy-source.toml").write_bytes(
        (BUILT_IN / "legacy-source.toml").read_bytes()
    )
    with pytest.raises(InputError, match=r"arm ecc-legacy.*--arms"):
        skills.load_legacy(root, arm="ecc-legacy")


def test_a_library_can_be_a_commit_of_another_repository(tmp_path, root):
    folder = tmp_path / "repository" / "skills"
    for entry in files.read_tree(root / "cases/_skills"):
        files.write_entries((entry,), folder)

    def git(*words):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x", *words]
        subprocess.run(command, cwd=folder.parent, check=True, capture_output=True)

    git("init", "-q", "-b", "trunk")
    git("add", ".")
    git("commit", "-qm", "one")
    (folder / "guide" / "SKILL.md").unlink()
    library = skills.open_library(root, f"{folder}@trunk", name="mine")
    assert [skill.name for skill in library.skills] == ["greeting", "guide"]
    with pytest.raises(InputError, match="nowhere"):
        skills.open_library(root, f"{folder}@nowhere", name="mine")
    victim = tmp_path / "victim"
    victim.write_text("kept")
    with pytest.raises(InputError, match="git object"):
        skills.open_library(root, f"{folder}@--output={victim}", name="mine")
    assert victim.read_text() == "kept"


def test_every_trigger_belongs_to_a_skill_of_the_library(library):
    triggers = routing.triggers_of(library)
    assert set(triggers) == {skill.name for skill in library.skills}


def test_no_skill_shares_its_sentences_with_another(library):
    grams = {}
    for skill in library.skills:
        words = re.findall(r"\w+", skill.body.lower())
        grams[skill.name] = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
    for one, mine in grams.items():
        for other, theirs in grams.items():
            if one < other:
                shared = len(mine & theirs) / min(len(mine), len(theirs))
                assert shared <= 0.3, (one, other, shared)


FENCES = [
    pytest.param(code, id=f"{path.parent.name}-{n}")
    for path in sorted(BUILT_IN.glob("*/SKILL.md"))
    for n, code in enumerate(
        re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    )
]


@pytest.mark.parametrize("code", FENCES)
def test_every_worked_example_runs(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_unknown_arms_and_arm_keys_are_refused(root):
    path = root / "cases/arms.toml"
    path.write_text(path.read_text() + '\n[odd]\nhome = "all"\nprompt = "loud"\n')
    with pytest.raises(InputError, match=r"\[odd\].*loud"):
        choices.load_arms(root)


def test_no_case_visible_to_an_agent_names_a_skill():
    for name in corpus.case_ids(REPOSITORY, [], None):
        folder = REPOSITORY / "cases" / name
        prompts = [*folder.glob("prompt.md"), *folder.glob("steps/*.md")]
        assert prompts
        for path in (*prompts, *folder.glob("fixture/**/*.md")):
            for skill in CANONICAL + LEAN:
                assert skill not in path.read_text(), (path, skill)
