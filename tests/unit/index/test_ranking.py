"""Strings are put in byte order by arrays: the order and the places are those that sorting the bytes gives."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rye.index.arrays import ranked

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
