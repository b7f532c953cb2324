import logging
import sqlite3
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

from waybill.app import respond

SCHEMA = Path(__file__).parent.parent / "docs" / "schema.sql"
ROWS = """
INSERT INTO depot VALUES ('LYS', 'Lyon Sud'), ('DIJ', 'Dijon');
INSERT INTO parcel VALUES ('WB-20417', 1250);
INSERT INTO scan VALUES ('WB-20417', 'LYS', 1772433600), ('WB-20417', 'DIJ', 1772400000);
"""


class WaybillTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = str(Path(folder.name) / "waybill.db")
        with closing(sqlite3.connect(self.database)) as connection:
            connection.executescript(SCHEMA.read_text() + ROWS)
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)

    def get(self, path):
        return respond(self.database, path)

    def test_parcel(self):
        status, _, body = self.get("/parcels/WB-20417")
        self.assertEqual(status, 200)
        self.assertEqual(body["weight_kg"], 1.25)
        self.assertEqual([scan["depot"] for scan in body["scans"]], ["DIJ", "LYS"])
        self.assertEqual(body["scans"][1]["at"], "2026-03-02T06:40:00Z")

    def test_unknown_parcel(self):
        reply = self.get("/parcels/WB-1")
        self.assertEqual(reply, (404, {}, {"error": "unknown_parcel"}))

    def test_parcel_while_database_is_away(self):
        Path(self.database).unlink()
        status, _, body = self.get("/parcels/WB-20417")
        self.assertEqual((status, body), (503, {"error": "unavailable"}))

    def test_depot(self):
        reply = self.get("/depots/lys")
        self.assertEqual(reply, (200, {}, {"code": "LYS", "name": "Lyon Sud"}))

    def test_unknown_depot(self):
        reply = self.get("/depots/XXX")
        self.assertEqual(reply, (404, {}, {"error": "unknown_depot"}))

    def test_depot_while_database_is_away(self):
        Path(self.database).unlink()
        status, headers, body = self.get("/depots/LYS")
        self.assertEqual((status, body), (503, {"error": "unavailable"}))
        self.assertEqual(headers, {"Retry-After": "2"})

    def test_statement_that_is_refused(self):
        with closing(sqlite3.connect(self.database)) as connection:
            connection.execute("DROP TABLE depot")
        reply = self.get("/depots/LYS")
        self.assertEqual(reply, (500, {}, {"error": "internal"}))

    def test_unknown_route(self):
        for path in ("/", "/parcels", "/parcels/", "/trucks/1"):
            self.assertEqual(self.get(path), (404, {}, {"error": "unknown_route"}))


if __name__ == "__main__":
    unittest.main()
