"""The commands."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from forge.cli import run


class RunTest(unittest.TestCase):
    def setUp(self) -> None:
        self.state: dict[str, Any] = {}
        run(["add", "greet", "echo hello", "--tag", "shell"], self.state)
        run(["add", "bye", "echo bye"], self.state)

    def test_an_error_is_told_on_stderr_with_the_name_of_the_program(self) -> None:
        answer = run(["get", "nothing"], self.state)
        self.assertEqual((1, "", "forge: no such snippet: nothing\n"), answer)

    def test_get(self) -> None:
        self.assertEqual((0, "echo hello\n", ""), run(["get", "greet"], self.state))

    def test_a_name_is_taken_once(self) -> None:
        answer = run(["add", "bye", ""], self.state)
        self.assertEqual((1, "", "forge: snippet exists: bye\n"), answer)

    def test_list(self) -> None:
        self.assertEqual((0, "bye\ngreet #shell\n", ""), run(["list"], self.state))
        answer = run(["list", "--tag", "shell"], self.state)
        self.assertEqual((0, "greet #shell\n", ""), answer)

    def test_search(self) -> None:
        answer = run(["search", "HELLO"], self.state)
        self.assertEqual((0, "greet #shell\n", ""), answer)

    def test_remove(self) -> None:
        self.assertEqual((0, "removed bye\n", ""), run(["remove", "bye"], self.state))
        self.assertEqual((0, "greet #shell\n", ""), run(["list"], self.state))

    def test_an_export_is_imported_again(self) -> None:
        _, exported, _ = run(["export"], self.state)
        self.assertEqual(2, len(json.loads(exported)["snippets"]))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "export.json")
            file.write_text(exported, encoding="utf-8")
            state: dict[str, Any] = {}
            answer = run(["import", str(file)], state)
            self.assertEqual("imported: 2 new, 0 merged, 0 conflicting\n", answer[1])
            self.assertEqual(exported, run(["export"], state)[1])

    def test_commands(self) -> None:
        self.assertEqual((2, "", "forge: no command\n"), run([], self.state))
        answer = run(["show"], self.state)
        self.assertEqual((2, "", "forge: unknown command: show\n"), answer)


if __name__ == "__main__":
    unittest.main()
