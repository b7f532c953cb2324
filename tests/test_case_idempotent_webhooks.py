"""idempotent-webhooks: what the grader puts back keeps all promises but one."""

import importlib.util
import shutil
import subprocess
import sys

import pytest
from conftest import REPOSITORY

GRADER = REPOSITORY / "graders/idempotent-webhooks/grade.py"
FIXTURE = REPOSITORY / "cases/idempotent-webhooks/fixture"
PROMISES = REPOSITORY / "reference/idempotent-webhooks/correct/tests"
ORDERS_ARE_CHECKED = 'for path in ("/deliveries", "/orders"):'
"""The shipped server, which is put back, does not check orders."""


@pytest.fixture(scope="module")
def grader():
    spec = importlib.util.spec_from_file_location("idempotent_webhooks", GRADER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def failing(tmp_path):
    """Run the shipped tests and the reference's with a receiver; the failing ones."""

    def run(receiver):
        shutil.copytree(FIXTURE, tmp_path, dirs_exist_ok=True)
        shutil.copytree(PROMISES, tmp_path / "tests", dirs_exist_ok=True)
        promises = tmp_path / "tests/test_promises.py"
        text = promises.read_text()
        assert ORDERS_ARE_CHECKED in text
        promises.write_text(
            text.replace(ORDERS_ARE_CHECKED, 'for path in ("/deliveries",):')
        )
        (tmp_path / "payhook/receiver.py").write_text(receiver)
        done = subprocess.run(
            (sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Ran 15 tests" in done.stderr
        lines = done.stderr.splitlines()
        return sorted(line for line in lines if line.startswith(("FAIL:", "ERROR:")))

    return run


def test_with_the_race_put_back_only_the_tests_of_the_race_fail(grader, failing):
    names = [line.split()[1] for line in failing(grader.MENDED)]
    assert names == [
        "test_copies_of_a_delivery_charge_once",
        "test_deliveries_for_an_order_charge_once",
    ]


@pytest.mark.parametrize("closing", ["WAITING", "CLAIMING"])
def test_with_the_race_closed_no_test_fails(grader, failing, closing):
    assert grader.JUDGED in grader.MENDED
    receiver = grader.MENDED.replace(grader.JUDGED, getattr(grader, closing))
    assert failing(receiver) == []
