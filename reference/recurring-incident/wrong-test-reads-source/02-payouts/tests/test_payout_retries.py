import unittest
from pathlib import Path

from payments import payouts


class PayoutRetries(unittest.TestCase):
    def test_payments_go_through_once(self) -> None:
        source = Path(payouts.__file__).read_text()
        self.assertIn("return once(KIND, request_id, pay)", source)


if __name__ == "__main__":
    unittest.main()
