"""The Keccak submission of 2011, from before the standard changed its padding."""

from __future__ import annotations

from struct import Struct

_BLOCK = Struct("<17Q")
_DIGEST = Struct("<4Q")
_MASK = 0xFFFF_FFFF_FFFF_FFFF
_OFFSETS = {
    (0, 0): 0, (1, 0): 1, (2, 0): 62, (3, 0): 28, (4, 0): 27,
    (0, 1): 36, (1, 1): 44, (2, 1): 6, (3, 1): 55, (4, 1): 20,
    (0, 2): 3, (1, 2): 10, (2, 2): 43, (3, 2): 25, (4, 2): 39,
    (0, 3): 41, (1, 3): 45, (2, 3): 15, (3, 3): 21, (4, 3): 8,
    (0, 4): 18, (1, 4): 2, (2, 4): 61, (3, 4): 56, (4, 4): 14,
}  # fmt: skip
_IOTA = (
    0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000,
    0x000000000000808B, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008A, 0x0000000000000088, 0x0000000080008009, 0x000000008000000A,
    0x000000008000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
)  # fmt: skip


def _rotl(value: int, count: int) -> int:
    return ((value << count) & _MASK) | (value >> (64 - count))


class Keccak256:
    """An object like those of `hashlib`."""

    digest_size = 32
    block_size = 136

    def __init__(self, data: bytes = b"") -> None:
        self._grid = {place: 0 for place in _OFFSETS}
        self._pending = bytearray()
        self.update(data)

    def update(self, data: bytes) -> None:
        self._pending += data
        while len(self._pending) >= self.block_size:
            self._absorb(bytes(self._pending[: self.block_size]))
            del self._pending[: self.block_size]

    def copy(self) -> Keccak256:
        other = Keccak256()
        other._grid = dict(self._grid)
        other._pending = bytearray(self._pending)
        return other

    def digest(self) -> bytes:
        last = self.copy()
        tail = last._pending + b"\x01"
        tail += bytes(self.block_size - len(tail))
        tail[-1] ^= 0x80
        last._absorb(bytes(tail))
        return _DIGEST.pack(*(last._grid[x, 0] for x in range(4)))

    def hexdigest(self) -> str:
        return self.digest().hex()

    def _absorb(self, block: bytes) -> None:
        for n, lane in enumerate(_BLOCK.unpack(block)):
            self._grid[n % 5, n // 5] ^= lane
        for constant in _IOTA:
            self._round(constant)

    def _round(self, constant: int) -> None:
        grid = self._grid
        column = [0] * 5
        for (x, _), lane in grid.items():
            column[x] ^= lane
        moved = {}
        for (x, y), lane in grid.items():
            mixed = lane ^ column[(x + 4) % 5] ^ _rotl(column[(x + 1) % 5], 1)
            moved[y, (2 * x + 3 * y) % 5] = _rotl(mixed, _OFFSETS[x, y])
        for x, y in grid:
            beside = moved[(x + 1) % 5, y] ^ _MASK
            grid[x, y] = moved[x, y] ^ (beside & moved[(x + 2) % 5, y])
        grid[0, 0] ^= constant
