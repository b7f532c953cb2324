"""The only door to files: safe reading, tree digests, deterministic tar, atomic writes.

What lies in it is of one of two kinds: ours, where anything that is no regular file
is an error, or what an agent left, of which regular files are taken.

    regular    single files
    trees      folders of ours, and copies of what an agent left
    archives   the same as tar
    parsed     what files hold, as records
    untrusted  what somebody else left, read
    disk       a disk that takes no more
"""

from __future__ import annotations

from evalkit.files.archives import pack, unpack
from evalkit.files.parsed import (
    convert,
    decode_json,
    encode_json,
    read_toml,
)
from evalkit.files.regular import (
    clear_unwritten,
    expect_writable,
    file_digest,
    open_regular,
    package_data,
    read_regular,
    sha256,
    sync_folder,
    write_atomic,
    write_once,
)
from evalkit.files.trees import (
    Entry,
    Snapshot,
    Watch,
    digest_entries,
    private_folder,
    read_tree,
    remove_tree,
    safe_relative,
    snapshot,
    sync_tree,
    tree_digest,
    write_entries,
)

__all__ = [
    "Entry",
    "Snapshot",
    "Watch",
    "clear_unwritten",
    "convert",
    "decode_json",
    "digest_entries",
    "encode_json",
    "expect_writable",
    "file_digest",
    "open_regular",
    "pack",
    "package_data",
    "private_folder",
    "read_regular",
    "read_toml",
    "read_tree",
    "remove_tree",
    "safe_relative",
    "sha256",
    "snapshot",
    "sync_folder",
    "sync_tree",
    "tree_digest",
    "unpack",
    "write_atomic",
    "write_entries",
    "write_once",
]
