"""Operations on whole arrays: sorted numbers, ranges, and strings put in byte order."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rye.index.arrays import pack, ranges, ranked, unique, united


@given(st.lists(st.lists(st.integers(-(2**40), 2**40)), min_size=1, max_size=4))
def test_each_number_comes_once_in_ascending_order(rows: list[list[int]]) -> None:
    """As a set does it."""
    arrays = [np.asarray(row, np.int64) for row in rows]
    assert unique(*arrays).tolist() == sorted(set().union(*rows))
    assert [array.tolist() for array in arrays] == rows, "what is given is not changed"


TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\n\x00"), max_size=20),
        st.builds(lambda size, last: "ab" * size + last, st.integers(0, 14), st.sampled_from(["", "a", "é", "\ud800"])),
        st.sampled_from(["a\x00b", "a\x00", "a"]).map(lambda text: f"{text}c"),
    ),
    max_size=40,
)


@given(TEXTS)
@example([])
@example([""])
@example(["x" * 8, "x" * 16, "x" * 8, "x" * 17, ""])
def test_texts_are_ranked_as_their_bytes_are_sorted(texts: list[str]) -> None:
    """Whatever their lengths, and however often one recurs."""
    ordered, places = ranked(texts)
    assert ordered == sorted(set(texts), key=lambda text: text.encode("utf-8", "surrogatepass"))
    assert [ordered[place] for place in places.tolist()] == texts


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_tables_are_united_as_their_texts_are_ranked(several: list[list[str]]) -> None:
    """The same order and the same places."""
    texts = [text for each in several for text in each]
    table, places = united(list(map(pack, several)))
    ordered, expected = ranked(texts)
    assert [each.tolist() if isinstance(each, np.ndarray) else each for each in table] == [
        each.tolist() if isinstance(each, np.ndarray) else each for each in pack(ordered)
    ]
    assert places.tolist() == expected.tolist()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=6))
def test_ranges_are_ranges_one_after_the_other(pairs: list[tuple[int, int]]) -> None:
    """``ranges`` equals the concatenation of ``arange``."""
    starts = np.asarray([start for start, _ in pairs], np.int64)
    widths = np.asarray([width for _, width in pairs], np.int64)
    expected = [number for start, width in pairs for number in range(start, start + width)]
    assert ranges(starts, starts + widths).tolist() == expected
