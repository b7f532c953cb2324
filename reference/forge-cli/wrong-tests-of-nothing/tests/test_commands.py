"""Every command is there."""

import unittest

from forge import cli

COMMANDS = ("add", "get", "list", "remove", "search", "export", "import")


class CommandsTest(unittest.TestCase):
    def test_run_is_there(self) -> None:
        self.assertTrue(callable(cli.run))

    def test_every_command_is_there(self) -> None:
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertIn(command, cli.COMMANDS)


if __name__ == "__main__":
    unittest.main()
