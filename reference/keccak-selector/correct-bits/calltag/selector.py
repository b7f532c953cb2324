"""The selector of a function signature.

Keccak on lists of bits, as in the text of the specification: slow, and easy to
compare with it. `A[x][y][z]` is bit z of lane (x, y).
"""

from itertools import product

W = 64
PLACES = tuple(product(range(5), range(5)))


def rc(t):
    r = [1, 0, 0, 0, 0, 0, 0, 0]
    for _ in range(t % 255):
        r = [0, *r]
        for tap in (0, 4, 5, 6):
            r[tap] ^= r[8]
        r = r[:8]
    return r[0]


def theta(A):
    C = [[A[x][0][z] ^ A[x][1][z] ^ A[x][2][z] ^ A[x][3][z] ^ A[x][4][z]
          for z in range(W)] for x in range(5)]
    D = [[C[x - 1][z] ^ C[(x + 1) % 5][z - 1] for z in range(W)] for x in range(5)]
    return [[[A[x][y][z] ^ D[x][z] for z in range(W)] for y in range(5)]
            for x in range(5)]


def rho(A):
    turned = [list(sheet) for sheet in A]
    x, y = 1, 0
    for t in range(24):
        by = (t + 1) * (t + 2) // 2
        turned[x][y] = [A[x][y][(z - by) % W] for z in range(W)]
        x, y = y, (2 * x + 3 * y) % 5
    return turned


def pi(A):
    return [[A[(x + 3 * y) % 5][x] for y in range(5)] for x in range(5)]


def chi(A):
    return [[[A[x][y][z] ^ ((1 - A[(x + 1) % 5][y][z]) & A[(x + 2) % 5][y][z])
              for z in range(W)] for y in range(5)] for x in range(5)]


def iota(A, i):
    for j in range(7):
        A[0][0][2**j - 1] ^= rc(j + 7 * i)
    return A


def permuted(S):
    A = [[S[W * (5 * y + x):][:W] for y in range(5)] for x in range(5)]
    for i in range(24):
        A = iota(chi(pi(rho(theta(A)))), i)
    return [bit for y, x in PLACES for bit in A[x][y]]


def keccak256(message):
    bits = [byte >> n & 1 for byte in message for n in range(8)]
    bits += [1] + [0] * ((-len(bits) - 2) % 1088) + [1]
    S = [0] * 1600
    for start in range(0, len(bits), 1088):
        block = bits[start:start + 1088] + [0] * 512
        S = permuted([a ^ b for a, b in zip(S, block)])
    return bytes(
        sum(bit << n for n, bit in enumerate(S[at:at + 8])) for at in range(0, 256, 8)
    )


def selector(signature: str) -> str:
    """Return the selector of a signature, as in the README."""
    try:
        text = str.encode(signature)
    except TypeError:
        raise TypeError("selector() takes the signature as a str") from None
    return "0x" + keccak256(text).hex()[:8]
