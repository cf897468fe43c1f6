"""Many chunks analyzed at once have the tokens that each has by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import analysis
from rye.index.bulk_analysis import analyze_spelled, spelled

WORDS = st.text(alphabet="abZ1_-./éÉ\u0301ﬁ", max_size=12) | st.sampled_from(
    ["fileSystem", "HTTPServer", "rye/file-system/readAll", "a" * 300, "aB" * 100, "v2X", "a._/b", "", "x/y/z", "a_b/c"]
)


@given(st.lists(WORDS, max_size=8))
def test_chunks_analyzed_at_once_have_the_tokens_that_each_has_alone(words: list[str]) -> None:
    """Terms, offsets and numbers of parts are those that the analysis of one chunk gives, in whatever company."""
    chunks = ["first", *(chunk for word in words for chunk in analysis.chunks(analysis.normalize(word)))]
    terms, owners, offsets, counts = analyze_spelled(spelled(chunks))
    found: list[list[tuple[str, int]]] = [[] for _ in chunks]
    for term, owner, offset in zip(terms, owners.tolist(), offsets.tolist(), strict=True):
        found[owner].append((term, offset))
    alone = list(map(analysis.analyze_chunk, chunks))
    assert list(map(sorted, found)) == [sorted((token.term, token.offset) for token in tokens) for tokens in alone]
    assert counts.tolist() == [sum(token.part for token in tokens) for tokens in alone]


@pytest.mark.parametrize(
    ("chunk", "spelling"),
    [("fileSystem", "file_system"), ("HTTPServer-v2", "http_server_v2"), ("Rye//Core._/read.All", "rye/core/read_all")],
)
def test_a_chunk_is_spelled_with_one_mark_at_each_border(chunk: str, spelling: str) -> None:
    """Parts are parted by one underscore and segments by one slash, however the chunk was written."""
    assert spelled([chunk, "other"]) == [spelling, "other"]
