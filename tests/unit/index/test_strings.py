"""The packed dictionary of strings: found by bisection, expanded by byte patterns."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import terms
from rye.index.arrays import pack
from rye.index.terms import Strings

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
        yield


def table(texts: list[str]) -> Strings:
    """Return a table of texts in the order of their bytes."""
    ordered = sorted(texts, key=encoded)
    offsets, buffer = pack(ordered)
    return Strings(offsets, buffer.data)


def encoded(text: str) -> bytes:
    """Return UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


@st.composite
def globs(draw: st.DrawFn) -> tuple[str, re.Pattern[str]]:
    """Draw a glob and the regular expression that says the same."""
    glob, pattern = "", ""
    for _ in range(draw(st.integers(0, 5))):
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
    strings = Strings(offsets, buffer.data)
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
    assert time.process_time() - began < 1.0
