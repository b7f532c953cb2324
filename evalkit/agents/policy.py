"""The scripted agent's policy: which overlay it delivers, and at what price.

`reference/scripted.toml` holds `[default]` and a table per arm;
`reference/<case>/scripted.toml` may hold the same for one case. What counts for
a key is the first that has it of: the case's table of the arm, the common table
of the arm, the case's `[default]`, the common `[default]`.

    n_requests = [2, 4]                        # model requests per step, at least 2
    latency_ms = [2, 6]                        # slept in each request
    skill_chance = 0.5                         # that an offered skill is invoked
    overlays = { correct = 0.4, naive = 0.6 }  # chances, together 1
    tokens.output = { median = 400, sigma = 0.4 }  # lognormal, in each request
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evalkit import files, reference
from evalkit.errors import InputError, expect_subset
from evalkit.records import Case, Record, TrialKey

NAME = "scripted.toml"
DEFAULT = "default"

Amount = Annotated[float, msgspec.Meta(ge=0)]
Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]


class Spread(Record, frozen=True):
    """A lognormal distribution of counts."""

    median: Amount
    sigma: Amount = 0.0

    def draw(self, rng: random.Random) -> int:
        """One count."""
        return round(self.median * math.exp(self.sigma * rng.gauss(0, 1)))


class TokenSpreads(Record, frozen=True):
    """Tokens of one request, by class."""

    input: Spread
    write_5m: Spread
    write_1h: Spread
    read: Spread
    output: Spread


class Behaviour(Record, frozen=True):
    """How the scripted agent behaves in one arm of one case."""

    overlays: dict[str, Chance]
    n_requests: tuple[Natural, Natural]
    latency_ms: tuple[Natural, Natural]
    skill_chance: Chance
    tokens: TokenSpreads


class Policy(Record, frozen=True):
    """Behaviour by case and arm, and a digest of the files it was read from."""

    behaviours: dict[str, dict[str, Behaviour]]
    digest: str

    def overlay(self, key: TrialKey, seed: int) -> str:
        """The overlay a trial delivers; the same in each of its steps."""
        chances = self.behaviours[key.case][key.arm].overlays
        names = sorted(chances)
        rng = random.Random(f"{seed}:{key}:overlay")
        return rng.choices(names, [chances[name] for name in names])[0]


def load_policy(root: Path, cases: tuple[Case, ...]) -> Policy:
    """Read the policy for some cases, for every arm of the root.

    Raises:
        InputError: A key is wrong or missing, an arm or overlay does not exist,
            or the chances of the overlays are not 1 together.
    """
    folder = root / "reference"
    arms = set(files.read_toml(root / "cases" / "arms.toml")) - {"lean"}
    paths = [folder / NAME, *(folder / case.id / NAME for case in cases)]
    tables = {
        path: _tables(path, arms)
        for path in paths
        if path == folder / NAME or path.exists()
    }
    behaviours = {
        case.id: {
            arm: _behaviour(root, case, arm, tables, paths[0]) for arm in sorted(arms)
        }
        for case in cases
    }
    entries = (
        files.Entry(path.relative_to(folder).as_posix(), files.read_regular(path))
        for path in tables
    )
    return Policy(behaviours, files.digest_entries(tuple(entries)))


def _tables(path: Path, arms: set[str]) -> dict[str, Any]:
    tables = files.read_toml(path)
    for name, table in tables.items():
        if name not in {DEFAULT, *arms} or not isinstance(table, dict):
            raise InputError(
                f"{path} [{name}]",
                expected=f"tables named {DEFAULT} or {', '.join(sorted(arms))}",
                found=repr(name),
                cure="name an arm of cases/arms.toml, or add it there",
            )
    return tables


def _behaviour(
    root: Path, case: Case, arm: str, tables: dict[Path, dict[str, Any]], common: Path
) -> Behaviour:
    own = common.parent / case.id / NAME
    merged: dict[str, Any] = {}
    tokens: dict[str, Any] = {}
    where = str(common)
    for name in (DEFAULT, arm):
        for path in (common, own):
            table = tables.get(path, {}).get(name, {})
            merged |= table
            tokens |= table.get("tokens", {})
            where = f"{path} [{name}]" if "overlays" in table else where
    found = files.convert(
        {**merged, "tokens": tokens}, Behaviour, f"{common}, case {case.id}, arm {arm}"
    )
    _check_overlays(root, case, found, f"{where} overlays, case {case.id}")
    for key, (low, high) in (
        ("n_requests", found.n_requests),
        ("latency_ms", found.latency_ms),
    ):
        least = 2 if key == "n_requests" else 0
        if not least <= low <= high:
            raise InputError(
                f"{common} {key}, case {case.id}, arm {arm}",
                expected=f"[low, high], low at least {least}",
                found=f"[{low}, {high}]",
                cure="mend the range",
            )
    return found


def _check_overlays(root: Path, case: Case, found: Behaviour, where: str) -> None:
    known = {reference.BARE_FIXTURE, *reference.overlays(root, case)}
    expect_subset(where, "overlays", set(found.overlays), known)
    total = math.fsum(found.overlays.values())
    if not math.isclose(total, 1, abs_tol=1e-9):
        raise InputError(
            where,
            expected="chances that are 1 together",
            found=f"{total:g}",
            cure="mend the chances",
        )
