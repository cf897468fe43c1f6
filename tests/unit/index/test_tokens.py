"""Texts are cut into chunks, and equal chunks get one number, however long they are and wherever they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rye.index import analysis
from rye.index.bulk_analysis import Vocabulary

SIZES = (1, 7, 8, 9, 15, 16, 17, 24, 25, 254, 255, 256, 257, 300)
WORDS = st.builds(lambda size, last: "a" * (size - 1) + last, st.sampled_from(SIZES), st.sampled_from("ab0"))
TEXTS = st.lists(
    st.lists(WORDS | st.sampled_from(["--", "x\x00y", "a/b-c", "ﬁne", ",;"]), max_size=4).map(" ".join), max_size=6
)


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_equal_chunks_get_one_number_and_others_another(batches: list[list[str]]) -> None:
    """Batch after batch, a text has as many chunks as it is cut into, and each has the terms that it has alone."""
    vocabulary = Vocabulary()
    numbered: dict[int, list[str]] = {}
    for texts in batches:
        chunks, sizes = vocabulary.read(texts)
        named = list(vocabulary.terms)
        ends = sizes.cumsum().tolist()
        for text, end, size in zip(texts, ends, sizes.tolist(), strict=True):
            numbers = [number for number in chunks[end - size : end].tolist() if vocabulary.part_counts[number]]
            expected = analysis.chunks(analysis.normalize(text))
            assert len(numbers) == len(expected)
            for number, chunk in zip(numbers, expected, strict=True):
                tokens = vocabulary.token_terms[vocabulary.starts[number] : vocabulary.starts[number + 1]]
                terms = sorted(named[token] for token in tokens)
                assert terms == sorted(token.term for token in analysis.analyze_chunk(chunk))
                assert numbered.setdefault(number, terms) == terms
