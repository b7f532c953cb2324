"""Every format that was sealed stays readable: a tiny run of each, made by its code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evalkit import gates, loading, tables
from evalkit.errors import DriftError
from evalkit.records import Layout

STORED = sorted((Path(__file__).parent / "data" / "formats").iterdir())


@pytest.fixture(params=STORED, ids=lambda path: path.name)
def stored(request, tmp_path):
    return shutil.copytree(request.param, tmp_path / "run")


def test_a_stored_run_is_read_and_analysed(stored):
    found = loading.load(stored)
    assert found.registration.plan.design is Layout.BLOCKS
    assert found.analysis.integrity.recomputes
    assert found.analysis.integrity.same_registration
    assert {row.n_trials for row in found.analysis.arms} == {1}
    intact = next(g for g in found.analysis.gates if g.name == "registration intact")
    assert intact.verdict == gates.PASS
    assert "greet" in tables.cases(found.analysis).text


def test_an_edit_of_a_stored_run_is_seen(stored):
    path = stored / "registration.json"
    text = path.read_text()
    assert text.count('"seed": 1,') == 1
    path.write_text(text.replace('"seed": 1,', '"seed": 2,'))
    with pytest.raises(DriftError, match="edited after sealing"):
        loading.load(stored)
