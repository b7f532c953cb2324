import unittest

from billing.pricing import basket_total, line_total


class LineTotalTest(unittest.TestCase):
    def test_a_line_without_discount_stays_as_it_is(self):
        self.assertEqual(line_total(1999, 0), 1999)

    def test_a_discount_is_taken_off(self):
        self.assertEqual(line_total(1000, 30), 700)
        self.assertEqual(line_total(1000, 7), 930)

    def test_parts_of_a_cent_are_rounded(self):
        self.assertEqual(line_total(333, 10), 300)
        self.assertEqual(line_total(338, 10), 304)

    def test_half_a_cent_is_rounded_up_as_in_the_evidence(self):
        cases = [(165, 30, 116), (250, 7, 233), (325, 30, 228), (345, 30, 242)]
        for cents, pct, due in cases:
            with self.subTest(cents=cents, pct=pct):
                self.assertEqual(line_total(cents, pct), due)

    def test_half_a_cent_is_rounded_up_whatever_the_amount(self):
        self.assertEqual(line_total(10**12 + 5, 30), 7 * 10**11 + 4)
        self.assertEqual(line_total(95, 30), 67)

    def test_everything_off_is_nothing(self):
        self.assertEqual(line_total(500, 100), 0)

    def test_a_discount_out_of_range_is_refused(self):
        for pct in (-1, 101):
            with self.assertRaises(ValueError):
                line_total(100, pct)


class BasketTotalTest(unittest.TestCase):
    def test_a_total_is_the_sum_of_its_lines(self):
        self.assertEqual(basket_total([(1000, 30), (250, 0), (500, 10)]), 1400)

    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(basket_total([]), 0)


if __name__ == "__main__":
    unittest.main()
