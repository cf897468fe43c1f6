"""The packed dictionary: bisection, globs on byte patterns, and the filter in front of fuzzy words."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.index import terms
from rye.index.arrays import pack
from rye.index.segment import Segment
from rye.index.terms import Strings, perhaps_near, signature_arrays
from tests.support import naive_analysis
from tests.unit.index.segments import item, write

LETTERS = "ab*?\\.\n é你😀\ud800\x00\x7fß"
WORDS = st.text(st.sampled_from(LETTERS.replace("\n", "")), max_size=6)
TABLES = st.lists(WORDS, max_size=12, unique=True)


@pytest.fixture(scope="module", autouse=True, params=[False, True], ids=["whole", "small steps"])
def steps(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run everything also with steps so small that these small tables take several, and with every string copied."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setattr(terms, "_STEP", 2)
            patch.setattr(terms, "_MANY", 1)
            patch.setattr(terms, "_BLOCK", 3)
            patch.setattr(terms, "_EACH", 0)
        yield


def table(texts: list[str]) -> Strings:
    """Return a table of texts in the order of their bytes."""
    ordered = sorted(texts, key=encoded)
    offsets, buffer = pack(ordered)
    return Strings(offsets, memoryview(buffer))


def encoded(text: str) -> bytes:
    """Return UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


@st.composite
def globs(draw: st.DrawFn) -> tuple[str, re.Pattern[str]]:
    """Draw a glob and the regular expression that says the same."""
    glob, pattern = "", ""
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["*", "?", "text", "text"]))
        if kind != "text":
            glob += kind
            pattern += ".*" if kind == "*" else "."
            continue
        literal = draw(WORDS)
        glob += re.sub(r"([*?\\])", r"\\\1", literal)
        pattern += re.escape(literal)
    return glob, re.compile(pattern, re.DOTALL)


@given(st.lists(st.text(st.sampled_from(LETTERS), max_size=6), max_size=8))
def test_what_is_packed_is_read_back(texts: list[str]) -> None:
    """Strings come back in order, one by one, some, or all at once; a newline has become a space."""
    offsets, buffer = pack(texts)
    strings = Strings(offsets, memoryview(buffer))
    expected = [text.replace("\n", " ") for text in texts]
    assert len(strings) == len(texts)
    assert strings.everything == expected
    assert [strings[number] for number in range(len(texts))] == expected
    assert [strings.raw(number) for number in range(len(texts))] == [encoded(text) for text in expected]
    assert strings.take(np.arange(len(texts))[::-1]) == expected[::-1]


@given(TABLES, WORDS)
def test_bisection_finds_what_a_list_finds(texts: list[str], wanted: str) -> None:
    """``find`` and ``lower_bound`` agree with a sorted list."""
    strings, ordered = table(texts), sorted(texts, key=encoded)
    assert strings.find(wanted) == (ordered.index(wanted) if wanted in ordered else -1)
    assert strings.lower_bound(encoded(wanted)) == sum(encoded(text) < encoded(wanted) for text in ordered)


@given(TABLES, WORDS)
def test_a_prefix_is_a_range(texts: list[str], prefix: str) -> None:
    """The range holds exactly the strings that begin with the prefix; an empty one holds all."""
    strings = table(texts)
    low, high = strings.prefix_range(prefix)
    assert strings.everything[low:high] == [text for text in strings.everything if text.startswith(prefix)]


@given(TABLES, globs(), st.data())
def test_a_glob_matches_what_its_expression_matches(
    texts: list[str], glob: tuple[str, re.Pattern[str]], data: st.DataObject
) -> None:
    """Every shape of glob, in the whole table or a range of it, finds what a regular expression on text finds."""
    strings = table(texts)
    found = [number for number, text in enumerate(strings.everything) if glob[1].fullmatch(text)]
    assert strings.matching(glob[0]).tolist() == found
    low = data.draw(st.integers(0, len(strings)))
    high = data.draw(st.integers(low, len(strings)))
    inside = [number for number in found if low <= number < high]
    assert strings.matching(glob[0], within=(low, high)).tolist() == inside


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
    arrays = signature_arrays(table([]))
    assert {name: array.tolist() for name, array in arrays.items()} == {"term.length": [], "term.letters": []}
    assert near([], "a", 2) == set()


def test_five_bytes_are_kept_of_each_term_for_fuzzy_words() -> None:
    """What this costs on disk."""
    assert sum(array.nbytes for array in signature_arrays(table(["a", "b"])).values()) == 2 * 5


PAIRS = st.tuples(*[st.lists(st.sampled_from(["aa", "bb", "aa-bb"]), max_size=3).map(" ".join)] * 2)


@settings(max_examples=50)
@given(st.lists(PAIRS, max_size=5))
def test_a_document_counts_once_for_a_term(texts: list[tuple[str, str]]) -> None:
    """However many fields it stands in."""
    items = [item(f"z{number}", title=title, body=body) for number, (title, body) in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        segment = Segment(write(Path(folder) / "a", items))
        for number, count in enumerate(segment.term_docs.tolist()):
            postings, _ = segment.postings(np.asarray([number]))
            assert count == len(set(segment.places(postings)[0].tolist()))
