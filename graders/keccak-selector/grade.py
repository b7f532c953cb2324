"""keccak-selector: signatures become the selectors that Ethereum computes.

Vectors are drawn for each grading and hashed here, by a Keccak that shares no code
with the reference; its constants are the published tables. How a selector is written
is one check's business: the others read what comes back with or without a prefix.
"""

from __future__ import annotations

import ast
import base64
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from evalkit.grader import Call, Checks, Subject, expect, fail

TARGET = "calltag.selector:selector"
RATE = 136
"""Bytes of a block; the last block has at least one byte of padding."""
LANE_MASK = (1 << 64) - 1
ROUND_CONSTANTS = (
    *(0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000),
    *(0x000000000000808B, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009),
    *(0x000000000000008A, 0x0000000000000088, 0x0000000080008009, 0x000000008000000A),
    *(0x000000008000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003),
    *(0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A),
    *(0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008),
)
WALK = (
    *((10, 1), (7, 3), (11, 6), (17, 10), (18, 15), (3, 21), (5, 28), (16, 36)),
    *((8, 45), (21, 55), (24, 2), (4, 14), (15, 27), (23, 41), (19, 56), (13, 8)),
    *((12, 25), (2, 43), (20, 62), (14, 18), (22, 39), (9, 61), (6, 20), (1, 44)),
)
"""Where a lane goes and by how much it turns, along the one cycle from lane 1."""

PUBLIC = {
    "no-arguments": "totalSupply()",
    "elementary-arguments": "transfer(address,uint256)",
    "array-arguments": "swapExactTokensForTokens"
    "(uint256,uint256,address[],address,uint256)",
    "tuple-arguments": "exactInputSingle"
    "((address,address,uint24,address,uint256,uint256,uint256,uint160))",
    "output-format": "approve(address,uint256)",
}
"""Functions that every Ethereum tool knows, beside those drawn."""
ELEMENTARY = ("address", "bool", "string", "bytes", "bytes4", "bytes32", "function")
N_DRAWN = 4
TIMEOUT_S = 40.0
"""For the calls of a check: a permutation on lists of bits takes its time."""

checks = Checks(
    {
        "no-arguments": 1,
        "elementary-arguments": 1,
        "array-arguments": 1,
        "tuple-arguments": 1,
        "as-given": 1,
        "two-bytes-of-room": 1,
        "one-byte-of-room": 1,
        "no-room": 1,
        "several-blocks": 1,
        "output-format": 1,
        "refuses-non-text": 1,
        "no-third-party-import": 1,
    }
)


# --- what is right ----------------------------------------------------------


def permute(lanes: list[int]) -> None:
    """Keccak-f[1600] in place; lane (x, y) is number x + 5 y."""
    for constant in ROUND_CONSTANTS:
        sums = [
            lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]
            for x in range(5)
        ]
        for n in range(25):
            lanes[n] ^= sums[(n + 4) % 5] ^ turned(sums[(n + 1) % 5], 1)
        carried = lanes[1]
        for place, by in WALK:
            carried, lanes[place] = lanes[place], turned(carried, by)
        for start in range(0, 25, 5):
            row = lanes[start : start + 5]
            for x in range(5):
                lanes[start + x] ^= ~row[(x + 1) % 5] & row[(x + 2) % 5]
        lanes[0] ^= constant


def turned(lane: int, by: int) -> int:
    """A lane rotated towards its high end."""
    return (lane << by | lane >> (64 - by)) & LANE_MASK


def hash_256(message: bytes, suffix: int = 0x01) -> bytes:
    """Keccak-256; SHA3-256 with suffix 0x06."""
    padding = bytearray(RATE - len(message) % RATE)
    padding[0] ^= suffix
    padding[-1] ^= 0x80
    padded = message + padding
    lanes = [0] * 25
    for start in range(0, len(padded), RATE):
        for n in range(RATE // 8):
            at = start + 8 * n
            lanes[n] ^= int.from_bytes(padded[at : at + 8], "little")
        permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def digits(signature: str) -> str:
    """The eight digits of a selector."""
    return hash_256(signature.encode())[:4].hex()


# --- signatures -------------------------------------------------------------


def elementary(subject: Subject) -> str:
    """An elementary type."""
    number = (
        f"{subject.random.choice(('u', ''))}int{subject.random.randrange(8, 257, 8)}"
    )
    return subject.random.choice((*ELEMENTARY, number, number, number))


def several(subject: Subject, kind: Callable[[], str], least: int, most: int) -> str:
    """Some types, with commas."""
    return ",".join(kind() for _ in range(subject.random.randint(least, most)))


def array(subject: Subject) -> str:
    """An array type of one or two dimensions."""
    dimensions = subject.random.choices(("[]", "[2]", "[16]"), k=2)
    return elementary(subject) + "".join(dimensions[: subject.random.randint(1, 2)])


def nested(subject: Subject) -> str:
    """A tuple in a tuple, or an array of such."""
    inner = several(subject, lambda: elementary(subject), 1, 2)
    suffix = subject.random.choice(("", "[]", "[3]"))
    return f"({elementary(subject)},({inner}){suffix}){suffix}"


def name(subject: Subject, length: int | None = None) -> str:
    """A function's name in mixed case."""
    length = length or subject.random.randint(6, 20)
    return subject.random.word(1) + "".join(
        subject.random.choice((str.upper, str.lower))(letter)
        for letter in subject.random.word(length - 1)
    )


def of_length(subject: Subject, n_bytes: int) -> str:
    """A signature of exactly so many bytes."""
    types = elementary(subject)
    while len(types) < n_bytes - 40:
        types += f",{elementary(subject)}"
    return f"{name(subject, n_bytes - len(types) - 2)}({types})"


# --- vectors ----------------------------------------------------------------


def answers(subject: Subject, signatures: Sequence[str]) -> list[Any]:
    """What the function under test returns for each signature."""
    calls = [Call(TARGET, signature) for signature in signatures]
    returned = subject.call_many(calls, timeout_s=TIMEOUT_S)
    return [answer.value for answer in returned]


def check_vectors(subject: Subject, signatures: Sequence[str]) -> None:
    """Every signature has its selector, however that is written."""
    for signature, got in zip(signatures, answers(subject, signatures), strict=True):
        right = read_digits(got) == digits(signature)
        expect(right, f"selector of {signature!r} is {digits(signature)}", got)


def read_digits(value: Any) -> str:
    """The digits of a returned selector: text or bytes."""
    if isinstance(value, dict) and "$bytes" in value:
        return base64.b64decode(value["$bytes"]).hex()
    if not isinstance(value, str):
        fail("a selector is text", value)
    return value.lower().removeprefix("0x").zfill(8)


@checks("no-arguments")
def no_arguments(subject: Subject) -> None:
    """Functions without arguments."""
    drawn = [f"{name(subject)}()" for _ in range(N_DRAWN)]
    check_vectors(subject, [PUBLIC["no-arguments"], *drawn])


@checks("elementary-arguments")
def elementary_arguments(subject: Subject) -> None:
    """Functions with arguments of elementary types."""
    drawn = [
        f"{name(subject)}({several(subject, lambda: elementary(subject), 1, 6)})"
        for _ in range(N_DRAWN)
    ]
    check_vectors(subject, [PUBLIC["elementary-arguments"], *drawn])


@checks("array-arguments")
def array_arguments(subject: Subject) -> None:
    """Functions with arrays."""
    drawn = [
        f"{name(subject)}({several(subject, lambda: array(subject), 1, 4)})"
        for _ in range(N_DRAWN)
    ]
    check_vectors(subject, [PUBLIC["array-arguments"], *drawn])


@checks("tuple-arguments")
def tuple_arguments(subject: Subject) -> None:
    """Functions with tuples in tuples."""
    drawn = [
        f"{name(subject)}({several(subject, lambda: nested(subject), 1, 2)})"
        for _ in range(N_DRAWN)
    ]
    check_vectors(subject, [PUBLIC["tuple-arguments"], *drawn])


@checks("as-given")
def as_given(subject: Subject) -> None:
    """Text that is no canonical signature is hashed as it stands, as UTF-8."""
    inputs = [
        f"{name(subject)}(address to, uint amount)",
        f" {name(subject)}(bytes)\n",
        f"${name(subject)}_$(uint256)",
        f"{name(subject)}\u00e9e\u0301\U0001f511(bool)",
        f"function {name(subject)} (uint) returns (bool);",
        name(subject),
        "",
    ]
    check_vectors(subject, inputs)
    [named] = subject.call_many([Call(TARGET, signature=inputs[0])])
    right = read_digits(named.value) == digits(inputs[0])
    expect(right, f"selector(signature={inputs[0]!r})", named.value)


@checks("two-bytes-of-room")
def two_bytes_of_room(subject: Subject) -> None:
    """134 bytes: the padding is its first and its last byte."""
    check_vectors(subject, [of_length(subject, RATE - 2) for _ in range(N_DRAWN)])


@checks("one-byte-of-room")
def one_byte_of_room(subject: Subject) -> None:
    """135 bytes: the first byte of the padding is its last."""
    check_vectors(subject, [of_length(subject, RATE - 1) for _ in range(N_DRAWN)])


@checks("no-room")
def no_room(subject: Subject) -> None:
    """136 bytes: a block of padding follows."""
    check_vectors(subject, [of_length(subject, RATE) for _ in range(N_DRAWN)])


@checks("several-blocks")
def several_blocks(subject: Subject) -> None:
    """Three to six blocks that end somewhere in a block."""
    lengths = [
        n_blocks * RATE + subject.random.randint(1, RATE - 3) for n_blocks in (2, 3, 5)
    ]
    check_vectors(subject, [of_length(subject, n_bytes) for n_bytes in lengths])


# --- the rest of the contract -----------------------------------------------


@checks("output-format")
def output_format(subject: Subject) -> None:
    """A selector is 0x and eight lower-case digits, leading zeros included."""
    drawn = [of_length(subject, subject.random.randint(50, 130)) for _ in range(8)]
    zeros = [starting_with(subject, start) for start in ("0", "0", "00")]
    inputs = [PUBLIC["output-format"], *zeros, *drawn]
    for signature, got in zip(inputs, answers(subject, inputs), strict=True):
        right = isinstance(got, str) and re.fullmatch("0x[0-9a-f]{8}", got)
        expect(bool(right), f"form of the selector of {signature!r}", got)


def starting_with(subject: Subject, start: str) -> str:
    """A signature whose selector begins with these digits."""
    while True:
        signature = f"{name(subject)}({elementary(subject)})"
        if digits(signature).startswith(start):
            return signature


@checks("refuses-non-text")
def refuses_non_text(subject: Subject) -> None:
    """Whatever is no str raises TypeError."""
    signature = f"{name(subject)}({elementary(subject)})"
    raw = {"$bytes": base64.b64encode(signature.encode()).decode()}
    given = (raw, None, True, 7, 1.5, [signature], {signature: signature})
    returned = subject.call_many([Call(TARGET, value) for value in given])
    for value, answer in zip(given, returned, strict=True):
        expect(answer.raises("TypeError"), f"TypeError for {value!r}", answer)


@checks("no-third-party-import")
def no_third_party_import(subject: Subject) -> None:
    """No module imports, even optionally, what is neither standard nor delivered."""
    paths = [PurePosixPath(path) for path in subject.list()]
    beside: dict[PurePosixPath, set[str]] = defaultdict(set)
    for path in paths:
        for folder in path.parents:
            first = PurePosixPath(path.relative_to(folder).parts[0])
            beside[folder].add(first.stem)
    for path in paths:
        if path.suffix != ".py" or any(part.startswith(".") for part in path.parts):
            continue
        own = set[str]().union(*(beside[folder] for folder in path.parents))
        known = own | sys.stdlib_module_names
        foreign = sorted(imported(subject.read(str(path))) - known)
        expect(not foreign, f"imports of {path}", foreign)


def imported(source: str) -> set[str]:
    """Top-level names of the modules that a source imports; none if it is broken."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return set()
    names = (name for node in nodes for name in names_in(node))
    return {name.partition(".")[0] for name in names if not name.startswith(".")}


def names_in(node: ast.AST) -> Iterator[str]:
    """Names of the modules that a node imports, literal dynamic imports included."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module")
            | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            yield module
        case _:
            pass
