"""Definitions of the statistics, and the parameters that select events."""

import unittest

from eventstats.log import Event
from eventstats.params import parse_query
from eventstats.stats import Query, Statistics, describe, mean, nearest_rank


class DescribeTest(unittest.TestCase):
    def test_nearest_rank(self) -> None:
        values = list(range(10, 210, 10))
        ranks = [nearest_rank(values, percent) for percent in (50, 95, 99)]
        self.assertEqual([100, 190, 200], ranks)

    def test_a_half_goes_up(self) -> None:
        self.assertEqual(12.13, mean([12] * 7 + [13]))
        self.assertEqual(1.01, mean([1] * 199 + [2]))

    def test_nothing(self) -> None:
        self.assertEqual(
            {"count": 0, "avg": None, "p50": None, "p95": None, "p99": None, "max": None},
            describe([]),
        )


class SummariseTest(unittest.TestCase):
    def setUp(self) -> None:
        rows = [(10, "a", 5), (20, "b", 7), (20, "a", 9), (30, "a", 11)]
        self.statistics = Statistics(Event(*row) for row in rows)

    def count(self, *query: object) -> object:
        return self.statistics.summarise(Query(*query))["count"]

    def test_bounds_are_inclusive(self) -> None:
        self.assertEqual(3, self.count(None, 20, 30))
        self.assertEqual(3, self.count(None, 10, 20))
        self.assertEqual(2, self.count("a", 20, None))
        self.assertEqual(0, self.count(None, 21, 29))

    def test_types(self) -> None:
        self.assertEqual([4, 3, 0], [self.count(t) for t in (None, "a", "c")])


class ParseQueryTest(unittest.TestCase):
    def test_what_makes_no_sense(self) -> None:
        for text in ("from=x", "to=1.5", "from=nan", "from=2&to=1"):
            with self.subTest(text), self.assertRaises(ValueError):
                parse_query(text)

    def test_all_may_be_left_out(self) -> None:
        self.assertEqual(Query(), parse_query(""))
        self.assertEqual(Query("a", 3, 3), parse_query("type=a&from=3&to=3"))


if __name__ == "__main__":
    unittest.main()
