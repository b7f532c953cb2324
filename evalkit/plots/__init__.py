"""Figures of an analysis: each function reads an `Analysis` and shows part of it.

Every figure is inline SVG whose bytes depend on the numbers alone, tells arms
apart by shape as well as colour, says in words what it shows, and carries its
numbers as a table. Where there is nothing to draw, a sentence says why.
"""

from evalkit.plots.chains import steps
from evalkit.plots.checks import checks
from evalkit.plots.costs import price
from evalkit.plots.drawing import figure_html
from evalkit.plots.forest import forest
from evalkit.plots.routes import routing
from evalkit.plots.scores import cases
from evalkit.plots.sensitivity import sensitivity
from evalkit.plots.slopes import slopes
from evalkit.plots.times import time
from evalkit.plots.tradeoff import price_and_score

__all__ = [
    "cases",
    "checks",
    "figure_html",
    "forest",
    "price",
    "price_and_score",
    "routing",
    "sensitivity",
    "slopes",
    "steps",
    "time",
]
