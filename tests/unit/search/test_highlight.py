"""Highlights point at what matched, in the text as it was written, and the preview shows the best of the body."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.model import Item, Symbol
from rye.search.page.highlight import Matched, Matches, Shown, matched
from rye.search.page.marks import MOST, HighlightRequest, Ranges, mark, mark_all
from tests.support.effort import examples
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation

WORDS = {
    "file": "ﬁle",
    "café": "cafe\u0301",
    "naïve": "nai\u0308ve",
    "你好": "你好",
    "한국": unicodedata.normalize("NFD", "한국"),
    "abc": "ＡＢＣ",
    "ωμέγα": "ΩΜΈΓΑ",
    "ガス": "ｶﾞｽ",
    "deploy": "Deploy",
    "हिन्दी": "हिन्दी",
}
"""Terms, and texts that stand for them."""

BETWEEN = st.sampled_from([" ", "\u00a0", "，", " … ", " 😀 ", " — ", "\n", ", ", "（", "　", "。"])


def show(folder: Path, one: Item, asked: str, *, same_bytes: bool = True) -> Matched:
    """Search one item and return what matched in it."""
    found = evaluation(reader(folder, [one]), asked)
    matches = Matches([row.term for row in found.scored()], [0])
    return next(matched([Shown(one, 0, same_bytes)], matches))


def marked(text: str, ranges: Ranges) -> list[str]:
    """Return the texts of ranges that stand in order and apart."""
    flat = [place for pair in ranges for place in pair]
    assert flat == sorted(set(flat))
    assert not flat or flat[-1] <= len(text)
    return [text[start:end] for start, end in ranges]


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(sorted(WORDS)), BETWEEN), min_size=1, max_size=8), st.data())
def test_a_highlight_is_the_very_word(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Among ligatures, marks, wide and composed letters, ellipses and emoji exactly the words asked for are marked."""
    text = "".join(WORDS[word] + between for word, between in pieces)
    asked = data.draw(st.sets(st.sampled_from([word for word, _ in pieces]), min_size=1, max_size=2))
    one = item("z", title=text, body=text)
    found = show(tmp_path_factory.mktemp("marks"), one, " OR ".join(f'"{word}"' for word in sorted(asked)))
    expected = [WORDS[word] for word, _ in pieces if word in asked]
    assert marked(text, found.highlights["title"]) == expected
    assert marked(found.preview, found.highlights["preview"]) == expected


@pytest.mark.parametrize(
    ("title", "asked", "marks"),
    [
        ("Deploy, deploys, deployed", "deploy", ["Deploy", "deploys", "deployed"]),
        ("The fileSystem of file-system", "system", ["System", "system"]),
        ("a file-system", "file-system", ["file", "system"]),
        ("a filesystem", "file-system", ["filesystem"]),
        ("rye/fileSystem/read", "filesystem", ["fileSystem"]),
        ("threads", "thr*", ["threads"]),
        ("direcive", "directive~", ["direcive"]),
        ("a b c b", '"b c"', ["b", "c"]),
        ("b x y a b", '"a b"', ["a", "b"]),
        ("a b x", "a NEAR/1 b", ["a", "b"]),
        ("a x b", '"b a"~1', ["a", "b"]),
        ("Straße", "strasse", ["Straße"]),
        ("deploy it", "deploy -other", ["deploy"]),
        ("deploy it", "deploy OR never", ["deploy"]),
        ("ax² b", "ax2", ["ax²"]),
        ("a½ b", "a1", ["a½"]),
    ],
)
def test_highlights_by_example(tmp_path: Path, title: str, asked: str, marks: list[str]) -> None:
    """Inflections, parts, joined forms, typos and places are marked; phrases only where they stand."""
    found = show(tmp_path, item("z", title=title), f"title:({asked})")
    assert marked(title, found.highlights["title"]) == marks


def test_names_with_signs_are_marked_on_a_page_with_other_letters() -> None:
    """All texts of a page are searched as one; a letter beyond ASCII in one of them changes nothing in another."""
    sought = HighlightRequest(frozenset({"c++", ".net"}))
    several = mark_all([("Use C++ and .NET.", sought), ("Größe – C++", sought)])
    assert [marked(text, found) for text, found in zip(("Use C++ and .NET.", "Größe – C++"), several, strict=True)] == [
        ["C++", ".NET"],
        ["C++"],
    ]


def test_attack_a_body_of_nothing_but_marks_is_quick(tmp_path: Path) -> None:
    """Letters that only combine, words without end and endless white space cost no more than their length."""
    for body in (
        "e" + "\u0301\u0316" * 50_000 + " match",
        "x" * 100_000 + " match",
        " " * 100_000 + "match",
        "ａ，" * 20_000 + " match",
        "match," * 20_000,
        "match." * 20_000,
        "a-" * 50_000 + " match",
    ):
        found = show(tmp_path, item(f"z{len(body)}", body=body), "match")
        assert "match" in marked(found.preview, found.highlights["preview"])


@pytest.mark.parametrize(
    "text", ["aB" * 30_000, "a-" * 30_000 + "a", "a/" * 30_000 + "a", "a " * 30_000, "aX1q " * 20_000]
)
@pytest.mark.parametrize(
    "sought", [HighlightRequest(frozenset({"a"})), HighlightRequest(frozenset({"a"}), np.asarray([(0, 50_000)]))]
)
def test_attack_a_body_of_nothing_but_matches(text: str, sought: HighlightRequest) -> None:
    """Only so many words are marked, the first ones; what comes after costs little."""
    found = mark(text, sought)
    assert 0 < len(found) <= MOST
    assert found[-1][1] < len(text)


@pytest.mark.parametrize("asked", ["match", 'symbols:"match one"'])
def test_attack_a_tool_of_nothing_but_definitions_that_match(tmp_path: Path, asked: str) -> None:
    """Of many symbols, all of which match, as many are listed as are marked, in the order of the file."""
    symbols = tuple(Symbol(f"match_one{number // 2}_x", "function", number, number) for number in range(40_000))
    found = show(tmp_path, item("z", symbols=tuple(each._replace(name="match_one") for each in symbols)), asked)
    assert [symbol.line for symbol in found.symbols[:3]] == [0, 1, 2]
    assert len(found.symbols) >= MOST // 2
