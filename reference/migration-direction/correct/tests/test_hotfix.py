import unittest
from pathlib import Path

from press import posts, times
from press.migrations import connect, migrate

DUMP = Path(__file__).parent.parent / "docs" / "ci.sql"


class ArchivedByHand(unittest.TestCase):
    def setUp(self):
        self.conn = connect(":memory:")
        self.conn.executescript(DUMP.read_text(encoding="utf-8"))
        self.before = self.conn.execute("SELECT id, archived_at FROM posts").fetchall()
        migrate(self.conn)

    def test_is_listed_by_its_moment(self):
        self.assertEqual([p["id"] for p in posts.archived(self.conn)], [6, 5, 3, 1])
        since = times.to_seconds("2026-05-10T22:30:00Z")
        self.assertEqual([p["id"] for p in posts.archived(self.conn, since)], [6])

    def test_stays_as_it_was(self):
        after = self.conn.execute("SELECT id, archived_at FROM posts").fetchall()
        self.assertEqual(after, self.before)


if __name__ == "__main__":
    unittest.main()
