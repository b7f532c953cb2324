import json

from tests.test_server import ServerTest


class StatsTest(ServerTest):
    def test_hits(self):
        response = self.request("POST", "/links", {"url": "https://example.com"})
        code = json.loads(response.body)["code"]
        self.request("GET", f"/{code}")
        response = self.request("GET", f"/stats/{code}")
        self.assertEqual(json.loads(response.body)["hits"], 1)
