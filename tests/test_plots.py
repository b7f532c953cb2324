"""Figures: stable bytes, words beside shapes, own ids, and sentences for nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
import synthetic
from synthetic import register, result, step

from evalkit import plots, prices
from evalkit.analysis import analyse
from evalkit.gates import judge
from evalkit.markup import Figure, Fold, Page, Prose
from evalkit.plots.drawing import BAND, GRID, styles
from evalkit.records import Ended
from evalkit.sanitise import sanitise

RATES = prices.rates()
FIGURES = (
    "forest",
    "slopes",
    "cases",
    "checks",
    "price",
    "price_and_score",
    "time",
    "routing",
    "sensitivity",
)
PHONE_PX = 420 - 2 * 16
"""Width of a figure on a telephone, without the page's margins."""
each = pytest.mark.parametrize("name", FIGURES)


def scored(key):
    ahead = {"full": 3, "auto": 1}.get(key.arm, 0)
    names = ("core", "edge", "docs")[: (key.repeat + ahead) % 5]
    picked = "skill-a" if key.arm == "auto" and key.case != "beta" else None
    tokens = 1000 * len(key.arm) + key.repeat
    cut = key.arm == "full" and key.repeat == 3
    return result(
        key,
        step(
            *names,
            tokens=tokens,
            wall_s=600.0 if cut else 7.5 * key.repeat,
            ended=Ended.TIMED_OUT if cut else Ended.FINISHED,
            picked=picked,
        ),
    )


def chained(key):
    names = ("core", "edge", "docs")[: (key.repeat + len(key.arm)) % 4]
    first = step(*names, slug="first")
    return (
        result(key, first, step("core", slug="second")) if names else result(key, first)
    )


def made(folder: Path, result_of=scored, **registered):
    sealed = register(**registered)
    return judge(analyse(sealed, synthetic.run(folder, sealed, result_of), RATES))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    return made(
        tmp_path_factory.mktemp("plots"),
        comparators=("baseline", "full"),
        confirmatory=("auto against baseline",),
    )


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return made(tmp_path_factory.mktemp("chain"), chained, steps=("first", "second"))


def figures(shown):
    """The figures of a page, also those that are folded."""
    if isinstance(shown, Figure):
        return [shown]
    assert isinstance(shown, Page | Fold)
    return [figure for part in shown.parts for figure in figures(part)]


def every(analysis, chain):
    found = [f for name in FIGURES for f in figures(getattr(plots, name)(analysis))]
    return [*found, *figures(plots.steps(chain))]


def words(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)


def looks(svg):
    """Fill and stroke of every shape, letters apart; pictures' grounds too."""
    for element in ET.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        if tag not in {"path", "use", "rect"}:
            continue
        said = dict(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
        fill = said.get("fill", element.get("fill", "none"))
        yield fill, said.get("stroke", element.get("stroke", "none")), said


def apart(one, other):
    """Contrast by WCAG 2.2, reckoned here anew."""

    def bright(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((bright(one), bright(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def letters(svg):
    """Each text with its colour and the fill of what was painted below it."""
    painted = [(0.0, 0.0, 1e9, 1e9, "#ffffff")]
    root = ET.fromstring(svg)
    hidden = {
        id(inner)
        for holder in root.iter()
        if holder.tag.rpartition("}")[2] in {"defs", "clipPath"}
        for inner in holder.iter()
    }
    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        said = dict(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
        if id(element) in hidden:
            continue
        if tag == "path" and said.get("fill", "none").startswith("#"):
            found = [float(n) for n in re.findall(r"-?\d+\.?\d*", element.get("d"))]
            xs, ys = found[::2], found[1::2]
            painted.append((min(xs), min(ys), max(xs), max(ys), said["fill"]))
        if tag == "text":
            moved = re.search(
                r"translate\(([\d.-]+)[ ,]([\d.-]+)\)", element.get("transform", "")
            )
            x, y = (
                map(float, moved.groups())
                if moved
                else (float(element.get("x")), float(element.get("y")))
            )
            below = [p for p in painted if p[0] <= x <= p[2] and p[1] <= y <= p[3]]
            yield element.text, said.get("fill", "#000000"), below[-1][4]


@each
def test_a_figure_has_title_description_caption_and_its_numbers(analysis, name):
    for figure in figures(getattr(plots, name)(analysis)):
        assert figure.alt in figure.text
        assert re.search(r'<desc id="[^"]+">[^<]{20,}</desc>', figure.svg)
        assert 'role="img"' in figure.svg
        assert figure.caption
        assert figure.table.rows


def test_figures_are_the_same_to_the_byte_in_other_processes(analysis, chain, tmp_path):
    for found, place in ((analysis, "run.json"), (chain, "chain.json")):
        (tmp_path / place).write_bytes(msgspec.json.encode(found))
    code = (
        "import sys, msgspec; from pathlib import Path; from evalkit import plots; "
        "from evalkit.conclusions import Analysis\n"
        "for place, names in zip(sys.argv[1::2], sys.argv[2::2]):\n"
        "    found = msgspec.json.decode(Path(place).read_bytes(), type=Analysis)\n"
        "    for name in names.split(): print(getattr(plots, name)(found).html)"
    )
    asked = [tmp_path / "run.json", " ".join(FIGURES), tmp_path / "chain.json", "steps"]
    said = [
        subprocess.run(
            [sys.executable, "-c", code, *map(str, asked)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "7")
    ]
    here = [getattr(plots, name)(analysis).html for name in FIGURES]
    assert said[0].splitlines() == said[1].splitlines()
    assert said[0] == "\n".join([*here, plots.steps(chain).html, ""])


@each
def test_a_figure_loses_nothing_when_a_page_is_made(analysis, name):
    html = getattr(plots, name)(analysis).html
    tags = re.compile(r"<([a-zA-Z]+)")
    assert tags.findall(sanitise(html)) == tags.findall(html)
    assert "&lt;" not in sanitise(html)


def test_ids_of_different_figures_never_meet(analysis, chain):
    found = [set(re.findall(r'\bid="([^"]+)"', f.svg)) for f in every(analysis, chain)]
    assert sum(map(len, found)) == len(set.union(*found))


def test_every_reference_in_a_figure_has_its_target(analysis, chain):
    for figure in every(analysis, chain):
        wanted = set(re.findall(r'(?:href="#|url\(#)([^")]+)', figure.svg))
        assert wanted <= set(re.findall(r'\bid="([^"]+)"', figure.svg)), figure.alt


def test_every_mark_stands_out_from_the_page(analysis, chain):
    plain = {"none", "#ffffff", "white", GRID, BAND}
    for figure in every(analysis, chain):
        for fill, stroke, said in looks(figure.svg):
            assert float(said.get("opacity", 1)) == 1, figure.alt
            is_outlined = stroke not in plain and apart(stroke, "#ffffff") >= 3
            if stroke not in plain:
                assert is_outlined, (figure.alt, stroke)
            if fill not in plain and not fill.startswith("url"):
                assert is_outlined or apart(fill, "#ffffff") >= 3, (figure.alt, fill)


def test_every_text_is_legible_on_what_lies_below_it(analysis, chain):
    grounds = Counter()
    for figure in every(analysis, chain):
        for text, colour, ground in letters(figure.svg):
            grounds[ground] += 1
            assert apart(colour, ground) >= 4.5, (figure.alt, text, colour, ground)
    assert len(grounds) > 3


def test_letters_are_legible_on_a_telephone(analysis, chain):
    for figure in every(analysis, chain):
        wide_pt = float(re.search(r'viewBox="0 0 ([\d.]+)', figure.svg)[1])
        sizes = [
            float(n)
            for n in re.findall(r"font(?:-size)?: [^;']*?([\d.]+)px", figure.svg)
        ]
        assert min(sizes) * PHONE_PX / wide_pt >= 8, figure.alt


def test_a_figure_fits_on_a_printed_page(tmp_path):
    many = made(
        tmp_path,
        cases=tuple(f"case-{n}" for n in range(14)),
        comparators=("baseline", "full"),
        repeats=2,
    )
    for name in FIGURES:
        for figure in figures(getattr(plots, name)(many)):
            high_pt = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)', figure.svg)[1])
            assert high_pt <= 10.2 * 72, (name, high_pt)


def test_arms_differ_in_shape_and_line_and_not_only_in_colour():
    found = styles(list("abcdefg")).values()
    assert len({look.marker for look in found}) == 7
    assert len({look.colour for look in found}) == 7
    assert len({look.dash for look in found}) == 7
    assert all(apart(look.line, "#ffffff") >= 3 for look in found)


@each
def test_where_nothing_was_analysed_a_figure_is_a_sentence(tmp_path, name):
    empty = made(tmp_path, lambda _: None)
    assert isinstance(getattr(plots, name)(empty), Prose)


def test_a_forest_has_every_case_of_every_contrast_confirmatory_ones_first(analysis):
    (figure,) = figures(plots.forest(analysis))
    found = words(figure)
    assert found.count("all cases") == found.count("alpha") == 3
    order = [w for w in found if " against " in w or w.startswith(("Confirm", "Expl"))]
    assert order[0].startswith("Confirmatory")
    assert order[1] == "auto against baseline"
    assert order[2].startswith("Exploratory")
    assert not any("*" in word for word in found)
    kinds = [row[1] for row in figure.table.rows]
    assert kinds == ["confirmatory"] * 4 + ["exploratory"] * 8


def test_slopes_count_what_got_better_and_worse(analysis):
    (first, *others) = figures(plots.slopes(analysis))
    assert first.caption.startswith("From baseline")
    assert [figure.caption.split(":")[0] for figure in others] == ["From full"]
    by_block = {
        (row.case, f"{row.comparator} to {row.arm}"): row.pairs
        for row in analysis.case_contrasts
    }
    assert {way for pairs in by_block.values() for way in map(bool, pairs)} == {
        True,
        False,
    }
    for case, arms, _, better, worse, same, _ in first.table.rows:
        pairs = by_block[case, arms]
        assert int(better) == sum(pair > 0 for pair in pairs)
        assert int(worse) == sum(pair < 0 for pair in pairs)
        assert int(same) == sum(pair == 0 for pair in pairs)


def test_checks_say_how_many_passed_and_hatch_what_was_not_reached(analysis, chain):
    for found, is_hatched in ((analysis, False), (chain, True)):
        drawn = figures(plots.checks(found))
        assert len(drawn) == len(found.cases)
        shown = Counter(word for figure in drawn for word in words(figure))
        for said, n in Counter(f"{row.k}/{row.n}" for row in found.checks).items():
            assert shown[said] == n
        for figure in drawn:
            assert ("not reached" in words(figure)) is is_hatched
        hatched = [fill for f in drawn for fill, *_ in looks(f.svg) if "url" in fill]
        partly = [row for row in found.checks if row.n_not_reached]
        assert len(hatched) == len(partly) + is_hatched * len(drawn)


def test_price_shows_both_rates_and_what_baseline_costs(analysis):
    figure = plots.price(analysis)
    for arm in analysis.arms:
        assert arm.usd_list != arm.usd
        assert f"${arm.usd:.3f}"[:6] in " ".join(words(figure))
        assert f"${arm.usd_list:.3f}"[:5] in " ".join(words(figure))
    assert "times baseline" in words(figure)


def test_without_a_baseline_nothing_is_drawn_against_it(tmp_path):
    figure = plots.price(made(tmp_path, arms=("full", "auto"), comparators=("full",)))
    assert "times baseline" not in words(figure)
    assert "baseline" not in figure.caption


def test_an_arm_that_reports_no_usage_is_not_drawn_as_free(tmp_path):
    def silent(key):
        tokens = None if key.arm == "full" else 1000
        return result(key, step("core", tokens=tokens))

    figure = plots.price(made(tmp_path, silent))
    assert "full not reported tokens, not reported" in figure.alt


def test_a_front_is_claimed_only_where_no_interval_overlaps(analysis):
    def arm(name, score, usd, *, width=0.01):
        row = next(row for row in analysis.arms if row.arm == name)
        return msgspec.structs.replace(
            row,
            score=score,
            score_low=score - width,
            score_high=score + width,
            usd=usd,
            usd_low=usd - width,
            usd_high=usd + width,
        )

    def caption(*arms):
        shown = plots.price_and_score(msgspec.structs.replace(analysis, arms=arms))
        return shown.caption

    cheap, dear = arm("baseline", 0.3, 0.5), arm("full", 0.8, 0.9)
    assert "joins arms" in caption(cheap, dear)
    assert "baseline to full" in caption(cheap, dear)
    assert "no front is claimed" in caption(arm("baseline", 0.3, 0.5, width=0.4), dear)
    unknown = msgspec.structs.replace(dear, score_low=None, score_high=None)
    assert "no front is claimed" in caption(cheap, unknown)
    assert "both best and cheapest" in caption(cheap, arm("full", 0.1, 0.9))
    assert "no front is claimed" in caption(cheap, arm("full", 0.29, 0.9))


def test_trials_cut_off_are_told_apart_from_those_that_finished(analysis, tmp_path):
    figure = plots.time(analysis)
    assert "3 of 12 cut off" in figure.alt
    assert "cut off at the limit" in words(figure)
    assert figure.table.text.count("(cut off)") == 3
    hollow = [
        s for fill, s, _ in looks(figure.svg) if fill == "#ffffff" and s != "none"
    ]
    assert len(hollow) == 3 + 1
    unhurried = plots.time(made(tmp_path, lambda key: result(key, step("core"))))
    assert "cut off at the limit" not in words(unhurried)


def test_the_matrix_of_routing_has_a_row_and_a_column_for_none(analysis):
    (figure,) = figures(plots.routing(analysis))
    assert words(figure).count("none") == 2


def test_sensitivity_marks_what_was_registered_and_lists_what_was_refused(analysis):
    (figure,) = figures(plots.sensitivity(analysis))
    rows = [
        row
        for row in analysis.sensitivity
        if (row.arm, row.comparator) == ("auto", "baseline")
    ]
    refused = [row.method for row in rows if row.estimate is None]
    assert refused
    assert all(method in figure.caption for method in refused)
    assert [row[0] for row in figure.table.rows] == [row.method for row in rows]
    assert [row[1] for row in figure.table.rows].count("yes") == 1


def test_pyplot_is_not_even_imported():
    code = "import sys, evalkit.plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
