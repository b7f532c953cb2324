import json
import unittest

from hop.routes.api import Api
from hop.routes.http import Request
from hop.service import Shortener


class ApiTest(unittest.TestCase):
    def setUp(self):
        self.time = 5000.0
        self.api = Api(self.shortener())

    def shortener(self):
        return Shortener(clock=lambda: self.time)

    def ask(self, method, path, body=None, peer="10.0.0.1"):
        data = b"" if body is None else json.dumps(body).encode()
        return self.api(Request(method, path, data, peer))

    def create(self, url="http://a.example/", **more):
        response = self.ask("POST", "/links", {"url": url, **more})
        self.assertEqual(response.status, 201)
        return json.loads(response.body)["code"]


class CoreTest(ApiTest):
    def test_round_trip(self):
        code = self.create("http://a.example/?x=1")
        response = self.ask("GET", f"/{code}")
        self.assertEqual(response.status, 302)
        self.assertIn(("Location", "http://a.example/?x=1"), response.headers)
        self.assertEqual(self.ask("DELETE", f"/links/{code}").status, 204)
        self.assertEqual(self.ask("GET", f"/{code}").status, 404)

    def test_refusals(self):
        for body in ({}, [], {"url": "x"}, {"url": "http://a/ b"}, {"url": "http://a", "ttl_seconds": 0}):
            response = self.ask("POST", "/links", body)
            self.assertEqual(response.status, 400)
            self.assertEqual(json.loads(response.body)["error"]["code"], "invalid_request")

    def test_expiry(self):
        code = self.create(ttl_seconds=10)
        self.time += 9
        self.assertEqual(self.ask("GET", f"/{code}").status, 302)
        self.time += 1
        self.assertEqual(self.ask("GET", f"/{code}").status, 410)
