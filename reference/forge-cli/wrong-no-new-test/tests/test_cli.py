"""The commands."""

import unittest

from forge.cli import run


class RunTest(unittest.TestCase):
    def test_it_returns_a_code_and_two_texts(self) -> None:
        code, stdout, stderr = run(["get", "nothing"], {})
        self.assertIs(int, type(code))
        self.assertIs(str, type(stdout))
        self.assertIs(str, type(stderr))

    def test_an_error_is_told_on_stderr_with_the_name_of_the_program(self) -> None:
        code, stdout, stderr = run(["get", "nothing"], {})
        self.assertNotEqual(0, code)
        self.assertEqual("", stdout)
        self.assertTrue(stderr.startswith("forge: "))
        self.assertTrue(stderr.endswith("\n"))


if __name__ == "__main__":
    unittest.main()
