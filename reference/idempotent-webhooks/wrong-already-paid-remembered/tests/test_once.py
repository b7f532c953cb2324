"""An order is charged once, whatever is delivered at the same moment."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.support import ServiceCase


class AtOnce(ServiceCase):
    def deliver_at_once(self, *delivery_ids: str) -> list[str]:
        with ThreadPoolExecutor(len(delivery_ids)) as pool:
            answers = list(pool.map(self.deliver, delivery_ids))
        self.assertEqual({200}, {status for status, _ in answers})
        return sorted(body["status"] for _, body in answers)

    def test_copies_of_a_delivery_charge_once(self) -> None:
        self.order()
        answers = self.deliver_at_once(*["evt_1"] * 10)
        self.assertEqual(["duplicate"] * 9 + ["processed"], answers)
        self.assertEqual(1, len(self.acquirer.captures))

    def test_deliveries_for_an_order_charge_once(self) -> None:
        self.order()
        answers = self.deliver_at_once(*(f"evt_{n}" for n in range(10)))
        self.assertEqual(["already_paid"] * 9 + ["processed"], answers)
        self.assertEqual(1, len(self.acquirer.captures))


if __name__ == "__main__":
    unittest.main()
