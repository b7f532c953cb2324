"""An account of a transcript as lines for a terminal."""

from __future__ import annotations

from evalkit import wording
from evalkit.explore.account import Account, Usage

MAX_LISTED = 10
"""Bad lines and files named; the rest is counted."""
CLASSES = ("input", "cache_creation", "cache_read", "output")


def summary_lines(found: Account) -> list[str]:
    """What a reader wants to know first, faults last.

    Nothing from the file reaches the terminal but printable characters.
    """
    models = [
        name if n is None else f"{name} ({wording.n_of(n, 'request')})"
        for name, n in found.models.items()
    ]
    lines = [
        f"{found.file}: {found.kind}, session {found.session or wording.NOT_REPORTED}",
        f"  versions   {wording.listed(found.versions)}",
        f"  models     {wording.listed(models)}",
        f"  requests   {wording.count(found.requests)}",
        f"  usage      {_tokens(found.usage)}",
        f"  records    {_counts(found.records)}",
    ]
    if found.n_synthetic:
        lines.append(
            f"  synthetic  {wording.n_of(found.n_synthetic, 'message')} of the CLI's "
            "own, no requests"
        )
    return [
        wording.printable(line)
        for line in [*lines, *_subagents(found), *_faults(found)]
    ]


def _subagents(found: Account) -> list[str]:
    side, more = found.sidechains, found.subagents
    lines: list[str] = []
    if side.requests:
        lines.append(
            f"  of these, by subagents: {wording.n_of(side.requests, 'request')}, "
            f"{_tokens(side.usage)}"
        )
    if more.requests or more.files:
        lines += [
            f"  subagents  {wording.n_of(more.requests, 'request')} beside these, "
            f"{_tokens(more.usage)}",
            f"  together   {wording.n_of(found.total.requests or 0, 'request')}, "
            f"{_tokens(found.total.usage)}",
        ]
        lines += [f"    {file.file}" for file in more.files[:MAX_LISTED]]
        lines += _rest(len(more.files))
    return lines


def _faults(found: Account) -> list[str]:
    lines = [f"  SUSPECT: {reason}" for reason in found.suspect_reasons]
    if found.disagreement:
        lines.append(f"  DISAGREEMENT: {found.disagreement}")
    if found.unknown_types:
        lines.append(f"  unknown types: {_counts(found.unknown_types)}")
    lines += [
        f"  BAD LINE {bad.line:,}: {bad.fault}" for bad in found.bad_lines[:MAX_LISTED]
    ]
    lines += _rest(found.n_bad_lines)
    if found.torn:
        lines.append(f"  torn: line {found.torn.line:,}, the last, has no end")
    return lines


def _tokens(usage: Usage | None) -> str:
    if usage is None:
        return wording.NOT_REPORTED
    counts = ", ".join(
        f"{name.replace('_', ' ')} {getattr(usage, name):,}" for name in CLASSES
    )
    return (
        f"{counts} (created for 5 min {usage.cache_creation_5m:,}, "
        f"for 1 h {usage.cache_creation_1h:,})"
    )


def _counts(counts: dict[str, int]) -> str:
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])
    return wording.listed(f"{name or '(no type)'} {n:,}" for name, n in ranked)


def _rest(n: int) -> list[str]:
    return [f"    and {n - MAX_LISTED:,} more"] if n > MAX_LISTED else []
