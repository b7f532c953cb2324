"""A calibration as lines: one for each scenario and method. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from evalkit.calibration.counting import N_ERRORS, Calibration, Rate, Row
from evalkit.calibration.planting import ALIKE

LEAST_SHOWN = 50
"""Intervals of mostly constant cells, of which a rate is worth showing."""
_WIDTH = 26


def lines(found: Calibration) -> list[str]:
    """The table, what its marks mean, and intervals of mostly constant cells."""
    nominal = 100 * found.confidence
    alpha = 100 - nominal
    error = 100 * math.sqrt(found.confidence * (1 - found.confidence) / found.n_runs)
    head = "interval holds truth", f"p <= {alpha / 100:.2g}"
    return [
        f"{found.n_runs:,} simulated runs for each effect, seed {found.seed}. "
        f"Rates in %, in the order of the effects.",
        f"{'':{_WIDTH}}{head[0]:26}{head[1]:26}width  refused      warned",
        f"{'':{_WIDTH}}{'':26}{'':26}       interval  p",
        *_table(found.rows),
        "",
        f"<  below {nominal:g} by more than {N_ERRORS} Monte Carlo errors (at {nominal:g} "
        f"one is {error:.1f}; chance alone flags one rate in 44)",
        f">  false positives above {alpha:g} by more than that",
        "width, refused, warned: where nothing is planted",
        *_margins(found),
        *_constant(found),
    ]


def _margins(found: Calibration) -> Iterator[str]:
    alpha = 1 - found.confidence
    margins = {row.margin for row in found.rows if row.margin is not None}
    for margin in sorted(margins):
        yield (
            f"{ALIKE}: p <= {alpha:.2g} claims that the true difference is below "
            f"{margin:g}, which is false at effects of {margin:g} and more"
        )


def _table(rows: Sequence[Row]) -> Iterator[str]:
    for scenario, own in groupby(rows, lambda row: row.scenario):
        methods = _methods(own)
        effects = ", ".join(f"{row.effect:g}" for row in methods[0])
        yield f"{scenario}: effects {effects}"
        yield from map(_line, methods)


def _methods(rows: Iterator[Row]) -> list[list[Row]]:
    """The rows of a scenario by method, each by effect."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.question, row.measure), []).append(row)
    return list(found.values())


def _line(rows: Sequence[Row]) -> str:
    first = rows[0]
    name = f"  {first.question}, {first.measure}"
    if all(row.refused.value == 1 and row.refused_p.value == 1 for row in rows):
        return f"{name:{_WIDTH}}refused in every run, interval and p"
    held = "".join(_rate(r.coverage, "<" if r.too_narrow else " ") for r in rows)
    rejected = "".join(_rate(r.rejected, ">" if r.too_eager else " ") for r in rows)
    width = "-" if first.width is None else f"{first.width:.3f}"
    shares = map(_rate, (first.refused, first.refused_p, first.warned))
    return f"{name:{_WIDTH}}{held:26}{rejected:26}{width:7}{''.join(shares)}".rstrip()


def _constant(found: Calibration) -> Iterator[str]:
    shown = [
        (row, row.mostly_constant)
        for row in found.rows
        if row.mostly_constant.n >= LEAST_SHOWN
        and row.mostly_constant.below(found.confidence)
    ]
    if not shown:
        return
    yield ""
    yield "Below that too, where in more than half of the cells all trials came out alike:"
    for row, rate in shown:
        where = f"  {row.scenario}, {row.measure}, effect {row.effect:g}"
        yield f"{where:44}{_rate(rate)} of {rate.n:5,} intervals"


def _rate(rate: Rate, mark: str = " ") -> str:
    value = "-" if rate.value is None else f"{100 * rate.value:.1f}"
    return f"{value:>5}{mark}"
