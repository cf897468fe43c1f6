"""Which terms a part of a term query stands for, with which weights, and what is kept when they are too many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.reader import Reader
from rye.search.expand import How, Pattern, Terms, automatic_distance, expand
from tests.support import naive_analysis
from tests.support.effort import examples
from tests.unit.index.segments import item, reader


def weights(found: Terms, over: Reader) -> dict[str, float]:
    """Return every term with its weight, over all segments."""
    pairs: dict[str, float] = {}
    for part, (ids, values) in zip(over.parts, found.choices, strict=True):
        assert ids.tolist() == sorted(set(ids.tolist()))
        for term, weight in zip(part.segment.terms.take(ids), values.tolist(), strict=True):
            assert pairs.setdefault(term, weight) == weight
    return pairs


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader over two segments with a deletion."""
    words = "sign signs signed signing signal file filesystem fire direcive"
    return reader(
        tmp_path, [item("z", body=words), item("y", body="signer dead")], [item("x", body="signs file")], gone={(0, 1)}
    )


@pytest.mark.parametrize(
    ("term", "distance"), [("", 0), ("ab", 0), ("abc", 1), ("abcde", 1), ("abcdef", 2), ("a" * 99, 2), ("é" * 3, 1)]
)
def test_the_automatic_distance_grows_with_the_word(term: str, distance: int) -> None:
    """Up to 2 characters none, up to 5 one, else two."""
    assert automatic_distance(term) == distance == naive_analysis.automatic_distance(term)


TERMS = st.text(st.sampled_from("abcé你"), min_size=1, max_size=7)


@examples(60)
@given(st.lists(st.lists(TERMS, max_size=6), min_size=1, max_size=3), TERMS, st.sampled_from([None, 0, 1, 2]))
def test_a_fuzzy_word_stands_for_all_terms_within_the_distance(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[str]], text: str, distance: int | None
) -> None:
    """What leaves terms undecoded leaves out none: the same as comparing with every term."""
    laid = [[item(f"z{group}", body=" ".join(words))] for group, words in enumerate(groups)]
    over = reader(tmp_path_factory.mktemp("fuzzy"), *laid)
    most = automatic_distance(text) if distance is None else distance
    vocabulary = {term for part in over.parts for term in part.segment.terms.everything}
    edits = {term: naive_analysis.edits(text, term) for term in vocabulary}
    expected = {term: 1 - count / len(text) for term, count in edits.items() if count <= most and count < len(text)}
    assert weights(expand(over, Pattern(text, How.FUZZY, distance)), over) == pytest.approx(expected)


WORDS = [f"{first}{second}" for first in "ab" for second in "abcdefgh"]
LINES = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
GROUPS = st.lists(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=3), min_size=1, max_size=3)


@examples(40)
@given(
    GROUPS,
    st.sampled_from([Pattern("a*", How.GLOB), Pattern("aa", How.FUZZY, 1), Pattern("*", How.GLOB)]),
    st.integers(1, 4),
    st.sampled_from([frozenset(), frozenset({(0, 0)})]),
)
def test_of_too_many_terms_the_most_frequent_are_kept(  # noqa: PLR0917
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[list[tuple[str, str]]],
    pattern: Pattern,
    limit: int,
    gone: frozenset[tuple[int, int]],
) -> None:
    """The word itself stays, then the terms in most documents, deleted ones included, ties by term."""
    laid = [
        [item(f"z{group}-{number}", title=title, body=body) for number, (title, body) in enumerate(texts)]
        for group, texts in enumerate(groups)
    ]
    over = reader(tmp_path_factory.mktemp("cut"), *laid, gone=gone)
    whole = weights(expand(over, pattern), over)
    frequency = Counter[str]()
    for part in over.parts:
        frequency.update(dict(zip(part.segment.terms.everything, part.segment.term_docs.tolist(), strict=True)))
    ranked = sorted(whole, key=lambda term: (term != pattern.text, -frequency[term], term))
    found = expand(over, pattern, limit)
    assert weights(found, over) == {term: whole[term] for term in ranked[:limit]}
    assert found.cut == (len(ranked) > limit)
