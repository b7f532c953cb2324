"""Frames as files with their origin, read back; and two runs side by side."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import msgspec
import oddities
import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import attempts, record, register, result, step

import evalkit
from evalkit import frames, replication
from evalkit.errors import InputError
from evalkit.frames.columns import schema
from evalkit.frames.folder import read_frame
from evalkit.frames.formats import Format, decode, encode
from evalkit.registration import seal, write_registration

KINDS = [str(kind) for kind in Format]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def folder(tmp_path):
    return oddities.run(tmp_path)[0]


@each_kind
def test_a_file_gives_its_frame_again_with_types_and_na(folder, kind):
    run = evalkit.load(folder)
    written = run.export(kind)
    assert {path.parent for path in written} == {folder / "export"}
    for name in frames.COLUMNS:
        found = read_frame(folder / "export" / f"{name}.{kind}")
        pd.testing.assert_frame_equal(found, getattr(run, name))


def test_pandas_alone_finds_the_types_in_parquet(folder):
    run = evalkit.load(folder)
    run.export("parquet")
    found = pd.read_parquet(folder / "export/checks.parquet")
    pd.testing.assert_frame_equal(found, run.checks)


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
RISKY = st.one_of(
    TEXT, st.builds("{}{}".format, st.sampled_from("=+-@'\"\t\r\n,\uff1d"), TEXT)
)


@each_kind
@given(reasons=st.lists(st.one_of(st.none(), RISKY), min_size=1, max_size=5))
def test_any_text_comes_back_from_any_format(kind, reasons):
    table = _checks(reasons)
    data = encode(table, Format(kind), b"")
    assert decode("checks", Format(kind), data).equals(table)


@given(score=st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)))
@each_kind
def test_any_number_comes_back_from_any_format(kind, score):
    row = dict.fromkeys(schema("steps").names) | {"score": score}
    table = pyarrow.Table.from_pylist([row], schema=schema("steps"))
    data = encode(table, Format(kind), b"")
    assert decode("steps", Format(kind), data).equals(table)


def _checks(reasons):
    rows = [
        {
            "case": "a", "arm": "b", "repeat": 1, "step": "s", "check": "c",
            "weight": 1, "passed": None, "reason": reason,
        }
        for reason in reasons
    ]  # fmt: skip
    return pyarrow.Table.from_pylist(rows, schema=schema("checks"))


@pytest.mark.parametrize("start", "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
def test_no_cell_of_a_csv_is_a_formula(start):
    data = encode(_checks([f"{start}1+1"]), Format.CSV, b"")
    rows = list(csv.DictReader(data.decode().splitlines(keepends=True)))
    assert rows[0]["reason"] == f"'{start}1+1"


def test_a_number_below_zero_stays_a_number():
    row = dict.fromkeys(schema("steps").names) | {"score": -0.5}
    table = pyarrow.Table.from_pylist([row], schema=schema("steps"))
    assert b",-0.5," in encode(table, Format.CSV, b"")


@each_kind
def test_an_export_is_stamped_with_its_origin(folder, kind):
    run = evalkit.load(folder)
    run.export(kind)
    origin = json.loads((folder / f"export/stamp-{kind}.json").read_bytes())["origin"]
    assert origin["run"] == folder.name
    assert origin["registration"] == run.registration.digest
    assert origin["journal_head"] == run.journal.head
    assert (origin["simulated"], origin["warning"]) == (False, None)
    told = pd.read_csv(folder / "export/columns.csv", keep_default_na=False)
    assert told.equals(evalkit.columns())


def test_a_parquet_file_alone_tells_its_origin(folder):
    evalkit.load(folder).export("parquet")
    noted = pyarrow.parquet.read_schema(folder / "export/calls.parquet").metadata
    assert json.loads(noted[b"evalkit"])["run"] == folder.name


def test_an_export_of_a_control_says_simulated(tmp_path):
    folder = _small(tmp_path, simulated=True)
    evalkit.load(folder).export("csv")
    origin = json.loads((folder / "export/stamp-csv.json").read_bytes())["origin"]
    assert origin["simulated"]
    assert origin["warning"].startswith("SIMULATED")


def test_an_export_is_written_over_its_own_files_only(folder, tmp_path):
    run = evalkit.load(folder)
    for kind in KINDS:
        run.export(kind, tmp_path / "out")
    for kind in KINDS:
        run.export(kind, tmp_path / "out")
    edited = tmp_path / "out/calls.csv"
    edited.write_text("mine")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(InputError, match=r"calls\.csv"):
        run.export("csv", tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_an_export_of_a_grown_run_replaces_the_earlier_one(tmp_path):
    registration = oddities.sealed()
    folder = write_registration(tmp_path, registration)
    record(folder, registration, [])
    evalkit.load(folder).export("csv")
    record(folder, registration, oddities.bodies())
    evalkit.load(folder).export("csv")
    assert len(read_frame(folder / "export/calls.csv")) > 0


def test_an_export_of_another_run_is_in_the_way(tmp_path):
    out = tmp_path / "out"
    evalkit.load(_small(tmp_path)).export("csv", out)
    with pytest.raises(InputError, match="expected no file"):
        evalkit.load(_small(tmp_path, seed=2)).export("csv", out)


def test_an_unknown_format_is_refused(folder):
    with pytest.raises(InputError, match="csv or parquet or json"):
        evalkit.load(folder).export("xlsx")


@pytest.mark.parametrize(
    "name", ["trials.csv", "other.csv", "trials.txt", "trials.json", "trials.parquet"]
)
def test_a_file_that_is_no_export_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError):
        read_frame(path)


def _small(root, *, score=("core",), corpus_digest="c" * 64, **settings):
    made = register(cases=("alpha",), arms=("full", "baseline"), repeats=2, **settings)
    registration = seal(msgspec.structs.replace(made, corpus_digest=corpus_digest))
    folder = write_registration(root, registration)
    found = [
        result(key, step(*score) if key.arm == "full" else step(), simulated=False)
        for key in registration.schedule
    ]
    record(folder, registration, attempts(*found))
    return folder


def test_two_runs_of_one_corpus_stand_side_by_side(tmp_path):
    one = _small(tmp_path)
    other = _small(tmp_path, score=("core", "edge"), simulated=True, seed=2)
    shown = evalkit.side_by_side(one, other)
    row = shown.loc["full", "baseline", "score"]
    assert row["estimate", one.name] == 0.5
    assert row["estimate", other.name] == 0.75
    assert list(row["simulated"]) == [False, True]
    assert row["status", other.name] == "synthetic-only"
    assert list(row["n_blocks"]) == [2, 2]


def test_side_by_side_shows_no_p_and_no_difference(tmp_path):
    shown = evalkit.side_by_side(_small(tmp_path), _small(tmp_path, seed=2))
    assert set(shown.columns.get_level_values(0)) == {
        "estimate", "low", "high", "n_blocks", "n_cases", "refusal", "agent",
        "model", "status", "simulated",
    }  # fmt: skip
    assert set(shown.columns.get_level_values(1)) == {
        path.name for path in (tmp_path / "runs").iterdir()
    }


def test_runs_of_other_corpora_are_not_shown_side_by_side(tmp_path):
    one = _small(tmp_path)
    other = _small(tmp_path, corpus_digest="b" * 64)
    with pytest.raises(InputError) as refused:
        evalkit.side_by_side(one, other)
    assert "c" * 64 in str(refused.value)
    assert "b" * 64 in str(refused.value)
    assert one.name in str(refused.value)
    assert other.name in str(refused.value)


def test_a_run_is_not_shown_beside_itself(folder):
    with pytest.raises(InputError, match="twice"):
        evalkit.side_by_side(folder, folder)


def test_runs_are_never_tested_against_each_other(folder):
    with pytest.raises(InputError, match="invalid by design"):
        evalkit.compare(folder, folder)


def _command(*words):
    return subprocess.run(
        [sys.executable, "-m", "evalkit.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_exports_and_names_the_files(folder, tmp_path):
    done = _command("export", folder, "--to", "csv", "--out", tmp_path / "o", "--json")
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)["files"]
    assert str(tmp_path / "o/trials.csv") in written
    assert _command("export", folder, "--to", "xlsx").returncode == 2


def test_the_command_line_replicates_and_refuses_to_compare(tmp_path):
    one, other = _small(tmp_path), _small(tmp_path, simulated=True, seed=2)
    shown = _command("replicate", one, other)
    assert shown.returncode == 0, shown.stderr
    assert "full against baseline, score" in shown.stdout
    assert "synthetic-only, SIMULATED" in shown.stdout
    assert shown.stdout.rstrip().endswith(replication.REFUSAL)
    refused = _command("compare", one, other)
    assert refused.returncode == 2
    assert "invalid by design" in refused.stderr
