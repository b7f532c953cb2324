"""Creating, following and deleting links."""

import unittest

from tests.support import ServiceCase

URL = "https://example.com/a?b=c&d=%20#e"


class LinksTest(ServiceCase):
    def test_a_link_is_created(self) -> None:
        reply = self.send("POST", "/links", {"url": URL})
        self.assertEqual(201, reply.status)
        self.assertEqual("application/json", reply.headers["Content-Type"])
        self.assertRegex(reply.body["code"], r"^[\w-]{4,32}$")
        self.assertEqual(URL, reply.body["url"])
        self.assertIsNone(reply.body["expires_at"])

    def test_every_link_has_its_own_code(self) -> None:
        self.assertEqual(5, len({self.create(URL) for _ in range(5)}))

    def test_a_link_redirects(self) -> None:
        code, other = self.create(URL), self.create("http://example.org")
        for path in (f"/{code}", f"/{code}?from=mail"):
            reply = self.send("GET", path)
            self.assertEqual((302, None), (reply.status, reply.body))
            self.assertEqual(URL, reply.headers["Location"])
        reply = self.send("GET", f"/{other}")
        self.assertEqual("http://example.org", reply.headers["Location"])

    def test_a_link_expires(self) -> None:
        reply = self.send("POST", "/links", {"url": URL, "ttl_seconds": 60})
        self.assertEqual(self.now_s + 60, reply.body["expires_at"])
        path = f"/{reply.body['code']}"
        self.now_s += 59.9
        self.assertEqual(302, self.send("GET", path).status)
        self.now_s += 0.1
        self.assert_refused(410, "gone", self.send("GET", path))

    def test_a_deleted_link_is_unknown(self) -> None:
        code = self.create()
        kept = self.create()
        reply = self.send("DELETE", f"/links/{code}")
        self.assertEqual((204, None), (reply.status, reply.body))
        self.assert_refused(404, "not_found", self.send("GET", f"/{code}"))
        self.assert_refused(404, "not_found", self.send("DELETE", f"/links/{code}"))
        self.assertEqual(302, self.send("GET", f"/{kept}").status)


class RefusedTest(ServiceCase):
    def assert_invalid(self, *bodies: object) -> None:
        for body in bodies:
            with self.subTest(body=body):
                reply = self.send("POST", "/links", body)
                self.assert_refused(400, "invalid_request", reply)

    def test_what_is_no_url_is_refused(self) -> None:
        self.assert_invalid(
            *(
                {"url": url}
                for url in (
                    "",
                    "example",
                    "/a",
                    "//example.com/",
                    "http://",
                    "http:///a",
                    "http://[1",
                    "http://example.com/a b",
                    "http://example.com/\r\nX: y",
                    "http://example.com/\u00e9",
                    5,
                    None,
                    ["http://example.com"],
                )
            )
        )

    def test_what_is_no_body_is_refused(self) -> None:
        self.assert_invalid({}, [], "http://a/", None, b"{", b"", b"\xff", b"[" * 9999)

    def test_a_body_without_length_is_refused(self) -> None:
        connection_length = {"Content-Length": "-1"}
        reply = self.send("POST", "/links", b"{}", **connection_length)
        self.assert_refused(400, "invalid_request", reply)

    def test_ttl_has_a_range(self) -> None:
        for ttl in (0, -1, 30 * 24 * 3600 + 1, 1.5, "60", True, []):
            self.assert_invalid({"url": URL, "ttl_seconds": ttl})
        for ttl in (1, 30 * 24 * 3600, None):
            self.create(URL, ttl_seconds=ttl)

    def test_a_large_body_is_refused(self) -> None:
        body = b'{"url": "http://example.com/"}'
        self.assertEqual(201, self.send("POST", "/links", body.ljust(65536)).status)
        reply = self.send("POST", "/links", body.ljust(65537))
        self.assert_refused(413, "too_large", reply)

    def test_unknown_paths_and_codes_are_not_found(self) -> None:
        for method, path in (
            ("GET", "/"),
            ("GET", "/nothing"),
            ("GET", "/a/b"),
            ("POST", "/other"),
            ("POST", "/links/a"),
            ("DELETE", "/links"),
            ("DELETE", "/a/b"),
        ):
            with self.subTest(path=path):
                self.assert_refused(404, "not_found", self.send(method, path))

    def test_unknown_methods_are_refused_alike(self) -> None:
        self.assert_refused(501, "invalid_request", self.send("PUT", "/links"))

    def test_an_unexpected_error_is_told_and_logged(self) -> None:
        self.server.service = None
        with self.assertLogs("hop.routes", "ERROR"):
            self.assert_refused(500, "internal", self.send("GET", "/a"))


if __name__ == "__main__":
    unittest.main()
