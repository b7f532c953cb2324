import io
import json
import os
import tempfile
from email.message import Message
from pathlib import Path
from unittest import mock

from sentinel.body import read_body
from sentinel.errors import RequestError
from tests.support import Reply, ServerCase

LIMIT = 64 * 1024


class AdminTokenTest(ServerCase):
    token = "a token of the operator"

    def setUp(self) -> None:
        with mock.patch.dict(os.environ, {"SENTINEL_ADMIN_TOKEN": self.token}):
            super().setUp()

    def stats(self, authorization: str) -> Reply:
        headers = {"Authorization": authorization}
        return self.request("GET", "/admin/stats", headers=headers)

    def test_the_token_of_the_environment_is_accepted(self) -> None:
        self.post("notes", "four")
        reply = self.stats(f"Bearer {self.token}")
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json, {"pastes": 1, "characters": 4})

    def test_other_tokens_are_refused(self) -> None:
        for given in ("Bearer other", "Bearer", f"Basic {self.token}"):
            with self.subTest(given=given):
                self.assertEqual(self.stats(given).status, 401)


class NoAdminTokenTest(ServerCase):
    def setUp(self) -> None:
        with mock.patch.dict(os.environ, {"SENTINEL_ADMIN_TOKEN": ""}):
            super().setUp()

    def test_nobody_is_admin(self) -> None:
        for given in ("", "Bearer", "Bearer ", "Bearer None"):
            with self.subTest(given=given):
                headers = {"Authorization": given}
                reply = self.request("GET", "/admin/stats", headers=headers)
                self.assertEqual(reply.status, 401)


class OutsideFilesTest(ServerCase):
    def setUp(self) -> None:
        super().setUp()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.absolute = folder / "private.txt"
        self.absolute.write_text("private")
        beside = tempfile.TemporaryDirectory(prefix="files-", dir=".")
        sibling = Path(self.enterContext(beside))
        (sibling / "private.txt").write_text("private")
        self.sibling = sibling.name

    def test_nothing_outside_is_served(self) -> None:
        for path in (
            "../README.md",
            "help/../../README.md",
            "....//README.md",
            "%2e%2e/README.md",
            "..%2fREADME.md",
            "..%252fREADME.md",
            "%252e%252e%252fREADME.md",
            f"../{self.sibling}/private.txt",
            f"{self.absolute}",
            "%00",
        ):
            with self.subTest(path=path):
                self.assertEqual(self.request("GET", f"/files/{path}").status, 404)


class SearchPageTest(ServerCase):
    def test_the_query_is_shown_as_text(self) -> None:
        query = "%3Cscript%3Ealert(1)%3C/script%3E%22%20onfocus=%22alert(2)"
        page = self.request("GET", f"/search?q={query}").body
        self.assertNotIn("<script", page)
        self.assertNotIn('" onfocus="', page)
        self.assertIn("&lt;script&gt;", page)


class DeleteTokenTest(ServerCase):
    def test_tokens_are_long_and_differ(self) -> None:
        tokens = [self.post("notes", "text")["delete_token"] for _ in range(20)]
        self.assertEqual(len(set(tokens)), 20)
        self.assertGreaterEqual(min(map(len, tokens)), 16)

    def test_only_the_reply_to_the_post_shows_the_token(self) -> None:
        paste = self.post("notes", "text")
        for path in (f"/pastes/{paste['id']}", f"/view/{paste['id']}"):
            self.assertNotIn(paste["delete_token"], self.request("GET", path).body)


class BodyLimitTest(ServerCase):
    def body(self, n_bytes: int) -> bytes:
        empty = json.dumps({"title": "notes", "text": ""})
        text = "x" * (n_bytes - len(empty))
        return json.dumps({"title": "notes", "text": text}).encode()

    def test_a_body_of_the_limit_is_accepted(self) -> None:
        body = self.body(LIMIT)
        self.assertEqual(self.request("POST", "/pastes", body).status, 201)
        halves = iter([body[:1000], body[1000:]])
        self.assertEqual(self.request("POST", "/pastes", halves).status, 201)

    def test_a_larger_body_is_refused(self) -> None:
        for n_bytes in (LIMIT + 1, 200_000):
            with self.subTest(n_bytes=n_bytes):
                reply = self.request("POST", "/pastes", self.body(n_bytes))
                self.assertEqual(reply.status, 413)

    def test_chunks_are_counted_together(self) -> None:
        half = b"%x\r\n%b\r\n" % (LIMIT // 2 + 1, b"x" * (LIMIT // 2 + 1))
        headers = Message()
        headers["Transfer-Encoding"] = "chunked"
        with self.assertRaises(RequestError) as refused:
            read_body(headers, io.BytesIO(half + half + b"0\r\n\r\n"))
        self.assertEqual(refused.exception.status, 413)
