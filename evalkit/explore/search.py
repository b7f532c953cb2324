"""Items whose text matches, found by an engine that takes linear time (RE2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from evalkit.errors import InputError
from evalkit.explore.index import Transcript
from evalkit.explore.items import Item

BATCH = 256
"""Items searched at once; between batches whoever asked may stop."""


def search(
    transcript: Transcript,
    query: str,
    *,
    regex: bool = False,
    case: bool = False,
    numbers: Iterable[int] | None = None,
) -> Iterator[int]:
    """Numbers of the items that match, as they are found.

    What was said, a tool's name and input, and its result are searched.

    Args:
        transcript: Where.
        query: A text, or a regular expression as RE2 takes them.
        regex: True where it is an expression.
        case: True where capitals matter.
        numbers: The items to look at, such as those of a filter; None: all.

    Raises:
        InputError: The expression is none; raised before the first is asked for.
    """
    pattern = query if regex else re.escape(query)
    look = partial(_matches, pattern=pattern, ignore_case=not case)
    try:
        look([""])
    except pa.ArrowInvalid as error:
        raise InputError(
            "search",
            expected="a regular expression that RE2 takes",
            found=f"{query!r} ({str(error).partition(chr(10))[0]})",
            cure="mend it, or search for it as a text",
        ) from error
    wanted = range(len(transcript)) if numbers is None else numbers
    return _hits(transcript, look, wanted)


def _hits(
    transcript: Transcript,
    look: Callable[[list[str]], list[bool]],
    numbers: Iterable[int],
) -> Iterator[int]:
    items = transcript.each(numbers)
    while batch := list(islice(items, BATCH)):
        matched = look([_text(item) for item in batch])
        yield from (item.n for item, hit in zip(batch, matched, strict=True) if hit)


def _matches(texts: list[str], *, pattern: str, ignore_case: bool) -> list[bool]:
    column = pa.array(texts, pa.large_string())
    options = pc.MatchSubstringOptions(pattern, ignore_case=ignore_case)
    return pc.call_function("match_substring_regex", [column], options).to_pylist()


def _text(item: Item) -> str:
    return f"{item.tool}\n{item.text}" if item.tool else item.text
