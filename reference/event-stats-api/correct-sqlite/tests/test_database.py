"""Statistics from the table."""

import unittest

from eventstats.database import Database


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        rows = [(n, "a" if n % 2 else "b", 10 * n) for n in range(1, 21)]
        self.database = Database(rows)
        self.addCleanup(self.database.close)

    def test_all(self) -> None:
        wanted = {"count": 20, "avg": 105, "p50": 100, "p95": 190, "p99": 200, "max": 200}
        self.assertEqual(wanted, self.database.report({}))

    def test_conditions(self) -> None:
        report = self.database.report({"type = ?": "a", "at >= ?": 3, "at <= ?": 7})
        self.assertEqual((3, 50), (report["count"], report["p50"]))

    def test_nothing(self) -> None:
        report = self.database.report({"type = ?": "c"})
        self.assertEqual(0, report.pop("count"))
        self.assertEqual({None}, set(report.values()))
