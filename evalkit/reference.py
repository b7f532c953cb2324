"""Overlays of a case, what each must get, and the proofs that it does.

An overlay is `reference/<case>/<overlay>/`: files laid over the fixture; for a
chain, `<overlay>/NN-<slug>/`, each step over the ones before. A step that brings
nothing has no folder.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalkit import files, scoring
from evalkit.errors import InputError, ProofError, expect_same, expect_subset
from evalkit.records import Case, CaseSeal, ExpectedRow, Proof, Record, Step

BARE_FIXTURE = "fixture"
"""Name under which `expected.toml` holds what the untouched fixture gets."""


RIGHT = "correct"


class Fix(Record, frozen=True):
    """A plausible fix: an overlay that a good engineer would consider.

    `default` is the one that general good practice picks, and `visible` says whether
    the tests that an agent sees pass with it.
    """

    overlay: str
    default: bool
    visible: bool


class _ExpectedEntry(Record, frozen=True):
    score: str
    failing: tuple[str, ...]
    plausible: bool = False
    default: bool = False
    visible: bool | None = None


def overlays(root: Path, case: Case) -> tuple[str, ...]:
    """Names of the case's overlays, sorted."""
    folder = root / "reference" / case.id
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir()))


def overlay_entries(
    root: Path, case: Case, overlay: str, step: Step
) -> tuple[files.Entry, ...]:
    """Files an overlay lays over the workspace of one step; none for the fixture."""
    if overlay == BARE_FIXTURE:
        return ()
    folder = root / "reference" / case.id / overlay
    if len(case.steps) == 1:
        return files.read_tree(folder)
    own = folder / step.folder
    return files.read_tree(own) if own.exists() else ()


def lay_out(root: Path, case: Case, overlay: str, step: Step, target: Path) -> None:
    """Write the fixture, and the overlay up to and with `step`, into a folder."""
    files.write_entries(laid_entries(root, case, overlay, step), target)


def laid_entries(
    root: Path, case: Case, overlay: str, step: Step
) -> tuple[files.Entry, ...]:
    """The fixture, and the overlay up to and with `step`, by path."""
    laid = {
        entry.path: entry
        for entry in files.read_tree(root / "cases" / case.id / "fixture")
    }
    for earlier in case.steps[: step.n]:
        for entry in overlay_entries(root, case, overlay, earlier):
            laid[entry.path] = entry
    return tuple(laid[path] for path in sorted(laid))


def load_expected(root: Path, case: Case) -> dict[str, dict[str, ExpectedRow]]:
    """What each overlay must get, by overlay and step slug.

    Raises:
        InputError: `expected.toml` lacks an overlay or step that exists, names
            one that does not, or writes a score that is no fraction in 0..1.
    """
    where = root / "reference" / case.id / "expected.toml"
    tables = files.read_toml(where)
    wanted = {BARE_FIXTURE, *overlays(root, case)}
    slugs = {step.slug for step in case.steps}
    expect_same(where, "overlays", wanted, set(tables))
    if len(case.steps) > 1:
        for overlay in overlays(root, case):
            folder = where.parent / overlay
            expect_subset(
                folder,
                "steps",
                {path.name for path in folder.iterdir()},
                {step.folder for step in case.steps},
            )
    for overlay, steps in tables.items():
        expect_same(f"{where} [{overlay}]", "steps", slugs, set(steps))
    return {
        overlay: {
            slug: _expected_row(row, f"{where} [{overlay}.{slug}]")
            for slug, row in steps.items()
        }
        for overlay, steps in tables.items()
    }


def is_right(overlay: str) -> bool:
    """True for the overlays that are right: `correct`, and others like it."""
    return overlay == RIGHT or overlay.startswith(f"{RIGHT}-")


def load_fixes(root: Path, case: Case) -> dict[str, Fix]:
    """The plausible fixes of a case about injected knowledge, by overlay.

    The right ones, `correct` and `correct-<other>`, are among them, and the visible
    tests pass with them unless they say otherwise.

    Raises:
        InputError: One does not say whether the visible tests pass with it, or not
            exactly one is what general good practice picks.
    """
    where = root / "reference" / case.id / "expected.toml"
    fixes: dict[str, Fix] = {}
    for overlay, steps in files.read_toml(where).items():
        for slug, row in steps.items():
            place = f"{where} [{overlay}.{slug}]"
            entry = files.convert(row, _ExpectedEntry, place)
            visible = True if is_right(overlay) else None
            visible = visible if entry.visible is None else entry.visible
            if entry.plausible and visible is None:
                raise InputError(
                    f"{place} visible",
                    expected="whether the visible tests pass with this fix",
                    found="nothing",
                    cure="write `visible = true` or `visible = false`",
                )
            if visible is not None and (entry.plausible or is_right(overlay)):
                fixes[overlay] = Fix(overlay, entry.default, visible)
    n_defaults = sum(fix.default for fix in fixes.values())
    if n_defaults != 1:
        raise InputError(
            where,
            expected="one plausible fix with `default = true`",
            found=f"{n_defaults} among {len(fixes)} plausible ones",
            cure="mark the one that general good practice picks",
        )
    return fixes


def _expected_row(row: object, where: str) -> ExpectedRow:
    entry = files.convert(row, _ExpectedEntry, where)
    try:
        score = scoring.parse_share(entry.score)
    except ValueError as error:
        raise InputError(
            f"{where} score",
            expected="a fraction such as '7/9'",
            found=str(error),
            cure="write weights won over total weight",
        ) from error
    return ExpectedRow(score, entry.failing)


def proof_path(root: Path, case: Case | CaseSeal) -> Path:
    """Where the proof of a case at its digests is kept."""
    bound = files.sha256(msgspec.json.encode(case.digests))[:12]
    return root / "runs" / "proofs" / f"{case.id}-{bound}.json"


def save_proof(root: Path, case: Case, proof: Proof) -> Path:
    """Keep a proof, replacing an earlier one for the same digests."""
    path = proof_path(root, case)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, files.encode_json(proof))
    return path


def load_proof(root: Path, case: Case) -> Proof:
    """The proof of a case's grader at its present digests.

    Raises:
        ProofError: There is none for these digests, or it does not hold.
    """
    path = proof_path(root, case)
    cure = f"run `evalkit verify {case.id}`"
    if not path.exists():
        raise ProofError(
            f"{case.id}: expected a proof of its grader at the present digests, "
            f"found none ({path.name}); {cure}"
        )
    proof = files.decode_json(files.read_regular(path), Proof, path)
    demanded = {
        (overlay, step): row
        for overlay, rows in load_expected(root, case).items()
        for step, row in rows.items()
    }
    shown = {(row.overlay, row.step): row.expected for row in proof.rows}
    if proof.digests != case.digests or not proof.holds or shown != demanded:
        raise ProofError(
            f"{case.id}: expected a proof that holds, found one that does not "
            f"({path.name}); {cure} and read what differs"
        )
    return proof
