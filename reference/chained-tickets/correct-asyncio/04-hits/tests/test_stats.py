import json
import os
import sqlite3
import tempfile

from hop.store import Links
from tests.test_api import ApiTest


class StatsTest(ApiTest):
    def hits(self, code):
        response = self.ask("GET", f"/stats/{code}")
        self.assertEqual(response.status, 200)
        return json.loads(response.body)["hits"]

    def test_hits(self):
        code, other = self.create(), self.create()
        for n in range(4):
            self.assertEqual(self.hits(code), n)
            self.ask("GET", f"/{code}")
        self.assertEqual(self.hits(other), 0)

    def test_unknown(self):
        self.assertEqual(self.ask("GET", "/stats/nothing").status, 404)

    def test_old_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "db")
            db = sqlite3.connect(path)
            db.execute("CREATE TABLE links (code TEXT PRIMARY KEY, url TEXT NOT NULL, expires_at REAL)")
            db.execute("INSERT INTO links VALUES ('abcd', 'http://a.example/', NULL)")
            db.commit()
            db.close()
            links = Links(path)
            self.assertEqual(links.hits("abcd"), 0)
            links.db.close()
