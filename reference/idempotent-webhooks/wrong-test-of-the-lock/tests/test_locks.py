"""Deliveries for one order are judged one after the other."""

import threading
import unittest

from payhook.acquirer import Acquirer
from payhook.receiver import Receiver
from tests.support import ServiceCase


class OrderLocks(ServiceCase):
    def test_an_order_is_held_by_one_at_a_time(self) -> None:
        receiver = Receiver(self.server.store, Acquirer(self.acquirer.url))
        entered = threading.Event()

        def enter() -> None:
            with receiver._alone("A-1001"):
                entered.set()

        thread = threading.Thread(target=enter)
        with receiver._alone("A-1001"):
            thread.start()
            self.assertFalse(entered.wait(0.05))
        thread.join()
        self.assertTrue(entered.is_set())


if __name__ == "__main__":
    unittest.main()
