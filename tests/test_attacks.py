"""Hostile deliveries and hostile agents: each gets what it deserves, and no more.

Every one of them runs in an outer namespace, as an ordinary user; see `outerbox`.
`tests/attacks/<nn-name>/` is laid over a real case; its `attack.toml` says which kind
of attack it is, what it deserves, and what reasons must be given.
"""

import os
import re
import tomllib

import outerbox
import pytest
from outerbox import REPOSITORY

from evalkit import scoring

pytestmark = pytest.mark.needs_sandbox

ATTACKS = sorted(path.parent for path in REPOSITORY.glob("tests/attacks/*/attack.toml"))
REFEREE = REPOSITORY / "tests" / "referee.py"
USERS = {"user": False, "root": True} if os.geteuid() == 0 else {"user": False}
"""As whom evalkit is run in the outer namespace: root only where we are root."""


def _facts(attack):
    return tomllib.loads((attack / "attack.toml").read_text())


def _marked(attack):
    """An attack that still succeeds is named so, and its mending must be noticed."""
    open_hole = _facts(attack).get("unmended")
    marks = [pytest.mark.xfail(reason=open_hole)] if open_hole else []
    return pytest.param(attack, marks=marks, id=attack.name)


def _refereed(attack, **options):
    request = {"attack": str(attack), "root": str(REPOSITORY)}
    return outerbox.inside(REFEREE, request, **options)


def _judge(attack, found):
    """The grade is the deserved one, the machine is as before, and life goes on."""
    facts, grade = _facts(attack), found["grade"]
    assert grade["died"] is None
    failed = {c["id"]: c["reason"] for c in grade["checks"] if not c["passed"]}
    assert sorted(failed) == sorted(facts["failing"]), failed
    won = sum(c["weight"] for c in grade["checks"] if c["passed"])
    total = sum(c["weight"] for c in grade["checks"])
    assert won / total == scoring.parse_share(facts["score"])
    assert all(failed.values())
    for check, pattern in facts.get("reasons", {}).items():
        assert re.search(pattern, failed[check]), (check, failed[check])
    assert found["left_processes"] == []
    assert found["changed_files"] == []
    assert found["callers"] == []
    assert all(check["passed"] for check in found["next"]["checks"])


def test_all_kinds_of_attack_are_there():
    assert {_facts(attack)["kind"] for attack in ATTACKS} == set(range(1, 18))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", map(_marked, ATTACKS))
def test_an_attack_on_its_grading_gets_what_it_deserves(attack, user):
    _judge(attack, _refereed(attack, as_root=USERS[user]))


def test_attacks_refuse_to_run_elsewhere():
    own = {name: outerbox.namespace(name) for name in outerbox.NAMESPACES}
    with pytest.raises(SystemExit, match="outer namespace only"):
        outerbox.refuse_outside({"outside": own, "as_root": False})
