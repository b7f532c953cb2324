import csv
import unittest
from pathlib import Path

from billing.pricing import basket_total

EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence.csv"


class EvidenceTest(unittest.TestCase):
    def test_every_order_of_the_evidence_costs_what_it_should(self):
        with EVIDENCE.open(newline="", encoding="utf-8") as rows:
            for row in csv.DictReader(rows):
                pct = int(row["discount_pct"])
                lines = [(int(cents), pct) for cents in row["line_cents"].split("+")]
                with self.subTest(order=row["order"]):
                    self.assertEqual(basket_total(lines), int(row["should_be_cents"]))


if __name__ == "__main__":
    unittest.main()
