"""Tables: everything escaped, unknown is said, refusals are sentences."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import synthetic
from synthetic import attempts, infrastructure, record, register, result, step

from evalkit import prices, tables, wording
from evalkit.analysis import analyse
from evalkit.gates import judge
from evalkit.markup import Column, Figure, Fold, Page, Prose, Table

RATES = prices.rates()
HOSTILE = '<b onmouseover="x">&"'


def scored(key):
    names = ("core", "edge", "docs")[: (key.repeat + len(key.arm)) % 4]
    picked = "skill-a" if key.arm == "auto" else None
    return result(key, step(*names, tokens=1000 * len(key.arm), picked=picked))


def made(folder: Path, result_of=scored, **options):
    sealed = register(**options)
    return judge(analyse(sealed, synthetic.run(folder, sealed, result_of), RATES))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    return made(tmp_path_factory.mktemp("tables"))


def test_every_text_of_a_table_is_escaped():
    table = Table(HOSTILE, (Column(HOSTILE),), ((HOSTILE,),), note=HOSTILE)
    parts = (table, Prose((HOSTILE,), tone=HOSTILE), Table("t", (), (), empty=HOSTILE))
    page = Page((*parts, Fold(HOSTILE, (Figure("", HOSTILE, HOSTILE, table),))))
    assert "<b" not in page.html
    assert 'onmouseover="' not in page.html


def test_a_table_marks_its_headings_for_those_who_listen():
    html = Table("c", (Column("a"), Column("b", number=True)), (("x", "1"),)).html
    assert '<th scope="col">a</th>' in html
    assert '<th scope="row">x</th>' in html
    assert "<caption>c</caption>" in html


def test_a_row_with_too_few_cells_is_a_fault():
    with pytest.raises(ValueError, match="zip"):
        _ = Table("c", (Column("a"), Column("b")), (("x",),)).html


def test_columns_in_which_no_row_says_anything_are_left_out():
    table = Table("c", (Column("a"), Column("b")), (("x", ""),)).without_empty()
    assert [column.head for column in table.columns] == ["a"]


@pytest.mark.parametrize("name", tables.__all__)
def test_every_table_shows_any_analysis(analysis, name, tmp_path):
    empty = made(tmp_path, lambda _: None)
    for found in (analysis, empty):
        shown = getattr(tables, name)(found)
        silent = name == "steps" and not found.steps  # the figure of steps says so
        assert bool(shown.html) != silent
        assert bool(shown.text) != silent
        assert "None" not in shown.text
        assert "nan" not in shown.text.lower().split()


def test_the_answer_of_a_simulation_begins_with_what_it_is(tmp_path):
    def simulated(key):
        return msgspec.structs.replace(scored(key), simulated=True)

    found = tables.answer(made(tmp_path, simulated, simulated=True))
    assert found.text.startswith("SIMULATED")
    assert "evalkit-stamp" in found.html


def test_the_answer_of_a_real_run_bears_no_stamp(analysis):
    assert "SIMULATED" not in tables.answer(analysis).html


def test_the_answer_names_the_arm_that_differs(tmp_path):
    def better(key):
        names = ("core", "edge", "docs") if key.arm == "full" else ()
        extra = ("docs",) if key.repeat == 1 else ()
        return result(key, step(*(names or extra)))

    said = tables.answer(made(tmp_path, better)).text
    assert "full against baseline (+0.94)" in said
    assert "for auto against baseline no difference can be told" in said


def test_what_is_odd_about_a_difference_is_said_with_the_answer_too(tmp_path):
    """Of three cases one tells: its trials are alike, so p is small and nothing spreads."""

    def lopsided(key):
        found = ("core", "edge", "docs") if key.arm == "full" else ()
        return result(key, step(*(found or ("core",) * (key.repeat == 1))))

    found = made(tmp_path, lopsided, repeats=2)
    shown = next(c for c in found.contrasts if (c.arm, c.measure) == ("full", "score"))
    assert shown.warning
    for page in (tables.answer(found), tables.contrasts(found)):
        assert shown.warning in page.text


@pytest.mark.parametrize(
    ("p", "low", "odd"),
    [(0.03, -0.6, True), (0.3, 0.1, True), (0.03, 0.1, False), (None, -0.6, False)],
)
def test_p_and_interval_that_say_different_things_are_explained(analysis, p, low, odd):
    first = msgspec.structs.replace(
        analysis.contrasts[0], measure="score", p=p, low=low, high=1.0
    )
    told = msgspec.structs.replace(analysis, contrasts=(first,))
    assert ("say different things" in tables.contrasts(told).text) == odd


def test_no_column_is_against_an_arm_that_took_no_part(analysis):
    heads = [column.head for column in tables.cases(analysis).parts[1].columns]
    assert [head for head in heads if head.startswith("against")] == [
        "against baseline",
        "against full",
    ]


def test_a_refusal_is_shown_as_its_sentence(tmp_path):
    alike = made(tmp_path, lambda key: result(key, step("core")))
    refusals = {c.refusal for c in alike.contrasts if c.measure == "score"}
    assert refusals
    assert None not in refusals
    for refusal in refusals:
        assert refusal in tables.contrasts(alike).text


def test_unreported_usage_is_never_zero(tmp_path):
    silent = made(tmp_path, lambda key: result(key, step("core", tokens=None)))
    (row, *_) = tables.price(silent).parts[0].rows
    assert row[1] == "not reported"


def test_every_lost_trial_stands_in_the_flow(tmp_path):
    sealed = register(repeats=2)
    lost = sealed.schedule[0]
    faults = [infrastructure(lost, attempt=n) for n in (1, 2, 3)]
    others = [scored(key) for key in sealed.schedule[1:]]
    journal = record(tmp_path, sealed, attempts(*faults, *others))
    found = judge(analyse(sealed, journal, RATES))
    rows = {row[0]: row for row in tables.flow(found).rows}
    assert rows[lost.arm][6] != "none"
    assert rows["baseline"][5] == "5"


@pytest.mark.parametrize("repeats", [12, 13])
def test_runs_stand_one_by_one_only_where_they_are_few(tmp_path, repeats):
    sealed = register(repeats=repeats)
    journal = record(tmp_path, sealed, attempts(*map(scored, sealed.schedule)))
    (again, *_) = tables.passes(analyse(sealed, journal, RATES)).parts
    runs = [column for column in again.columns if column.head.startswith("Run ")]
    assert len(runs) == (12 if repeats == 12 else 0)
    assert len(again.rows[0]) == len(again.columns)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (wording.signed(-0.004), "0.00"),
        (wording.signed(-0.125), f"{wording.MINUS}0.12"),
        (wording.signed(0.5), "+0.50"),
        (wording.scores([1.0, None, 0.5]), "1.00, not reported, 0.50"),
        (wording.scores([0.5] * 5 + [1.0] * 8), "8 times 1.00, 5 times 0.50"),
        (wording.usd(0.00042), "$0.000420"),
        (wording.usd(12.3), "$12.30"),
        (wording.usd(0.0), "$0.00"),
        (wording.usd(None), "not reported"),
        (wording.span(None, None), "none"),
        (wording.ratio_span(None, None), "none"),
        (wording.p_value(None), "none"),
        (wording.agent("codex", "0.140.0"), "codex 0.140.0"),
        (wording.agent("command", "not reported"), "command, version not reported"),
        (wording.seconds(0.25), "0.25 s"),
        (wording.seconds(300.0), "5.0 min"),
        (wording.count(1234567), "1,234,567"),
        (wording.count(1.5), "1.5"),
        (wording.p_value(0.0), "below 0.0001"),
        (wording.ratio(2.345), "2.35x"),
    ],
)
def test_numbers_have_sensible_digits(shown, expected):
    assert shown == expected
