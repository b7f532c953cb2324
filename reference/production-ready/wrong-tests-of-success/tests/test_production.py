from contextlib import redirect_stdout
from io import StringIO

from tests.support import ServerCase

PARCEL = {"recipient": "A. de Vries", "weight_g": 1250, "express": False}


class ProductionTest(ServerCase):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(redirect_stdout(StringIO()))

    def test_health(self) -> None:
        reply = self.request("GET", "/health")
        self.assertEqual((reply.status, reply.json), (200, {"status": "ok"}))

    def test_replies_are_not_to_be_sniffed(self) -> None:
        reply = self.post(PARCEL)
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(reply.status, 200)
