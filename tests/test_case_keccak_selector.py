"""keccak-selector: the grader's and the reference's hashes against others' hashes."""

import hashlib
import importlib.util
import random
import subprocess
import sys

import pytest
from conftest import REPOSITORY
from Crypto.Hash import keccak

GRADER = REPOSITORY / "graders/keccak-selector/grade.py"
REFERENCE = REPOSITORY / "reference/keccak-selector"
FIXTURE = REPOSITORY / "cases/keccak-selector/fixture"
PUBLISHED = {
    "no-arguments": "18160ddd",
    "elementary-arguments": "a9059cbb",
    "array-arguments": "38ed1739",
    "tuple-arguments": "414bf389",
    "output-format": "095ea7b3",
}
"""Selectors as contract explorers show them."""


def _load(path):
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def grader():
    return _load(GRADER)


@pytest.fixture(scope="module")
def reference():
    return _load(REFERENCE / "correct/calltag/keccak.py")


def _messages():
    rng = random.Random(13)
    edges = [n * 136 + d for n in (1, 2, 3) for d in (-2, -1, 0, 1)]
    sizes = [0, 1, 7, 8, 9, *edges, *(rng.randrange(1_000) for _ in range(60))]
    return [rng.randbytes(size) for size in sizes]


def _keccak(message):
    return keccak.new(digest_bits=256, data=message).digest()


def test_the_grader_hashes_as_pycryptodome_does(grader):
    for message in _messages():
        assert grader.hash_256(message) == _keccak(message)


def test_the_graders_permutation_is_that_of_sha3(grader):
    for message in _messages():
        assert grader.hash_256(message, 0x06) == hashlib.sha3_256(message).digest()


def test_the_reference_hashes_as_pycryptodome_does(reference):
    for message in _messages():
        assert reference.keccak_256(message) == _keccak(message)


def test_the_references_permutation_is_that_of_sha3(reference):
    for message in _messages():
        sha3 = reference.sponge(message, 0x06)
        assert sha3 == hashlib.sha3_256(message).digest()


def test_functions_everybody_knows_have_their_published_selectors(grader):
    found = {check: grader.digits(text) for check, text in grader.PUBLIC.items()}
    assert found == PUBLISHED


def test_no_file_that_an_agent_sees_holds_a_selector_or_the_difference(grader):
    case = FIXTURE.parent
    seen = [case / "prompt.md", *(p for p in FIXTURE.rglob("*") if p.is_file())]
    texts = [path.read_text().lower() for path in seen if path.suffix != ".pyc"]
    known = [grader.digits(text) for text in grader.PUBLIC.values()]
    listed = subprocess.run(
        [sys.executable, "-B", "-m", "calltag", "signatures", "docs/vault.abi.json"],
        cwd=FIXTURE,
        capture_output=True,
        text=True,
        check=True,
    )
    known += [grader.digits(line) for line in listed.stdout.splitlines()]
    for word in (*known, "sha3", "sha-3", "padding", "nist", "fips"):
        assert not [text for text in texts if word in text], word


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os.path, sha3.keccak as k", {"os", "sha3"}),
        ("from . import keccak\nfrom .a import b", set()),
        ("try:\n    from Crypto.Hash import keccak\nexcept ImportError: 1", {"Crypto"}),
        ("load = importlib.import_module('eth_hash.x')", {"eth_hash"}),
        ("load = __import__('sha3')", {"sha3"}),
        ("import (", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(grader, source, names):
    assert grader.imported(source) == names
