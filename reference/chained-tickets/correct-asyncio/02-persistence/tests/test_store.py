import os
import tempfile
import unittest

from hop.store import Links


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "db")

    def reopened(self):
        links = Links(self.path)
        self.addCleanup(links.db.close)
        return links

    def test_links_are_there_again(self):
        links = self.reopened()
        links.put("abcd", "http://a.example/", 12.5)
        links.put("efgh", "http://b.example/", None)
        links.drop("efgh")
        again = self.reopened()
        self.assertEqual(again.find("abcd"), ("http://a.example/", 12.5))
        self.assertIsNone(again.find("efgh"))

    def test_garbage_is_kept(self):
        for n in range(2):
            with open(self.path, "w") as file:
                file.write(f"garbage {n}")
            self.reopened().put("abcd", "http://a.example/", None)
            self.assertEqual(self.reopened().find("abcd"), ("http://a.example/", None))
        kept = []
        for name in sorted(os.listdir(self.folder)):
            if name != "db":
                with open(os.path.join(self.folder, name)) as file:
                    kept.append((name[:2], file.read()))
        self.assertEqual(kept, [("db", "garbage 0"), ("db", "garbage 1")])
