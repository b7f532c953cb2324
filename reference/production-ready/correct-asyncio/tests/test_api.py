import unittest

from parcels.api import Api, Refusal, validated


class RefusalsTest(unittest.TestCase):
    def status_of(self, method: str, path: str, body: bytes = b"") -> int:
        with self.assertRaises(Refusal) as raised:
            Api().answer(method, path, body)
        return raised.exception.status

    def test_what_is_not_there(self) -> None:
        self.assertEqual(self.status_of("GET", "/parcels/1"), 404)
        self.assertEqual(self.status_of("GET", "/orders"), 404)
        self.assertEqual(self.status_of("POST", "/orders"), 404)

    def test_what_is_no_parcel(self) -> None:
        whole = b'{"recipient": "A", "weight_g": 5, "express": true}'
        self.assertEqual(validated(whole), ("A", 5, True))
        bodies = [b"", whole[:-1], b"\xff", b"[]", b"{}", b"[" * 60_000]
        bodies += [whole.replace(b"5", other) for other in (b'"5"', b"true", b"5.5")]
        bodies += [whole.replace(b'"A"', b"7"), whole.replace(b"true", b"1")]
        bodies += [whole.replace(b'"express"', b'"x"')]
        for body in bodies:
            with self.subTest(body=body[:60]):
                self.assertEqual(self.status_of("POST", "/parcels", body), 400)
