import unittest

from calltag.hashing import Keccak256
from calltag.selector import selector


class DigestTest(unittest.TestCase):
    def test_the_known_answer_for_nothing(self):
        self.assertEqual(
            Keccak256().hexdigest(),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
        )

    def test_pieces_hash_as_the_whole(self):
        whole = bytes(range(256)) * 2
        pieces = Keccak256()
        for start in range(0, len(whole), 7):
            pieces.update(whole[start : start + 7])
        self.assertEqual(pieces.digest(), Keccak256(whole).digest())


class SelectorTest(unittest.TestCase):
    def test_a_transfer(self):
        self.assertEqual(selector("transfer(address,uint256)"), "0xa9059cbb")
