"""Figures: stable bytes, words beside shapes, own ids, and sentences for nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import synthetic
from synthetic import register, result, step

from evalkit import files, plots, usage
from evalkit.analysis import analyse
from evalkit.gates import judge
from evalkit.markup import Figure, Prose
from evalkit.plots.drawing import styles
from evalkit.sanitise import sanitise

RATES = usage.parse_rates(files.package_data("prices.toml"))
FIGURES = ("forest", "cases", "price", "price_and_score", "time", "routing")
each = pytest.mark.parametrize("name", FIGURES)


def scored(key):
    names = ("core", "edge", "docs")[: (key.repeat + len(key.arm)) % 4]
    picked = "skill-a" if key.arm == "auto" and key.case != "beta" else None
    tokens = 1000 * len(key.arm) + key.repeat
    return result(
        key, step(*names, tokens=tokens, wall_s=7.5 * key.repeat, picked=picked)
    )


def made(folder: Path, result_of=scored):
    sealed = register()
    return judge(analyse(sealed, synthetic.run(folder, sealed, result_of), RATES))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    return made(tmp_path_factory.mktemp("plots"))


@each
def test_a_figure_has_title_description_caption_and_its_numbers(analysis, name):
    figure = getattr(plots, name)(analysis)
    assert isinstance(figure, Figure)
    assert figure.alt in figure.text
    assert re.search(r'<desc id="[^"]+">[^<]{20,}</desc>', figure.svg)
    assert 'role="img"' in figure.svg
    assert figure.caption
    assert figure.table.rows


@each
def test_a_figure_is_the_same_to_the_byte_in_another_process(analysis, name, tmp_path):
    saved = tmp_path / "analysis.json"
    saved.write_bytes(msgspec.json.encode(analysis))
    code = (
        "import sys, msgspec; from pathlib import Path; from evalkit import plots; "
        "from evalkit.conclusions import Analysis; "
        "found = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Analysis); "
        "sys.stdout.write(getattr(plots, sys.argv[2])(found).html)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved), name],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert done.stdout == getattr(plots, name)(analysis).html


@each
def test_a_figure_loses_nothing_when_a_page_is_made(analysis, name):
    html = getattr(plots, name)(analysis).html
    tags = re.compile(r"<([a-zA-Z]+)")
    assert tags.findall(sanitise(html)) == tags.findall(html)
    assert "&lt;" not in sanitise(html)


def test_ids_of_different_figures_never_meet(analysis):
    found = [
        set(re.findall(r'\bid="([^"]+)"', getattr(plots, name)(analysis).svg))
        for name in FIGURES
    ]
    assert sum(map(len, found)) == len(set.union(*found))


def test_every_reference_in_a_figure_has_its_target(analysis):
    for name in FIGURES:
        svg = getattr(plots, name)(analysis).svg
        wanted = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
        assert wanted <= set(re.findall(r'\bid="([^"]+)"', svg)), name


def test_arms_differ_in_shape_and_not_only_in_colour():
    looks = styles(list("abcdefg"))
    assert len({look.marker for look in looks.values()}) == 7
    assert len({look.colour for look in looks.values()}) == 7


@each
def test_where_nothing_was_analysed_a_figure_is_a_sentence(tmp_path, name):
    empty = made(tmp_path, lambda _: None)
    assert isinstance(getattr(plots, name)(empty), Prose)


def test_an_arm_that_reports_no_usage_is_not_drawn_as_free(tmp_path):
    def silent(key):
        tokens = None if key.arm == "full" else 1000
        return result(key, step("core", tokens=tokens))

    figure = plots.price(made(tmp_path, silent))
    assert "full not reported tokens, not reported" in figure.alt


def test_pyplot_is_not_even_imported():
    code = "import sys, evalkit.plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
