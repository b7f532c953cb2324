from tests.support import ServerCase


class ErrorsTest(ServerCase):
    def test_malformed(self) -> None:
        self.assertEqual(self.request("POST", "/parcels", b"{").status, 400)

    def test_unknown(self) -> None:
        self.assertEqual(self.request("GET", "/parcels/99").status, 404)
        self.assertEqual(self.request("GET", "/nothing").status, 404)
