"""How many small faults a grader notices, and the tables kept of it."""

from __future__ import annotations

import json
from pathlib import Path

import chainroot
import pytest
import tinyroot

from evalkit import cli, corpus, files, sandbox, strength
from evalkit.errors import InputError

REPOSITORY = Path(__file__).parent.parent
CASES = sorted(path.name for path in (REPOSITORY / "graders").iterdir())
SOURCE = """def greet(name):
    unused = 1
    if not name:
        raise ValueError
    return f'hello {name}'
"""
SURVIVES = "greet.py:2: `1` becomes `2`"
DECLARED = f"""
files = ["greet.py"]

[[equivalent]]
mutant = "{SURVIVES}"
reason = "nobody reads it"

[[equivalent]]
mutant = "greet.py:4: `raise ValueError` becomes `pass`"
reason = "nobody greets the nameless"
"""
SAMPLE = 4
"""Mutants of each case that are graded again here."""


@pytest.fixture
def declared(root):
    """A root whose one case says what it is about."""
    (root / "reference/greet/correct/greet.py").write_text(SOURCE)
    (root / "reference/greet/mutants.toml").write_text(DECLARED)
    return root


def measured(root, case="greet", **options):
    level = tinyroot.isolation()
    box = sandbox.open_box(level, allow_unsandboxed=level == "none")
    chosen = {"n_workers": 2, "seed": 1, **options}
    (found,) = strength.measure(root, [case], box=box, **chosen)
    return found


def table(root):
    return strength.load_table(root, corpus.load_case(root, "greet"))


def test_survivors_are_told_and_explained(declared):
    found = measured(declared)
    assert found.n_mutants == len(found.rows) == 4
    assert {row.mutant: row.killed_by for row in found.rows} == {
        SURVIVES: None,
        "greet.py:3: `not name` becomes `(name)`": "says-hello",
        "greet.py:4: `raise ValueError` becomes `pass`": None,
        "greet.py:5: `f'hello {name}'` becomes `None`": "says-hello",
    }
    assert found.unexplained == ()
    assert not found.holds, "half of them is too few"
    assert table(declared) == found


def test_a_survivor_without_a_reason_does_not_hold_even_in_a_sample(declared):
    path = declared / "reference/greet/mutants.toml"
    path.write_text('files = ["greet.py"]\n')
    found = measured(declared)
    assert [row.mutant for row in found.unexplained] == [
        SURVIVES,
        "greet.py:4: `raise ValueError` becomes `pass`",
    ]
    samples = [measured(declared, sample=1, seed=seed) for seed in range(9)]
    assert {one.holds for one in samples} == {True, False}
    assert all(one.holds == (one.n_killed == 1) for one in samples)


def test_a_sample_is_drawn_by_its_seed_and_leaves_no_table(declared):
    first, again, other = (measured(declared, sample=2, seed=s) for s in (3, 3, 5))
    assert first == again
    assert {row.mutant for row in first.rows} != {row.mutant for row in other.rows}
    assert first.is_sample
    assert first.n_mutants == 4
    assert not strength.table_path(declared, "greet").exists()


def test_a_table_is_no_part_of_the_reference_and_bound_to_grader_and_sources(declared):
    before = corpus.load_case(declared, "greet").digests
    found = measured(declared)
    assert corpus.load_case(declared, "greet").digests == before
    grader = declared / "graders/greet/grade.py"
    grader.write_text(grader.read_text() + "\n")
    with pytest.raises(InputError, match="grader") as caught:
        table(declared)
    assert "evalkit verify greet --mutants" in str(caught.value)
    measured(declared)
    overlay = declared / "reference/greet/correct/greet.py"
    overlay.write_text(SOURCE + "\n")
    with pytest.raises(InputError, match="sources"):
        table(declared)
    strength.table_path(declared, "greet").unlink()
    with pytest.raises(InputError, match="none"):
        table(declared)
    assert found.case == "greet"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('files = ["gret.py"]', "gret.py"),
        ("files = []", "length"),
        ('file = ["greet.py"]', "file"),
        (DECLARED.replace("greet.py:2", "greet.py:9"), "greet.py:9"),
        (DECLARED.replace("nobody reads it", ""), "length"),
    ],
)
def test_a_bad_declaration_is_refused_before_anything_is_graded(declared, text, said):
    (declared / "reference/greet/mutants.toml").write_text(text)
    with pytest.raises(InputError, match=r"mutants\.toml") as caught:
        measured(declared, done=lambda *_: pytest.fail("graded"))
    assert said in str(caught.value)


def test_in_a_chain_each_step_answers_for_its_own_lines(tmp_path):
    root = chainroot.make(tmp_path / "root")
    (root / "reference/tale/mutants.toml").write_text('files = ["tale.py"]\n')
    found = measured(root, "tale")
    names = [row.mutant for row in found.rows]
    assert [name for name in names if name.startswith("end")] == [
        "end tale.py:2: `n <= 3` becomes `(not (n <= 3))`",
        "end tale.py:2: `n <= 3` becomes `n < 3`",
        "end tale.py:2: `3` becomes `4`",
    ]
    assert sum(name.startswith("begin") for name in names) == 5
    killers = {row.mutant: row.killed_by for row in found.rows}
    assert killers["end tale.py:2: `n <= 3` becomes `n < 3`"] == "chapter-3"
    assert killers["end tale.py:2: `3` becomes `4`"] is None


def test_the_command_tells_survivors_and_fails_where_too_few_are_killed(
    declared, capsys, monkeypatch
):
    level = tinyroot.isolation()
    words = ["verify", "greet", "--root", str(declared), "--isolation", level]
    words += ["--allow-unsandboxed"] if level == "none" else []
    monkeypatch.setattr("sys.argv", ["evalkit", *words, "--mutants"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "greet: 2/4 mutants killed (50.0%)" in said
    assert "nobody reads it" in said
    assert "fewer than 90% are killed" in said
    monkeypatch.setattr("sys.argv", ["evalkit", *words, "--sample", "2", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    document = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert set(document) == {"proofs", "mutants"}


# --- the cases here ---------------------------------------------------------


def explained(case):
    """Reasons by mutant, as declared."""
    declared = files.read_toml(REPOSITORY / "reference" / case / strength.DECLARED)
    return {one["mutant"]: one["reason"] for one in declared.get("equivalent", [])}


@pytest.mark.parametrize("case", CASES)
def test_nine_of_ten_mutants_of_a_case_are_killed_and_the_rest_is_explained(case):
    loaded = corpus.load_case(REPOSITORY, case)
    found = strength.load_table(REPOSITORY, loaded)
    assert not found.is_sample
    assert found.holds, found.unexplained
    told = {row.mutant: row.reason for row in found.rows if row.killed_by is None}
    assert told.items() <= explained(case).items()


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("case", CASES)
def test_a_sample_of_a_cases_mutants_fares_as_its_table_says(case):
    kept = strength.load_table(REPOSITORY, corpus.load_case(REPOSITORY, case))
    found = measured(REPOSITORY, case, sample=SAMPLE, seed=20261130)
    assert found.n_mutants == kept.n_mutants
    for row in found.rows:
        # One that only a rare race shows may be killed or not, and is explained.
        assert row.killed_by or row.mutant in explained(case), row
