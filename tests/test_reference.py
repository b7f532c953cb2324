"""reference: what overlays must get, and proofs bound to digests."""

import msgspec
import pytest

from evalkit import corpus, reference
from evalkit.errors import InputError, ProofError
from evalkit.records import ExpectedRow, Proof, ProofRow


def test_expected_scores_are_exact_fractions(root):
    case = corpus.load_case(root, "greet")
    expected = reference.load_expected(root, case)
    assert expected["fixture"]["task"] == ExpectedRow(0.5, ("says-name",))
    assert set(expected) == {"fixture", "correct", "naive", "wrong-shouts"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[naive.task]", "[nave.task]", "nave"),
        ("[naive.task]", "[naive.other]", "other"),
        ('"4/4"', '"5/4"', "a fraction"),
        ('"4/4"', '"all"', "a fraction"),
        ("failing", "fails", "fails"),
    ],
)
def test_a_bad_expected_file_is_refused_with_its_place(root, old, new, said):
    path = root / "reference/greet/expected.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=r"expected\.toml") as caught:
        reference.load_expected(root, corpus.load_case(root, "greet"))
    assert said in str(caught.value)


def _proof(root, case, **got):
    """A proof in which every overlay got what it must, or what is given."""
    rows = tuple(
        ProofRow(
            overlay,
            step,
            row,
            got.get(overlay, row),
            None,
            replayed=True,
            wall_s=0.1,
            cpu_s=None,
        )
        for overlay, steps in reference.load_expected(root, case).items()
        for step, row in steps.items()
    )
    return Proof("greet", case.digests, "source", "bwrap", rows)


def test_a_proof_is_found_by_the_digests_it_was_made_for(root):
    case = corpus.load_case(root, "greet")
    proof = _proof(root, case)
    reference.save_proof(root, case, proof)
    assert reference.load_proof(root, case) == proof
    (root / "cases/greet/fixture/README.md").write_text("moved")
    with pytest.raises(ProofError, match="evalkit verify greet"):
        reference.load_proof(root, corpus.load_case(root, "greet"))


def test_a_proof_that_does_not_hold_is_refused(root):
    case = corpus.load_case(root, "greet")
    wrong = _proof(root, case, correct=ExpectedRow(0.5, ("x",)))
    reference.save_proof(root, case, wrong)
    with pytest.raises(ProofError, match="does not"):
        reference.load_proof(root, case)


def test_a_proof_of_fewer_overlays_than_there_are_is_refused(root):
    case = corpus.load_case(root, "greet")
    whole = _proof(root, case)
    reference.save_proof(
        root, case, msgspec.structs.replace(whole, rows=whole.rows[1:])
    )
    with pytest.raises(ProofError, match="does not"):
        reference.load_proof(root, case)


def test_an_overlay_lies_over_the_fixture(root, tmp_path):
    case = corpus.load_case(root, "greet")
    reference.lay_out(root, case, "correct", case.steps[0], tmp_path / "w")
    assert "hello {name}" in (tmp_path / "w/greet.py").read_text()
    assert (tmp_path / "w/README.md").exists()
