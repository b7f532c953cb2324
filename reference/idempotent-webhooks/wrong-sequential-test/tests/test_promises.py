"""What the README promises beyond a good delivery."""

import unittest

from payhook.server import create_server
from tests.support import ServiceCase


class Promises(ServiceCase):
    def test_a_processed_delivery_is_a_duplicate_after_a_restart(self) -> None:
        self.order()
        self.deliver()
        self.server = create_server(
            "127.0.0.1", 0, data_file=self.data_file, acquirer_url=self.acquirer.url
        )
        self.serve(self.server)
        self.assertEqual((200, {"status": "duplicate"}), self.deliver())
        self.assertEqual(1, len(self.acquirer.captures))

    def test_a_paid_order_is_not_charged_for_another_delivery(self) -> None:
        self.order()
        self.deliver("evt_1")
        self.assertEqual((200, {"status": "already_paid"}), self.deliver("evt_2"))
        self.assertEqual(1, len(self.acquirer.captures))

    def test_an_unknown_order_is_not_found(self) -> None:
        self.assertEqual(404, self.deliver()[0])
        self.order()
        self.assertEqual((200, {"status": "processed"}), self.deliver())

    def test_another_amount_is_refused(self) -> None:
        self.order(amount_cents=4990)
        self.assertEqual(422, self.deliver(amount_cents=4991)[0])
        self.assertEqual([], self.acquirer.captures)

    def test_malformed_bodies_are_refused(self) -> None:
        self.order()
        good = {"delivery_id": "evt_1", "order_id": "A-1001", "amount_cents": 4990}
        bodies = ([], "text", {}, good | {"amount_cents": "4990"}, good | {"order_id": ""})
        for path in ("/deliveries", "/orders"):
            for body in bodies:
                with self.subTest(path=path, body=body):
                    status, answer = self.request("POST", path, body)
                    self.assertEqual(400, status)
                    self.assertIn("error", answer)
        self.assertEqual([], self.acquirer.captures)


if __name__ == "__main__":
    unittest.main()
