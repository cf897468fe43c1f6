"""What is kept of each term beside its text: it leaves out much, and nothing that is wanted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rye.index.segment import Segment
from rye.index.terms import perhaps_near, term_arrays
from tests.support import naive_analysis
from tests.unit.index.laying import item, write

WORDS = st.text(st.sampled_from("aAbé你😀\ud800\x00"), max_size=7)
NO_POSTINGS = np.empty(0, np.int32)


def near(terms: list[str], text: str, distance: int) -> set[str]:
    """Return the terms that are not left out."""
    arrays = term_arrays(terms, np.arange(len(terms) + 1), np.zeros(len(terms), np.int32))
    return {terms[number] for number in perhaps_near(arrays["term.length"], arrays["term.letters"], text, distance)}


@given(st.lists(WORDS, max_size=12, unique=True), WORDS, st.integers(0, 9))
def test_no_near_term_is_left_out(terms: list[str], text: str, distance: int) -> None:
    """Whatever the characters are, and though terms are shorter than the distance."""
    wanted = {term for term in terms if naive_analysis.levenshtein(text, term) <= distance}
    assert wanted <= near(terms, text, distance)


def test_far_terms_are_left_out() -> None:
    """Terms that are too short, too long, or made of other letters."""
    terms = ["", "deploy", "deplo", "deployed", "deployment", "signature", "xyzuvw"]
    assert near(terms, "deploy", 2) == {"deploy", "deplo", "deployed"}
    assert near(terms, "deploy", 1) == {"deploy", "deplo"}
    assert near(terms, "", 2) == {""}


def test_attack_terms_longer_than_a_byte_counts_are_near_each_other() -> None:
    """Lengths stop at 255; beyond that they leave nothing out."""
    terms = ["a" * 254, "a" * 255, "a" * 256, "a" * 5_000]
    assert near(terms, "a" * 257, 0) == set(terms[1:])
    assert near(terms, "a" * 255, 1) == set(terms)


def test_nothing_is_kept_of_no_terms() -> None:
    """An empty dictionary has empty arrays."""
    arrays = term_arrays([], np.zeros(1, np.int64), NO_POSTINGS)
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "term.length": [],
        "term.letters": [],
        "term.docs": [],
    }
    assert near([], "a", 2) == set()


def test_nine_bytes_are_kept_of_each_term() -> None:
    """What this costs on disk: five bytes for fuzzy words, four for the choice among too many terms."""
    arrays = term_arrays(["a", "b"], np.asarray([0, 1, 2]), np.zeros(2, np.int32))
    assert sum(array.nbytes for array in arrays.values()) == 2 * 9


PAIRS = st.tuples(*[st.lists(st.sampled_from(["aa", "bb", "aa-bb"]), max_size=3).map(" ".join)] * 2)


@given(st.lists(PAIRS, max_size=5))
def test_a_document_counts_once_for_a_term(texts: list[tuple[str, str]]) -> None:
    """However many fields it stands in."""
    items = [item(f"z{number}", title=title, body=body) for number, (title, body) in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        segment = Segment(write(Path(folder) / "a", items))
        for number, count in enumerate(segment.term_docs.tolist()):
            postings, _ = segment.postings(np.asarray([number]))
            assert count == len(set(segment.posting_doc[postings].tolist()))
