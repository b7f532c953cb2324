"""How often links were followed."""

import json
import unittest
from pathlib import Path
from unittest import mock

from tests.support import ServiceCase


class HitsTest(ServiceCase):
    def assert_hits(self, hits: int, code: str) -> None:
        reply = self.send("GET", f"/stats/{code}")
        self.assertEqual(200, reply.status)
        self.assertEqual({"code": code, "hits": hits}, reply.body)

    def test_redirects_are_counted(self) -> None:
        code, other = self.create(), self.create()
        self.assert_hits(0, code)
        self.assert_hits(0, code)
        for _ in range(3):
            self.assertEqual(302, self.send("GET", f"/{code}").status)
        self.assert_hits(3, code)
        self.assert_hits(0, other)
        self.start()
        self.assert_hits(3, code)

    def test_only_redirects_are_counted(self) -> None:
        code = self.create(ttl_seconds=10)
        self.now_s += 10
        self.assertEqual(410, self.send("GET", f"/{code}").status)
        self.assert_hits(0, code)

    def test_an_unknown_code_is_not_found(self) -> None:
        code = self.create()
        self.send("DELETE", f"/links/{code}")
        for unknown in (code, "nothing"):
            reply = self.send("GET", f"/stats/{unknown}")
            self.assert_refused(404, "not_found", reply)
        self.assert_refused(404, "not_found", self.send("GET", "/stats/a/b"))

    def test_links_from_before_hits_were_counted_have_none(self) -> None:
        link = {"code": "old-link", "url": "http://example.com", "expires_at": None}
        self.file.write_text(json.dumps([link]))
        self.start()
        self.assert_hits(0, "old-link")

    def test_a_hit_that_cannot_be_written_redirects(self) -> None:
        code = self.create()
        with mock.patch.object(Path, "write_text", side_effect=OSError("no space")):
            self.assertEqual(302, self.send("GET", f"/{code}").status)
        self.assert_hits(0, code)

    def test_a_hit_of_a_link_that_is_gone_is_none(self) -> None:
        store = self.server.service._store
        store.count("nothing")
        self.assertIsNone(store.get("nothing"))


if __name__ == "__main__":
    unittest.main()
