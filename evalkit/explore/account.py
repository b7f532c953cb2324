"""What a transcript file comes to: its requests, its usage, its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalkit import transcript, usage
from evalkit.explore import opening, subagents
from evalkit.records import Record, Request
from evalkit.transcript import Session, Tokens, codex
from evalkit.transcript.calls import Calls, Mark
from evalkit.transcript.kinds import Kind
from evalkit.transcript.lines import BadLine, Tally


class Usage(Record, frozen=True):
    """Tokens. `cache_creation` is the sum of the two after it, by lifetime."""

    input: int
    cache_creation: int
    cache_creation_5m: int
    cache_creation_1h: int
    cache_read: int
    output: int


class Figure(Record, frozen=True):
    """Requests and their usage together; None is not reported."""

    requests: int | None
    usage: Usage | None


class SubagentFile(Record, frozen=True):
    """A subagent's own file beside a session, and that file's own totals."""

    file: str
    requests: int
    usage: Usage | None
    n_bad_lines: int
    torn: BadLine | None


class Subagents(Record, frozen=True):
    """What subagents used beyond the file's own rows, each request once.

    It comes from their files and from rows that tell of their progress.
    """

    requests: int
    usage: Usage | None
    suspect: bool
    files: tuple[SubagentFile, ...]


class Account(Record, frozen=True):
    """All that `show` tells of a transcript file.

    `requests` and `usage` are those of the file's own rows; of them `sidechains` is
    the part of subagents whose rows stand in the file. `subagents` is not in them,
    and `total` is all together. `source` names the witness that `usage` is from, and
    `disagreement` what another says. `suspect` is True where the output count is
    not to be believed, for the reasons that follow. `models` counts requests, where
    they are known one by one.
    """

    file: str
    kind: Kind
    session: str | None
    requests: int | None
    usage: Usage | None
    source: str | None
    disagreement: str | None
    suspect: bool
    suspect_reasons: tuple[str, ...]
    sidechains: Figure
    subagents: Subagents
    total: Figure
    models: dict[str, int | None]
    versions: tuple[str, ...]
    n_synthetic: int
    records: dict[str, int]
    unknown_types: dict[str, int]
    n_lines: int
    n_bad_lines: int
    bad_lines: tuple[BadLine, ...]
    torn: BadLine | None


def account(path: Path) -> Account:
    """Read a transcript, and its subagents' files, once from end to end.

    Raises:
        InputError: It is no transcript, or cannot be read.
    """
    kind = opening.kind_of(path)
    with path.open("rb") as opened:
        if kind in {Kind.CODEX_STREAM, Kind.CODEX_ROLLOUT}:
            return _of_codex(path, kind, codex.parse(opened))
        session = transcript.parse(opened)
    return _of_claude(path, kind, session)


def _of_claude(path: Path, kind: Kind, session: Session) -> Account:
    calls = session.calls
    own = calls.chosen(Mark.OWN)
    side = calls.chosen(Mark.SIDE)
    settled = usage.settle(_witnesses(session, own))
    source = settled.requests[0].source if settled.requests else None
    doubts = _doubts(session, own, source)
    models = _models(session, settled.requests, own)
    beside = _joined(path, kind, session)
    nested = calls.chosen(Mark.NESTED | Mark.JOINED, but=Mark.OWN)
    told = _usage(_sum(settled.requests))
    return Account(
        file=str(path),
        kind=kind,
        session=session.id,
        requests=sum(own),
        usage=told,
        source=source,
        disagreement=settled.disagreement,
        suspect=bool(doubts),
        suspect_reasons=doubts,
        sidechains=_figure(calls, side if side != own else bytes(len(own))),
        subagents=Subagents(
            requests=sum(nested),
            usage=_usage(calls.total(nested)),
            suspect=bool(calls.doubts(nested)),
            files=beside,
        ),
        total=_figure(calls, calls.chosen(0xFF))
        if any(nested)
        else Figure(sum(own), told),
        models=models,
        versions=session.versions,
        n_synthetic=session.n_synthetic,
        **_lines(session.lines),
    )


def _joined(path: Path, kind: Kind, session: Session) -> tuple[SubagentFile, ...]:
    """Take the requests of its subagents' files into a session's."""
    if kind is not Kind.CLAUDE_SESSION:
        return ()
    found: list[SubagentFile] = []
    for file in subagents.files_of(path, session.id):
        with opening.opened(file) as opened:
            read = transcript.parse(opened)
        own = read.calls.chosen(Mark.OWN)
        session.calls.include(read.calls, Mark.JOINED)
        found.append(
            SubagentFile(
                file=str(file),
                requests=sum(own),
                usage=_usage(read.calls.total(own)),
                n_bad_lines=read.lines.n_bad_lines,
                torn=read.lines.torn,
            )
        )
    return tuple(found)


def _witnesses(session: Session, own: bytes) -> list[Sequence[Request]]:
    """As `Session.witnesses`, of the file's own rows, summed."""
    tokens = session.calls.total(own)
    final = not any(session.calls.chosen(Mark.OWN, but=Mark.FINAL))
    source = "rows" if final else "starts of messages"
    records = [_request(tokens, source)] if tokens else []
    totals = session.totals()
    if final:
        return [records, *totals]
    return list(totals) if any(totals) else [records]


def _doubts(session: Session, own: bytes, source: str | None) -> tuple[str, ...]:
    if source == "starts of messages":
        return ("it tells only the output count of each message's start",)
    return session.calls.doubts(own) if source == "rows" else ()


def _models(
    session: Session, settled: Sequence[Request], own: bytes
) -> dict[str, int | None]:
    answered = session.calls.models(own)
    return {one.model: None for one in settled if one.model} | answered


def _of_codex(path: Path, kind: Kind, session: codex.CodexSession) -> Account:
    rows = session.requests or session.turns
    counted = len(session.requests) if kind is Kind.CODEX_ROLLOUT else None
    told = _usage(_sum(rows))
    models = Counter(row.model for row in session.requests if row.model)
    return Account(
        file=str(path),
        kind=kind,
        session=session.id,
        requests=counted,
        usage=told,
        source=rows[0].source if rows else None,
        disagreement=None,
        suspect=False,
        suspect_reasons=(),
        sidechains=Figure(0, None),
        subagents=Subagents(requests=0, usage=None, suspect=False, files=()),
        total=Figure(counted, told),
        models=dict.fromkeys(session.models) | models,
        versions=session.versions,
        n_synthetic=0,
        **_lines(session.lines),
    )


def _lines(tally: Tally) -> dict[str, Any]:
    told = msgspec.structs.asdict(tally)
    return told | {"unknown_types": told.pop("unknown")}


def _figure(calls: Calls, chosen: bytes) -> Figure:
    return Figure(sum(chosen), _usage(calls.total(chosen)))


def _usage(tokens: Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    return Usage(
        input=tokens.input,
        cache_creation=tokens.write_5m + tokens.write_1h,
        cache_creation_5m=tokens.write_5m,
        cache_creation_1h=tokens.write_1h,
        cache_read=tokens.read,
        output=tokens.output,
    )


def _sum(rows: Sequence[Request]) -> Tokens | None:
    if not rows:
        return None
    return Tokens(*(sum(getattr(row, name) for row in rows) for name in usage.CLASSES))


def _request(tokens: Tokens, source: str) -> Request:
    return Request(
        call=0,
        model="",
        **msgspec.structs.asdict(tokens),
        source=source,
        n_requests=None,
    )
