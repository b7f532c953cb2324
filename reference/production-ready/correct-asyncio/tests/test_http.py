from tests.support import ServerCase


class HttpTest(ServerCase):
    def test_errors_have_the_envelope(self) -> None:
        reply = self.request("GET", "/orders")
        self.assertEqual(reply.status, 404)
        self.assertEqual(reply.json["error"]["code"], "not_found")
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")

    def test_a_body_has_a_limit(self) -> None:
        body = b'{"recipient": "A", "weight_g": 5, "express": true}'.ljust(65_536)
        self.assertEqual(self.request("POST", "/parcels", body).status, 200)
        self.assertEqual(self.request("POST", "/parcels", body + b" ").status, 413)
