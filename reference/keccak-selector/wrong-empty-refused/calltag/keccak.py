"""Keccak-256 as Ethereum uses it, which `hashlib` does not have.

The rounds are those of SHA3-256; the byte that begins the padding is another one.
"""

RATE = 136
MASK = (1 << 64) - 1


def rotated(lane, n):
    return (lane << n | lane >> (64 - n)) & MASK


def _round_constants():
    register = 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << ((1 << j) - 1)
            register = register << 1 ^ (register >> 7) * 0x171
        yield constant


ROUND_CONSTANTS = tuple(_round_constants())


def keccak_f(a):
    """Return the permutation of 25 lanes; lane (x, y) is number x + 5 * y."""
    for constant in ROUND_CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        a = [a[n] ^ c[(n - 1) % 5] ^ rotated(c[(n + 1) % 5], 1) for n in range(25)]
        b = list(a)
        x, y = 1, 0
        for t in range(24):
            x, y, lane = y, (2 * x + 3 * y) % 5, a[x + 5 * y]
            b[x + 5 * y] = rotated(lane, (t + 1) * (t + 2) // 2 % 64)
        a = [
            b[n] ^ (~b[n - n % 5 + (n + 1) % 5] & b[n - n % 5 + (n + 2) % 5])
            for n in range(25)
        ]
        a[0] ^= constant
    return a


def sponge(message, suffix):
    """Return 32 bytes of hash; `suffix` begins the padding."""
    padding = bytearray(RATE - len(message) % RATE)
    padding[0] = suffix
    padding[-1] |= 0x80
    data = message + padding
    state = [0] * 25
    for start in range(0, len(data), RATE):
        for n in range(17):
            lane = data[start + 8 * n : start + 8 * n + 8]
            state[n] ^= int.from_bytes(lane, "little")
        state = keccak_f(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def keccak_256(message):
    """Return the hash of a message."""
    return sponge(message, 0x01)
