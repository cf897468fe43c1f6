"""Many texts analyzed at once have the tokens that each chunk has alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import analysis
from rye.index.bulk_analysis import Vocabulary, analyze_spelled, spelled

SPELLED = st.text(alphabet="abZ1_-./+#=>éÉ\u0301ﬁ🌿数据คำ한", max_size=12) | st.sampled_from(
    [
        "ChaCha20Poly1305",
        "a-b-2/x",
        "aCd3-e4/fG-5",
        "fileSystem",
        "HTTPServer",
        "rye/file-system/readAll",
        "a" * 300,
        "aB" * 100,
        "v2X",
        "a._/b",
        "",
        "x/y/z",
        "a_b/c",
    ]
)


@given(st.lists(SPELLED, max_size=8))
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


SIZES = (1, 7, 8, 9, 15, 16, 17, 24, 25, 254, 255, 256, 257, 300)
WORDS = st.builds(lambda size, last: "a" * (size - 1) + last, st.sampled_from(SIZES), st.sampled_from("ab0"))
TEXTS = st.lists(
    st.lists(
        WORDS
        | st.sampled_from(["--", "x\x00y", "a/b-c", "ﬁne", ",;", "C++-v", "#tag", "x->y", "🌿🔥│é++", "OAuth2"])
        | st.text("aC2+#-._/=>🌿é ", max_size=6),
        max_size=4,
    ).map(" ".join),
    max_size=6,
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
            numbers = [
                number
                for number in chunks[end - size : end].tolist()
                if vocabulary.starts[number] < vocabulary.starts[number + 1]
            ]
            expected = analysis.chunks(analysis.normalize(text))
            assert len(numbers) == len(expected)
            for number, chunk in zip(numbers, expected, strict=True):
                tokens = vocabulary.token_terms[vocabulary.starts[number] : vocabulary.starts[number + 1]]
                terms = sorted(named[token] for token in tokens)
                assert terms == sorted(token.term for token in analysis.analyze_chunk(chunk))
                assert numbered.setdefault(number, terms) == terms
