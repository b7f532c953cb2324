"""files: safe reading, digests, deterministic archives."""

import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from evalkit import files
from evalkit.errors import InputError


def _tree(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "sub" / "b.sh").write_text("b")
    return folder


def test_a_trusted_tree_is_read_in_one_fixed_order(tmp_path):
    names = [entry.path for entry in files.read_tree(_tree(tmp_path / "t"))]
    assert names == ["a.txt", "sub/b.sh"]


def test_a_digest_depends_on_the_executable_bit(tmp_path):
    tree = _tree(tmp_path / "t")
    before = files.tree_digest(tree)
    (tree / "sub" / "b.sh").chmod(0o755)
    assert files.tree_digest(tree) != before


def test_a_digest_depends_on_names_and_bytes_but_not_on_caches(tmp_path):
    one, two = _tree(tmp_path / "one"), _tree(tmp_path / "two")
    (two / "__pycache__").mkdir()
    (two / "__pycache__" / "a.pyc").write_bytes(b"x")
    assert files.tree_digest(one) == files.tree_digest(two)
    (two / "a.txt").rename(two / "c.txt")
    assert files.tree_digest(one) != files.tree_digest(two)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_trusted_tree_with_anything_but_regular_files_is_refused(tmp_path, kind):
    tree = _tree(tmp_path / "t")
    odd = tree / "odd"
    odd.symlink_to("/etc/passwd") if kind == "link" else os.mkfifo(odd)
    with pytest.raises(InputError, match=f"a {kind}"):
        files.read_tree(tree)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "a pipe"),
        (lambda path: path.symlink_to("/etc/passwd"), "symbolic links"),
        (Path.exists, "No such file"),
    ],
)
def test_what_is_no_regular_file_is_not_read(tmp_path, make, found):
    make(tmp_path / "odd")
    with pytest.raises(InputError, match=found):
        files.read_regular(tmp_path / "odd")


def test_a_snapshot_takes_regular_files_and_names_what_it_left_out(tmp_path):
    tree = _tree(tmp_path / "t")
    (tree / "out").symlink_to("/etc/passwd")
    os.mkfifo(tree / "pipe")
    with (tree / "huge").open("wb") as huge:
        huge.truncate(files.untrusted.MAX_FILE_BYTES + 1)
    (tree / "sub/b.sh").chmod(0o755)
    taken = files.snapshot(tree, tmp_path / "copy")
    assert [line.split(":")[0] for line in taken.left_out] == ["huge", "out", "pipe"]
    assert taken.entries == files.read_tree(tmp_path / "copy")
    assert taken.entries[1] == files.Entry("sub/b.sh", b"b", executable=True)
    assert not (tmp_path / "copy" / "out").exists()


def test_a_link_on_the_way_to_a_snapshot_is_not_followed(tmp_path):
    (tmp_path / "secret" / "projects").mkdir(parents=True)
    (tmp_path / "secret" / "projects" / "s.jsonl").write_text("secret")
    for name in (".claude", "projects"):
        home = tmp_path / name / "home"
        (home / ".claude").mkdir(parents=True)
        link = home / ".claude" if name == ".claude" else home / ".claude/projects"
        if link.is_dir():
            link.rmdir()
        link.symlink_to(tmp_path / "secret" / ("" if name == ".claude" else "projects"))
        copy = tmp_path / name / "copy"
        left_out = files.snapshot(home, copy, below=".claude/projects").left_out
        assert left_out == (".claude/projects: Not a directory",)
        assert list(copy.iterdir()) == []


def test_what_cannot_be_kept_by_its_name_is_left_out_by_name(tmp_path):
    tree = _tree(tmp_path / "t")
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff")).write_text("x")
    assert files.snapshot(tree, tmp_path / "copy").left_out == (
        "\\udcff: a name that is no Unicode",
    )
    files.digest_entries(files.read_tree(tmp_path / "copy"))


def test_a_path_without_end_is_left_out(tmp_path):
    tree = _tree(tmp_path / "t")
    deep = tree
    for _ in range(10):
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    (deep / "f").write_text("x")
    (told,) = files.snapshot(tree, tmp_path / "copy").left_out
    assert told.endswith("a path over 1,024 bytes")


def test_a_folder_that_was_closed_to_us_is_named():
    folder = Path(tempfile.mkdtemp())
    tree = _tree(folder / "t")
    tree.chmod(0)
    told = folder / "told"
    child = os.fork()
    if child == 0:  # root would read it all the same
        if os.geteuid() == 0:
            for path in (folder, tree):
                os.chown(path, 61_234, 61_234)
            os.setuid(61_234)
        told.write_text(repr(files.snapshot(tree, folder / "copy").left_out))
        os._exit(0)
    os.waitpid(child, 0)
    assert told.read_text() == "('.: Permission denied',)"
    tree.chmod(0o700)
    files.remove_tree(folder)


def test_a_flood_of_files_is_cut_and_counted(tmp_path):
    tree = tmp_path / "t"
    tree.mkdir()
    n_files = files.untrusted.MAX_FILES + files.untrusted.MAX_TOLD + 5
    for n in range(n_files):
        os.close(os.open(tree / str(n), os.O_CREAT))
    left_out = files.snapshot(tree, tmp_path / "copy").left_out
    assert len(list((tmp_path / "copy").iterdir())) == files.untrusted.MAX_FILES
    assert len(left_out) == files.untrusted.MAX_TOLD + 1
    assert left_out[-1] == "... and 5 more"


def test_what_cannot_be_made_durable_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.sync_tree(tmp_path / "none")


def test_an_archive_depends_on_content_alone(tmp_path):
    one, two = _tree(tmp_path / "one"), _tree(tmp_path / "two")
    os.utime(two / "a.txt", (1, 1))
    packed = files.pack(files.read_tree(one))
    assert packed == files.pack(files.read_tree(two))
    files.unpack(packed, tmp_path / "out")
    assert files.tree_digest(tmp_path / "out") == files.tree_digest(one)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a/../../b"])
def test_a_path_that_leaves_its_folder_is_refused(path):
    with pytest.raises(InputError, match="inside its folder"):
        files.safe_relative(path)


def test_a_file_written_once_is_not_written_twice(tmp_path):
    files.write_once(tmp_path / "x", b"1")
    with pytest.raises(InputError, match="no such file yet"):
        files.write_once(tmp_path / "x", b"2")
    assert (tmp_path / "x").read_bytes() == b"1"


def test_folders_nested_beyond_reason_are_left_out_and_still_removed(tmp_path):
    deep = tmp_path / "w"
    deep.mkdir()
    handle = os.open(deep, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d" * 20, dir_fd=handle)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    (deep / "kept.txt").write_text("x")
    left_out = files.snapshot(deep, tmp_path / "copy").left_out
    assert [line.rsplit(": ", 1)[1] for line in left_out] == [
        "a folder nested too deep"
    ]
    assert (tmp_path / "copy" / "kept.txt").exists()
    files.remove_tree(deep)
    assert not deep.exists()


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000, "="])
def test_toml_that_cannot_be_read_is_refused_with_its_file(tmp_path, text):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=r"x\.toml"):
        files.read_toml(tmp_path / "x.toml")


def test_a_small_file_takes_no_memory_for_the_largest_that_may_be_read(tmp_path):
    path = tmp_path / "small"
    path.write_bytes(b"x" * 1000)
    tracemalloc.start()
    try:
        assert len(files.read_regular(path, max_bytes=2**30)) == 1000
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2**20


def test_a_file_that_tells_no_size_is_read_whole_and_cut_at_the_limit():
    told = Path("/proc/version")
    assert told.stat().st_size == 0
    assert files.read_regular(told) == told.read_bytes() != b""
    with pytest.raises(InputError, match="at most 10 bytes"):
        files.read_regular(told, max_bytes=10)


def _into_new_folder(root: Path) -> None:
    (root / "tree/empty/f").write_text("x")


def _replaced(root: Path) -> None:
    seen = (root / "tree/a.txt").stat()
    (root / "new").write_text("b")
    os.utime(root / "new", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    (root / "new").replace(root / "tree/a.txt")


TOUCHES = {
    "written": lambda root: (root / "tree/a.txt").write_text("other"),
    "dated": lambda root: os.utime(root / "tree/sub/b.sh"),
    "made executable": lambda root: (root / "tree/sub/b.sh").chmod(0o755),
    "added": lambda root: (root / "tree/sub/c.txt").touch(),
    "removed": lambda root: (root / "tree/sub/b.sh").unlink(),
    "renamed": lambda root: (root / "tree/a.txt").rename(root / "tree/b.txt"),
    "replaced": _replaced,
    "added to an empty folder": _into_new_folder,
    "a folder removed": lambda root: (root / "tree/empty").rmdir(),
    "all removed": lambda root: files.remove_tree(root / "tree"),
    "a file that was missing": lambda root: (root / "missing").touch(),
    "a file alone": lambda root: (root / "alone").write_text("other"),
    "what a link leads to": lambda root: (root / "far").write_text("other"),
}


@pytest.fixture
def watchable(tmp_path):
    """What was made before the file system's clock ticked last."""
    (_tree(tmp_path / "tree") / "empty").mkdir()
    (tmp_path / "tree/__pycache__").mkdir()
    for name in ("alone", "far", "clock"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("far")
    begun = (tmp_path / "far").stat().st_ctime_ns
    while (tmp_path / "clock").stat().st_ctime_ns == begun:
        (tmp_path / "clock").touch()
    return [tmp_path / name for name in ("tree", "alone", "link", "missing")]


@pytest.fixture
def watched(watchable):
    return files.Watch(watchable)


@pytest.mark.parametrize("touch", TOUCHES)
def test_whatever_is_done_to_watched_files_is_noticed(tmp_path, watched, touch):
    assert not watched.touched()
    TOUCHES[touch](tmp_path)
    assert watched.touched()


def test_what_is_written_into_a_cache_that_was_there_is_not_watched(tmp_path, watched):
    (tmp_path / "tree/__pycache__/a.cpython-311.pyc").touch()
    assert not watched.touched()


class _Listing:
    """A folder's entries; a file comes into the folder once they are listed."""

    scandir = staticmethod(os.scandir)

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __enter__(self):
        with self.scandir(self.folder) as entries:
            return iter(list(entries))

    def __exit__(self, *exc: object) -> None:
        Path(self.folder, "late").touch()


def test_what_comes_while_a_watch_begins_is_noticed(watchable, monkeypatch):
    monkeypatch.setattr(os, "scandir", _Listing)
    assert files.Watch(watchable).touched()
