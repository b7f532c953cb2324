"""An order is charged once, whatever is delivered at the same moment."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.support import ServiceCase


class AtOnce(ServiceCase):
    def deliver_at_once(self, *delivery_ids: str) -> list[str]:
        with ThreadPoolExecutor(len(delivery_ids)) as pool:
            answers = list(pool.map(self.deliver, delivery_ids))
        return [body.get("status", "refused") for _, body in answers]

    def test_copies_of_a_delivery_charge_once(self) -> None:
        self.order()
        answers = self.deliver_at_once(*["evt_1"] * 10)
        self.assertEqual(1, answers.count("processed"))
        self.assertEqual(1, len(self.acquirer.captures))


if __name__ == "__main__":
    unittest.main()
