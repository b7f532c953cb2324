import json
import os
import tempfile
import unittest

from forge.cli import run


class Specification(unittest.TestCase):
    """Sessions as a user would have them: `$` a command, then what it answers."""

    def setUp(self):
        self.state = {}

    def expect(self, argv, code, out="", err=""):
        self.assertEqual(run(argv, self.state), (code, out, err))
        self.state = json.loads(json.dumps(self.state))

    def test_a_session(self):
        self.expect(["list"], 0, "no snippets\n")
        self.expect(["add", "b", "B text", "--tag", "x"], 0, "added b\n")
        self.expect(["add", "A", "--tag", "x", "--tag", "y", ""], 0, "added A\n")
        self.expect(["add", "A", "1"], 1, err="forge: snippet exists: A\n")
        self.expect(["list"], 0, "A #x #y\nb #x\n")
        self.expect(["list", "--tag", "y"], 0, "A #x #y\n")
        self.expect(["list", "--tag", "Y"], 1, err="forge: no such tag: Y\n")
        self.expect(["get", "b"], 0, "B text\n")
        self.expect(["search", "b TEXT"], 0, "b #x\n")
        self.expect(["search", "y"], 1, err="forge: no match: y\n")
        self.expect(["remove", "A"], 0, "removed A\n")
        self.expect(["remove", "A"], 1, err="forge: no such snippet: A\n")

    def test_misuse(self):
        self.expect([], 2, err="forge: no command\n")
        self.expect(["LIST"], 2, err="forge: unknown command: LIST\n")
        self.expect(["add", "a"], 2, err="forge: usage: add NAME TEXT [--tag TAG]...\n")
        self.expect(["get", "a b"], 2, err="forge: bad name: a b\n")

    def test_exchange(self):
        self.expect(["add", "a", "1", "--tag", "t"], 0, "added a\n")
        out = run(["export"], self.state)[1]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(out)
            self.expect(
                ["import", path], 0, "imported: 0 new, 1 merged, 0 conflicting\n"
            )
            self.state = {}
            self.expect(["add", "a", "2"], 0, "added a\n")
            self.expect(
                ["import", path],
                1,
                "imported: 0 new, 0 merged, 1 conflicting\n",
                "forge: conflict: a\n",
            )
        self.expect(["import", path], 1, err=f"forge: cannot import: {path}\n")
