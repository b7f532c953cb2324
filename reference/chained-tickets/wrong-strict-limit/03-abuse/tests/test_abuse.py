"""Links and clients that nobody wants."""

import unittest

from hop.limit import Limiter
from tests.support import ServiceCase


class UrlsTest(ServiceCase):
    def test_only_web_addresses_are_accepted(self) -> None:
        for url in (
            "javascript:alert(1)",
            "JavaScript://example.com/%0aalert(1)",
            "ftp://example.com/a",
            "data:text/html,a",
        ):
            with self.subTest(url=url):
                reply = self.send("POST", "/links", {"url": url})
                self.assert_refused(400, "invalid_request", reply)
        self.create("HTTPS://example.com")

    def test_long_urls_are_refused(self) -> None:
        url = "https://example.com/".ljust(2048, "a")
        self.create(url)
        reply = self.send("POST", "/links", {"url": f"{url}a"})
        self.assert_refused(400, "invalid_request", reply)


class LimitTest(ServiceCase):
    def test_a_client_makes_five_links_a_minute(self) -> None:
        codes = [self.create() for _ in range(5)]
        forwarded = {"X-Forwarded-For": "10.0.0.1"}
        reply = self.send("POST", "/links", {"url": "http://a/"}, **forwarded)
        self.assert_refused(429, "rate_limited", reply)
        self.assertEqual(302, self.send("GET", f"/{codes[0]}").status)
        self.now_s += 59
        self.assertEqual(429, self.send("POST", "/links", {"url": "http://a/"}).status)
        self.now_s += 1
        self.create()

    def test_clients_are_counted_apart(self) -> None:
        limiter = Limiter(2, 60)
        allowed = [limiter.allows(client, 1000.0) for client in "aabaab"]
        self.assertEqual([True, True, True, False, False, True], allowed)

    def test_counting_begins_again(self) -> None:
        limiter = Limiter(1, 60)
        allowed = [limiter.allows("a", now_s) for now_s in (60, 61, 120, 179, 180)]
        self.assertEqual([True, False, True, False, True], allowed)


if __name__ == "__main__":
    unittest.main()
