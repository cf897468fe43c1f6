"""The packed dictionary: bisection, globs on byte patterns, and the filter in front of fuzzy words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.storage import terms
from rye.index.storage.arrays import pack
from rye.index.storage.terms import Strings, perhaps_near, signature_arrays
from tests.support import naive_analysis


def table(texts: list[str]) -> Strings:
    """Return a table of texts in the order of their bytes."""
    ordered = sorted(texts, key=encoded)
    offsets, buffer = pack(ordered)
    return Strings(offsets, memoryview(buffer))


def encoded(text: str) -> bytes:
    """Return UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("glob", "matches"),
    [
        ("", [""]),
        ("*", ["", "a*b", "axb", "abba", "é", "你好"]),
        ("**", ["", "a*b", "axb", "abba", "é", "你好"]),
        (r"a\*b", ["a*b"]),
        ("a*b", ["a*b", "axb"]),
        ("a*", ["a*b", "axb", "abba"]),
        ("*b*", ["a*b", "axb", "abba"]),
        ("*bb*", ["abba"]),
        ("?", ["é"]),
        ("??", ["你好"]),
        ("*?", ["a*b", "axb", "abba", "é", "你好"]),
        ("*b?*a", ["abba"]),
        ("*ba*b*", []),
        ("a?b", ["a*b", "axb"]),
        ("*?b*", ["a*b", "axb", "abba"]),
        ("*?é", []),
        ("*x?", ["axb"]),
        ("*b?", ["abba"]),
        ("*x?b", []),
        ("*b??", ["abba"]),
        ("*b?*", ["abba"]),
        ("*?x*", ["axb"]),
        ("*??", ["a*b", "axb", "abba", "你好"]),
        ("?*?", ["a*b", "axb", "abba", "你好"]),
        ("?好*", ["你好"]),
        ("*a", ["abba"]),
        ("a*a", ["abba"]),
        ("abba*abba", []),
        ("*\n*", []),
    ],
)
def test_globs_by_example(glob: str, matches: list[str]) -> None:
    """A star is any run, a question mark one character of any width, a backslash makes either a plain character."""
    strings = table(["", "a*b", "axb", "abba", "é", "你好"])
    assert sorted(strings.take(strings.matching(glob))) == sorted(matches)


def test_attack_many_stars_do_not_multiply_the_time() -> None:
    """A glob of many stars over a long term of one letter answers at once: no backtracking between its pieces."""
    strings = table(["a" * 255, "b"])
    began = time.process_time()
    assert strings.matching("a*" * 100 + "b").tolist() == []
    assert strings.matching("*a" * 100 + "*").tolist() == [0]
    assert strings.matching("*a?" * 60 + "*b").tolist() == []
    assert strings.matching("*?" * 255 + "*").tolist() == [0]
    assert strings.matching("?" * 256).tolist() == []
    assert time.process_time() - began < 5


def test_attack_many_stars_over_many_words_take_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stars are not each a pass over all words: not where no word is long enough, nor where many words nearly match."""
    for name, value in (("_EACH", 4), ("_MANY", 16), ("_BLOCK", 1 << 17)):
        monkeypatch.setattr(terms, name, value)
    short = table([f"a{number:06x}zz" for number in range(200_000)])
    long = table([f"{'ab' * 100}{number:06x}zz" for number in range(10_000)])
    began = time.process_time()
    assert short.matching("a*b*" * 200 + "zz").tolist() == []
    assert len(long.matching("a*b*" * 100 + "zz")) == 10_000
    assert len(long.matching("a*b*" * 100 + "0*zz")) > 0
    assert long.matching("a*b*" * 100 + "x*zz").tolist() == []
    assert time.process_time() - began < 10


FUZZY = st.text(st.sampled_from("aAbé你😀\ud800\x00"), max_size=7)


def near(terms: list[str], text: str, distance: int) -> set[str]:
    """Return the terms that are not left out."""
    arrays = signature_arrays(table(terms))
    ordered = table(terms).everything
    return {ordered[number] for number in perhaps_near(arrays["term.length"], arrays["term.letters"], text, distance)}


@given(st.lists(FUZZY, max_size=12, unique=True), FUZZY, st.integers(0, 9))
def test_no_near_term_is_left_out(terms: list[str], text: str, distance: int) -> None:
    """Whatever the characters are, and though terms are shorter than the distance."""
    wanted = {term for term in terms if naive_analysis.levenshtein(text, term) <= distance}
    assert wanted <= near(terms, text, distance)


def test_attack_terms_longer_than_a_byte_counts_are_near_each_other() -> None:
    """Lengths stop at 255; beyond that they leave nothing out."""
    terms = ["a" * 254, "a" * 255, "a" * 256, "a" * 5_000]
    assert near(terms, "a" * 257, 0) == set(terms[1:])
    assert near(terms, "a" * 255, 1) == set(terms)
