"""Statement mutants, and delivered tests that are asked to notice them."""

from __future__ import annotations

import ast
import random
import re
import textwrap
from pathlib import Path

import pytest
from test_driver import LEVELS, Wire

from evalkit.grader import Failed, Subject
from evalkit.mutants import mutants_of

REPOSITORY = Path(__file__).parent.parent
N_MODULES = 12


def told(text):
    return [str(mutant) for mutant in mutants_of(textwrap.dedent(text))]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("go()", ["1: `go()` becomes `pass`"]),
        ("'a text'", []),
        ("a = b", []),
        ("a.c = b", ["1: `a.c = b` becomes `pass`"]),
        ("a += b", ["1: `a += b` becomes `pass`"]),
        ("a = x < y", ["1: `x < y` becomes `x <= y`"]),
        ("a = x is not y", ["1: `x is not y` becomes `x is y`"]),
        ("a = x not  in y", ["1: `x not in y` becomes `x in y`"]),
        ("a = (x) < (y)", ["1: `(x) < (y)` becomes `(x) <= (y)`"]),
        ("a = x < y < z", ["1: `x < y < z` becomes `x <= y < z`",
                           "1: `x < y < z` becomes `x < y <= z`"]),
        ("a = x and y", ["1: `x and y` becomes `x or y`"]),
        ("a = x + y", ["1: `x + y` becomes `x - y`"]),
        ("a = x + 'y'", []),
        ("a = f'{x + 1}'", []),
        ("a: int | None = b", []),
        ("a = -x", ["1: `-x` becomes `(x)`"]),
        ("a = 2.5", ["1: `2.5` becomes `3.5`"]),
        ("a = True", ["1: `True` becomes `False`"]),
        ("if x: a = b", ["1: `x` becomes `(not (x))`"]),
        ("if not x: a = b", ["1: `not x` becomes `(x)`"]),
        ("if x == y: a = b", ["1: `x == y` becomes `x != y`"]),
        ("a = [x for x in y if x]", ["1: `x` becomes `(not (x))`"]),
        ("def f(): return x", ["1: `x` becomes `None`"]),
        ("def f(): return None", []),
        ("with x: a = b", ["1: `with x` becomes `if True`"]),
        ("with x as y: a = b", []),
        ("try: a = b\nexcept E: c = d", ["2: `c = d` becomes `raise`"]),
    ],
)  # fmt: skip
def test_what_becomes_of_a_statement(text, wanted):
    assert told(text) == wanted


def test_equal_changes_of_a_line_are_told_apart():
    assert told("a = 1, 1") == ["1: `1` becomes `2`", "1: `1` becomes `2` (2)"]


def test_every_mutant_of_real_code_parses_and_differs_from_all_others():
    n_mutants = 0
    modules = sorted((REPOSITORY / "evalkit").glob("*.py"))
    for path in random.Random(3).sample(modules, N_MODULES):
        mutants = mutants_of(path.read_text())
        dumped = {ast.dump(ast.parse(mutant.text)) for mutant in mutants}
        assert len(dumped) == len({str(mutant) for mutant in mutants}) == len(mutants)
        assert ast.dump(ast.parse(path.read_text())) not in dumped
        n_mutants += len(mutants)
    assert n_mutants > 300


def test_all_but_the_change_stays_as_it_was():
    text = "# ü\ndef f(a):\n    # why\n    return a  +  1  # one\n"
    for mutant in mutants_of(text):
        assert re.sub(r"return .*?  #", "return a  +  1  #", mutant.text) == text


# --- tests that bite --------------------------------------------------------

CODE = "def price(cents):  # doubled\n    return cents * 2 + 100\n\n\ndef idle():\n    return 7\n"
SHIPPED = """
import unittest, shop
class Shipped(unittest.TestCase):
    def test_idle(self):
        self.assertEqual(shop.idle(), 7)
"""
BITING = SHIPPED + (
    "    def test_price(self):\n        self.assertEqual(shop.price(1), 102)\n"
)
TOOTHLESS = {
    "asserts nothing": "    def test_price(self):\n        shop.price(1)\n",
    "wants only a type": "    def test_price(self):\n        shop.price(1) + 1\n",
    "asks for names": "    def test_price(self):\n        shop.price.__code__.co_name\n",
}


@pytest.fixture(params=LEVELS)
def shop(request, tmp_path):
    """Opens a subject with some tests, whose shipped ones were others."""
    opened = []

    def deliver(tests, code=CODE):
        folder = tmp_path / str(len(opened))
        (folder / "tests").mkdir(parents=True)
        (folder / "tests" / "__init__.py").touch()
        (folder / "tests" / "test_shop.py").write_text(tests)
        (folder / "shop.py").write_text(code)
        wire = Wire(request.param, folder)
        opened.append(wire)
        subject = Subject(
            wire, "c", seed=7, service=None, original={"tests/test_shop.py": SHIPPED,
            "shop.py": CODE.replace("100", "99")}.__getitem__,
        )  # fmt: skip
        subject.ask({"op": "begin", "check": "c"}, None)
        return subject

    yield deliver
    for wire in opened:
        wire.hang_up()


def bites(subject, **options):
    subject.bites(["shop.py"], shipped=["tests/test_shop.py"], **options)


def test_a_test_of_its_own_that_notices_a_mutant_bites(shop):
    bites(shop(BITING))


def test_a_shipped_test_does_not_count_as_its_own(shop):
    subject = shop(SHIPPED)
    subject.bites(["shop.py"])
    with pytest.raises(Failed, match="a delivered test of its own"):
        bites(subject)


def test_a_shipped_test_under_another_name_is_not_its_own(shop):
    with pytest.raises(Failed, match="a delivered test of its own"):
        bites(shop(SHIPPED.replace("test_idle", "test_renamed")))


@pytest.mark.parametrize("lame", TOOTHLESS)
def test_a_test_that_notices_nothing_does_not_bite(shop, lame):
    with pytest.raises(Failed, match="a delivered test of its own"):
        bites(shop(SHIPPED + TOOTHLESS[lame]))


def test_a_suite_that_fails_on_its_own_code_does_not_bite(shop):
    with pytest.raises(Failed, match="the delivered tests pass"):
        bites(shop(BITING.replace("102", "103")))


def test_a_test_that_goes_by_the_words_of_the_code_does_not_bite(shop):
    words = SHIPPED + (
        "    def test_words(self):\n"
        "        from pathlib import Path\n"
        f"        self.assertEqual(Path('shop.py').read_text(), {CODE!r})\n"
    )
    with pytest.raises(Failed, match="the same code reworded"):
        bites(shop(words))
    with pytest.raises(Failed, match="the same code reworded"):
        shop(words).mutant({"shop.py": CODE.replace("100", "99")})


def test_only_mutants_that_count_are_tried(shop):
    subject = shop(BITING)
    bites(subject, counts=lambda files: "- 100" in files["shop.py"])
    with pytest.raises(Failed, match="on 1 mutants"):
        bites(subject, counts=lambda files: "return 8" in files["shop.py"])
    with pytest.raises(Failed, match="on 0 mutants"):
        bites(subject, counts=lambda _: False)


def test_without_modules_nothing_bites(shop):
    with pytest.raises(Failed, match="no module"):
        shop(BITING).bites([])


def test_the_original_put_back_is_noticed_by_a_new_test_alone(shop):
    original = {"shop.py": CODE.replace("100", "99")}
    shop(BITING).mutant(original, shipped=["tests/test_shop.py"])
    with pytest.raises(Failed, match="a delivered test fails on the mutant"):
        shop(SHIPPED).mutant(original, shipped=["tests/test_shop.py"])
