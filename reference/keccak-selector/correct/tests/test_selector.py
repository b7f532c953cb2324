import hashlib
import random
import unittest

from calltag.keccak import sponge
from calltag.selector import selector


class SpongeTest(unittest.TestCase):
    def test_with_the_other_padding_it_is_the_hash_of_the_standard_library(self):
        rng = random.Random(20)
        for size in (0, 1, 60, 134, 135, 136, 137, 271, 272, 273, 700):
            message = rng.randbytes(size)
            with self.subTest(size):
                self.assertEqual(
                    sponge(message, 0x06), hashlib.sha3_256(message).digest()
                )


class SelectorTest(unittest.TestCase):
    def test_published_selectors(self):
        published = {
            "transfer(address,uint256)": "0xa9059cbb",
            "approve(address,uint256)": "0x095ea7b3",
            "totalSupply()": "0x18160ddd",
        }
        for signature, wanted in published.items():
            self.assertEqual(selector(signature), wanted)

    def test_only_text_has_a_selector(self):
        for value in (b"totalSupply()", None, 7, ["totalSupply()"]):
            with self.subTest(value), self.assertRaises(TypeError):
                selector(value)
