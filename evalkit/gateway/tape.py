"""Where answers come from in a replay: the recording of one call, and nothing else.

Recorded requests are taken by order. Agents that work side by side may come in
another one: so a request that is not the next one gets the answer of a later one that
it equals, and never that of one it only resembles. Answers come without the time that
the provider took; one that never ended is held, as it was, until its client goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from multidict import CIMultiDict

from evalkit.errors import InputError
from evalkit.gateway.meter import Meter
from evalkit.gateway.recording import Asked, Replayed, open_headers
from evalkit.gateway.sources import (
    Answer,
    BrokenError,
    DepartedError,
    UnreachableError,
    is_stream,
)
from evalkit.gateway.terms import Taped
from evalkit.gateway.varying import Varying
from evalkit.gateway.withheld import Secret
from evalkit.records import Dialect, Passage

UNENDED = frozenset({Passage.CLIENT_GONE, Passage.CLOSED})


class Tape:
    """Answers the requests of one call.

    Args:
        recorded: What was recorded of it.
        varying: What may differ.
        dialect: Of the recorded provider.
        secret: What stands for a credential, and is left out as in a recording.
    """

    def __init__(
        self, recorded: Taped, varying: Varying, dialect: Dialect, secret: Secret
    ) -> None:
        self._folder = Path(recorded.folder)
        self._left = list(recorded.kept)
        self._n_kept = len(recorded.kept)
        self._varying = varying
        self._dialect = dialect
        self._secret = secret
        self._departed: str | None = None

    @asynccontextmanager
    async def ask(
        self, path: str, headers: CIMultiDict[str], body: bytes
    ) -> AsyncGenerator[Answer]:
        """The recorded answer; see `Source`."""
        try:
            asked = Asked(
                path, open_headers(headers, self._secret), msgspec.json.decode(body)
            )
            found, varied = self._take(asked)
        except RecursionError as error:
            raise DepartedError("nested too deep to be compared") from error
        except InputError as error:  # changed since the replay began
            raise DepartedError(str(error)) from error
        if found.kept.passage is Passage.UNREACHABLE:
            raise UnreachableError(found.kept.detail)
        if found.head is None:
            await _for_ever()
        yield _Played(found, varied, self._dialect)

    def _take(self, asked: Asked) -> tuple[Replayed, tuple[str, ...]]:
        if self._departed:
            raise DepartedError(f"after a departure: {self._departed}")
        difference = (
            f"the recording holds {self._n_kept} requests of this call, and no further"
        )
        for place, kept in enumerate(self._left):
            recorded = Replayed(self._folder, kept)
            found = self._varying.compare(
                msgspec.structs.asdict(recorded.asked), msgspec.structs.asdict(asked)
            )
            if found.difference is None:
                del self._left[place]
                return recorded, found.varied
            if place == 0:
                difference = found.difference
        self._departed = difference
        raise DepartedError(difference)


class _Played:
    """An answer as it was recorded."""

    def __init__(
        self, found: Replayed, varied: tuple[str, ...], dialect: Dialect
    ) -> None:
        assert found.head is not None
        self.status = found.head.status
        self.headers: Mapping[str, str] = found.head.headers
        self.varied = varied
        self._found = found
        self._dialect = dialect

    async def pieces(self) -> AsyncIterator[bytes]:
        found = self._found
        if found.body:
            yield found.body
        if found.head is not None and found.head.broken:
            raise BrokenError(found.kept.detail)
        if found.kept.passage in UNENDED and not self._is_whole():
            await _for_ever()

    def _is_whole(self) -> bool:
        """True where nothing was missing of an answer that its client left."""
        meter = Meter(self._dialect)
        if is_stream(self.headers):
            meter.take_stream(self._found.body)
        else:
            meter.take_whole(self._found.body)
        return meter.is_whole


async def _for_ever() -> None:
    await asyncio.Event().wait()
