"""The commands, by the numbers of the README."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from forge.cli import run


class CommandCase(unittest.TestCase):
    def setUp(self) -> None:
        self.state: dict[str, Any] = {}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "export.json")

    def ok(self, *argv: str) -> str:
        code, stdout, stderr = run(list(argv), self.state)
        self.assertEqual((0, ""), (code, stderr), stdout)
        return stdout

    def fails(self, code: int, message: str, *argv: str) -> None:
        self.assertEqual((code, "", f"forge: {message}\n"), run(list(argv), self.state))

    def take_in(self, document: Any) -> tuple[int, str, str]:
        self.file.write_text(json.dumps(document), encoding="utf-8")
        return run(["import", str(self.file)], self.state)


class AddAndGet(CommandCase):
    def test_a_text_is_kept_as_it_is(self) -> None:
        for n, text in enumerate(("", " a ", "a\nb\n", "-v", "e\u0301")):
            self.assertEqual(f"added t{n}\n", self.ok("add", f"t{n}", text))
            self.assertEqual(f"{text}\n", self.ok("get", f"t{n}"))

    def test_options_end_at_two_dashes(self) -> None:
        self.ok("add", "--tag", "x", "--", "a", "--tag")
        self.assertEqual("--tag\n", self.ok("get", "a"))

    def test_a_name_is_taken_once(self) -> None:
        self.ok("add", "é", "1")
        self.fails(1, "snippet exists: é", "add", "e\u0301", "2")
        self.assertEqual("1\n", self.ok("get", "e\u0301"))

    def test_names_and_tags_follow_the_rule(self) -> None:
        self.ok("add", "x" * 64, "")
        for bad in ("", "x" * 65, "-x", ".x", "x y", "x\n", "x/y"):
            self.fails(2, f"bad name: {bad}", "add", "--", bad, "t")
            self.fails(2, f"bad tag: {bad}", "add", "a", "t", "--tag", bad)

    def test_what_is_not_there_is_not_found(self) -> None:
        self.fails(1, "no such snippet: a", "get", "a")
        self.fails(1, "no such snippet: a", "remove", "a")


class ListAndSearch(CommandCase):
    def test_order_ignores_case(self) -> None:
        for name in ("b", "a", "B", "C"):
            self.ok("add", name, "", "--tag", "z", "--tag", "Y", "--tag", "z")
        self.assertEqual("a #Y #z\nB #Y #z\nb #Y #z\nC #Y #z\n", self.ok("list"))

    def test_without_snippets(self) -> None:
        self.assertEqual("no snippets\n", self.ok("list"))

    def test_tags_filter(self) -> None:
        self.ok("add", "a", "", "--tag", "x")
        self.ok("add", "b", "", "--tag", "xy")
        self.assertEqual("a #x\n", self.ok("list", "--tag", "x"))
        self.assertEqual("removed a\n", self.ok("remove", "a"))
        self.fails(1, "no such tag: x", "list", "--tag", "x")

    def test_a_phrase_is_found_in_name_and_text(self) -> None:
        self.ok("add", "straße", "")
        self.ok("add", "b", "to STRASSE 1", "--tag", "hidden")
        self.assertEqual("b #hidden\nstraße\n", self.ok("search", "Strasse"))
        self.fails(1, "no match: hidden", "search", "hidden")


class ExportAndImport(CommandCase):
    def test_an_export_is_imported_again(self) -> None:
        self.assertEqual({"version": 1, "snippets": []}, json.loads(self.ok("export")))
        self.ok("add", "a", "1", "--tag", "x")
        document = json.loads(self.ok("export"))
        one = {"name": "a", "text": "1", "tags": ["x"]}
        self.assertEqual({"version": 1, "snippets": [one]}, document)
        self.state = {}
        told = "imported: 1 new, 0 merged, 0 conflicting\n"
        self.assertEqual((0, told, ""), self.take_in(document))
        self.assertEqual(document, json.loads(self.ok("export")))

    def test_tags_are_merged_and_conflicts_are_told(self) -> None:
        self.ok("add", "a", "1", "--tag", "x")
        self.ok("add", "b", "1", "--tag", "x")
        coming = [
            {"name": "b", "text": "2", "tags": ["y"]},
            {"name": "a", "text": "1", "tags": ["b"]},
        ]
        told = "imported: 0 new, 1 merged, 1 conflicting\n"
        self.assertEqual(
            (1, told, "forge: conflict: b\n"),
            self.take_in({"version": 1, "snippets": coming}),
        )
        self.assertEqual("a #b #x\nb #x\n", self.ok("list"))

    def test_a_malformed_import_changes_nothing(self) -> None:
        good = {"name": "a", "text": "", "tags": []}
        for document in (
            [],
            {"snippets": []},
            {"version": True, "snippets": []},
            {"version": 1, "snippets": {}},
            {"version": 1, "snippets": [good, good]},
            {"version": 1, "snippets": [good, {**good, "name": ""}]},
            {"version": 1, "snippets": [good, {"name": "b", "text": 1, "tags": []}]},
            {"version": 1, "snippets": [good, {"name": "b", "text": "", "tags": "x"}]},
        ):
            with self.subTest(document=document):
                message = f"forge: cannot import: {self.file}\n"
                self.assertEqual((1, "", message), self.take_in(document))
                self.assertEqual("no snippets\n", self.ok("list"))
        self.fails(1, "cannot import: \0", "import", "\0")


class WrongCommandLines(CommandCase):
    def test_commands(self) -> None:
        self.fails(2, "no command")
        self.fails(2, "unknown command: ad", "ad", "a", "b")

    def test_arguments_that_do_not_fit(self) -> None:
        self.fails(2, "usage: add NAME TEXT [--tag TAG]...", "add", "a")
        self.fails(2, "usage: add NAME TEXT [--tag TAG]...", "add", "a", "b", "--tag")
        self.fails(2, "usage: list [--tag TAG]", "list", "--tag", "a", "--tag", "b")
        self.fails(2, "usage: get NAME", "get", "a", "--tag", "b")
        self.fails(2, "usage: export", "export", "--all")


if __name__ == "__main__":
    unittest.main()
