"""Leaves, matches and scores over segments and deletions against the brute-force twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.index.reader import Reader
from rye.index.schema import FIELD_NUMBER, TEXT_FIELDS
from rye.items.model import Item
from rye.query import ast
from rye.search.positions import Effort
from rye.search.score import Evaluation
from tests.support import naive_leaves
from tests.support.naive_bind import Binder, score, scored_leaves
from tests.support.naive_docs import NaiveDoc, read_corpus
from tests.support.query_strategies import fielded, group, leaves
from tests.support.strategies import items
from tests.unit.index.segments import reader
from tests.unit.search.asking import all_slots, evaluation

Collection = tuple[list[list[Item]], set[tuple[int, int]]]


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Draw items in one or two segments, some of them deleted."""
    groups = draw(st.lists(st.lists(items(), min_size=1, max_size=4), min_size=1, max_size=2))
    places = [(number, doc) for number, group in enumerate(groups) for doc in range(len(group))]
    return groups, draw(st.sets(st.sampled_from(places), max_size=2))


@st.composite
def text_queries(draw: st.DrawFn, depth: int = 2) -> ast.Node:
    """Draw a query over text fields alone."""
    shape = draw(st.sampled_from(["leaf", "field", "and", "or", "not", "boost", "all"] if depth else ["leaf", "field"]))
    if shape in {"and", "or"}:
        inner = draw(st.lists(text_queries(depth - 1), min_size=2, max_size=3))
        return group(ast.And if shape == "and" else ast.Or, inner)
    if shape == "not":
        return ast.Not(draw(text_queries(depth - 1)))
    if shape == "boost":
        return ast.Boost(draw(leaves()), draw(st.sampled_from([0.5, 2.0])))
    return ast.Everything() if shape == "all" else draw(fielded() if shape == "field" else leaves())


def opened(tmp_path_factory: pytest.TempPathFactory, found: Collection) -> tuple[Reader, list[int], list[NaiveDoc]]:
    """Write the segments; return a reader, and the live documents with their numbers."""
    groups, gone = found
    over = reader(tmp_path_factory.mktemp("leaves"), *groups, gone=gone)
    flat = [one for group in groups for one in group]
    live = np.flatnonzero(over.live).tolist()
    return over, live, [NaiveDoc(flat[doc], "project", f"/{doc}") for doc in live]


AT_ONCE = st.sampled_from([1, 4, 1 << 20])
"""Positions that are compared in one batch."""


@settings(max_examples=50)
@given(collections(), st.lists(leaves(), min_size=3, max_size=6), AT_ONCE)
def test_a_term_query_occurs_as_often_as_the_twin_counts(
    tmp_path_factory: pytest.TempPathFactory, found: Collection, asked: Sequence[ast.Node], at_once: int
) -> None:
    """Per live item and field the weighted number of occurrences is the naive one, and the length the field's own."""
    over, live, docs = opened(tmp_path_factory, found)
    corpus = read_corpus(docs)
    for node in asked:
        leaf = naive_leaves.compile_leaf(node, corpus.document_frequencies(TEXT_FIELDS))
        expected = {
            (doc, FIELD_NUMBER[name]): (naive_leaves.frequency(leaf, field), field.length)
            for doc, texts in zip(live, corpus.texts, strict=True)
            for name, field in texts.items()
        }
        slots = all_slots(evaluation(over, node, Effort(at_once=at_once)))
        rows = zip(slots.docs.tolist(), slots.fields.tolist(), slots.tf.tolist(), slots.lengths.tolist(), strict=True)
        got = {(doc, field): (tf, length) for doc, field, tf, length in rows}
        assert len(got) == len(slots.docs)
        assert list(got) == sorted(got)
        assert got == {slot: pytest.approx(row) for slot, row in expected.items() if row[0] > 0}, str(node)


@settings(max_examples=50)
@given(collections(), st.lists(text_queries(), min_size=2, max_size=4))
def test_matches_and_scores_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, found: Collection, asked: Sequence[ast.Node]
) -> None:
    """Which live items match, and how well, equals a brute-force reading; explanations sum to the score."""
    over, live, docs = opened(tmp_path_factory, found)
    corpus = read_corpus(docs)
    for node in asked:
        naive = Binder(corpus).bind(node)
        mine = evaluation(over, node)
        assert np.flatnonzero(mine.docs().mask).tolist() == [d for n, d in enumerate(live) if naive.matches(n)], str(
            node
        )
        scores = mine.scores(np.asarray(live, np.int64)).tolist()
        assert scores == pytest.approx([score(scored_leaves(naive), number) for number in range(len(live))]), str(node)
        check_explanations(mine, live, scores)


@settings(max_examples=50)
@given(collections(), st.lists(text_queries(), min_size=2, max_size=4), st.integers(1, 3))
def test_cut_and_excluded_term_queries_are_those_of_the_twin(
    tmp_path_factory: pytest.TempPathFactory, found: Collection, asked: Sequence[ast.Node], most: int
) -> None:
    """Of few terms that a term query may stand for the most frequent are kept, and all of one that is excluded.

    So what is found is never more than without that bound.
    """
    over, live, docs = opened(tmp_path_factory, found)
    corpus = read_corpus(docs)
    for node in asked:
        whole = evaluation(over, node).docs().mask
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(naive_leaves, "MOST_EXPANSIONS", most)
            naive, mine = Binder(corpus).bind(node), evaluation(over, node, Effort(terms=most))
            matching = [doc for number, doc in enumerate(live) if naive.matches(number)]
            assert np.flatnonzero(mine.docs().mask).tolist() == matching, str(node)
            scores = mine.scores(np.asarray(live, np.int64)).tolist()
            expected = [score(scored_leaves(naive), number) for number in range(len(live))]
        assert scores == pytest.approx(expected), str(node)
        assert not (mine.docs().mask & ~whole).any(), str(node)


def check_explanations(mine: Evaluation, live: Sequence[int], scores: Sequence[float]) -> None:
    """Every trace names a clause and a field, and the contributions of a document sum to its score."""
    labels = {row.query.label() for row in mine.scored()}
    for doc, total in zip(live, scores, strict=True):
        traces = mine.explain(doc)
        assert sum(trace.contribution for trace in traces) == pytest.approx(total if mine.scored() else 0.0)
        for trace in traces:
            assert trace.clause in labels
            assert trace.field in TEXT_FIELDS
            assert trace.tf > 0
            assert trace.df >= 1


@settings(max_examples=30)
@given(collections(), leaves(), AT_ONCE)
def test_a_term_query_stands_where_its_spans_say(
    tmp_path_factory: pytest.TempPathFactory, found: Collection, node: ast.Node, at_once: int
) -> None:
    """The places given for highlighting lie in the fields that match, start before end, where there is text."""
    over, live, _ = opened(tmp_path_factory, found)
    matcher = evaluation(over, node, Effort(at_once=at_once)).matchers()[0]
    rows = matcher.slots_of(matcher.docs().numbers)
    stand = matcher.spans(np.asarray(live, np.int64))
    whole = evaluation(over, node).matchers()[0].spans(np.asarray(live, np.int64))
    slots = list(zip(rows.docs.tolist(), rows.fields.tolist(), strict=True))
    for doc in live:
        places = stand[doc]
        assert {field: sorted(spots.tolist()) for field, spots in places.items()} == {
            field: sorted(spots.tolist()) for field, spots in whole[doc].items()
        }
        assert {field for one, field in slots if one == doc} == places.keys()
        part, _ = over.locate(doc)
        last = part.segment._positions.max(initial=0)
        assert all(0 <= start <= end <= last for spots in places.values() for start, end in spots.tolist())
