import contextlib
import io
import json

from tests.support import Reply, ServerCase

PARCEL = {"recipient": "A. de Vries", "weight_g": 1250, "express": False}


class RefusalsTest(ServerCase):
    def setUp(self) -> None:
        super().setUp()
        self.out = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def assert_refused(self, reply: Reply, status: int, code: str) -> None:
        self.assertEqual(reply.status, status)
        self.assertEqual(reply.json["error"]["code"], code)
        self.assertTrue(reply.json["error"]["message"])
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")

    def test_a_body_that_is_no_json_is_refused(self) -> None:
        for body in (b"", b"{", b"parcel", b'{"recipient": "\xff"}'):
            with self.subTest(body=body):
                reply = self.request("POST", "/parcels", body)
                self.assert_refused(reply, 400, "invalid_request")

    def test_a_body_that_is_no_object_is_refused(self) -> None:
        for body in ([], "parcel", 5, None):
            with self.subTest(body=body):
                self.assert_refused(self.post(body), 400, "invalid_request")

    def test_every_field_is_required(self) -> None:
        for name in PARCEL:
            with self.subTest(name=name):
                part = {key: PARCEL[key] for key in PARCEL if key != name}
                self.assert_refused(self.post(part), 400, "invalid_request")

    def test_a_field_of_another_type_is_refused(self) -> None:
        wrong = [
            {"recipient": 5},
            {"weight_g": "1250"},
            {"weight_g": 1.5},
            {"weight_g": True},
            {"express": 0},
            {"express": None},
        ]
        for field in wrong:
            with self.subTest(field=field):
                reply = self.post({**PARCEL, **field})
                self.assert_refused(reply, 400, "invalid_request")

    def test_an_unknown_parcel_is_not_found(self) -> None:
        self.assert_refused(self.request("GET", "/parcels/17"), 404, "not_found")

    def test_an_unknown_route_is_not_found(self) -> None:
        self.assert_refused(self.request("GET", "/nothing"), 404, "not_found")
        self.assert_refused(self.request("POST", "/nothing", b"{}"), 404, "not_found")

    def test_a_body_over_the_limit_is_refused(self) -> None:
        largest = json.dumps(PARCEL).encode().ljust(65_536)
        self.assertEqual(self.request("POST", "/parcels", largest).status, 200)
        reply = self.request("POST", "/parcels", largest + b" ")
        self.assert_refused(reply, 413, "body_too_large")

    def test_a_method_that_is_not_served_is_refused(self) -> None:
        reply = self.request("DELETE", "/parcels/1")
        self.assert_refused(reply, 501, "request_failed")

    def test_requests_are_logged(self) -> None:
        self.request("GET", "/nothing")
        line = json.loads(self.out.getvalue())
        self.assertGreaterEqual(line.pop("duration_ms"), 0)
        self.assertEqual(line, {"method": "GET", "path": "/nothing", "status": 404})


class HealthTest(ServerCase):
    def test_health(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            reply = self.request("GET", "/health")
        self.assertEqual((reply.status, reply.json), (200, {"status": "ok"}))
