import json

from tests.test_api import ApiTest


class AbuseTest(ApiTest):
    def status(self, url, peer="10.0.0.1"):
        return self.ask("POST", "/links", {"url": url}, peer).status

    def test_schemes(self):
        self.assertEqual(self.status("javascript://a.example/%0a1"), 400)
        self.assertEqual(self.status("ftp://a.example/"), 400)
        self.assertEqual(self.status("https://a.example/"), 201)

    def test_length(self):
        self.assertEqual(self.status("http://a.example/" + "a" * 2031), 201)
        self.assertEqual(self.status("http://a.example/" + "a" * 2032), 400)

    def test_throttle(self):
        statuses = [self.status("http://a.example/") for _ in range(17)]
        self.assertEqual(statuses, [201] * 15 + [429] * 2)
        self.assertEqual(self.status("http://a.example/", "10.0.0.2"), 201)
        self.time += 60
        self.assertEqual(self.status("http://a.example/"), 201)

    def test_error(self):
        for _ in range(16):
            response = self.ask("POST", "/links", {"url": "http://a.example/"})
        self.assertEqual(json.loads(response.body)["error"]["code"], "rate_limited")
