import http.client
import json
import threading
import unittest

from hop.server import make_server


class ServerTest(unittest.TestCase):
    def setUp(self):
        self.server = make_server(0)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        response = connection.getresponse()
        response.body = response.read()
        connection.close()
        return response

    def test_create_and_follow(self):
        response = self.request("POST", "/links", {"url": "https://example.com"})
        self.assertEqual(response.status, 201)
        code = json.loads(response.body)["code"]
        response = self.request("GET", f"/{code}")
        self.assertEqual(response.status, 302)
        self.assertEqual(response.getheader("Location"), "https://example.com")

    def test_bad_url(self):
        self.assertEqual(self.request("POST", "/links", {"url": "nope"}).status, 400)

    def test_delete(self):
        response = self.request("POST", "/links", {"url": "https://example.com"})
        code = json.loads(response.body)["code"]
        self.assertEqual(self.request("DELETE", f"/links/{code}").status, 204)
        self.assertEqual(self.request("GET", f"/{code}").status, 404)
