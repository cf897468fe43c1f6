"""Whoosh's own searcher opens an index and finds in it what rye's reader finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whoosh import query
from whoosh.index import open_dir

from rye.index.file_list import INDEX_NAME
from rye.index.reader import Reader
from rye.index.schema import TEXT_FIELDS
from rye.index.store import Snapshot
from rye.index.whoosh_codec import table_of_contents
from rye.items.model import Item
from tests.support.naive_analysis import FieldText, analyze, levenshtein
from tests.support.naive_docs import text_values
from tests.support.strategies import items
from tests.unit.index.segments import ROOT, keyword_entries, place, postings, snapshot

Test = Callable[[FieldText], bool]

TERMS = st.sampled_from(
    ["sign", "signs", "file", "system", "filesystem", "thread", "read", "rye", "core", "a", "is", "2"]
)


def open_whoosh(found: Snapshot) -> Any:
    """Write the table of contents for a snapshot and open it with Whoosh."""
    table = table_of_contents([listed.row for listed in found.segments], 1)
    (found.folder / f"_{INDEX_NAME}_1.toc").write_bytes(table)
    return open_dir(str(found.folder))


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, Any, Test]:
    """Draw a Whoosh query on one field, and the naive test that says the same of what the field holds."""
    name, kind = draw(st.sampled_from(TEXT_FIELDS)), draw(st.sampled_from(sorted(MAKERS)))
    words = draw(st.lists(TERMS, min_size=2, max_size=3))
    made, test = MAKERS[kind](name, words)
    return name, made, test


def make_term(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """One term."""
    return query.Term(name, words[0]), lambda field: words[0] in field.positions


def make_and(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """All terms."""
    return query.And([query.Term(name, word) for word in words]), lambda field: set(words) <= field.positions.keys()


def make_or(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Any term."""
    made = query.Or([query.Term(name, word) for word in words])
    return made, lambda field: not field.positions.keys().isdisjoint(words)


def make_not(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """One term without another."""
    made = query.AndNot(query.Term(name, words[0]), query.Term(name, words[1]))
    return made, lambda field: words[0] in field.positions and words[1] not in field.positions


def make_phrase(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Terms at consecutive positions."""

    def test(field: FieldText) -> bool:
        starts = field.positions.get(words[0], ())
        return any(all(at + n in field.positions.get(word, ()) for n, word in enumerate(words)) for at in starts)

    return query.Phrase(name, list(words)), test


def make_prefix(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Terms with a beginning."""
    prefix = words[0][:3]
    return query.Prefix(name, prefix), lambda field: any(term.startswith(prefix) for term in field.positions)


def make_wildcard(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Terms with a beginning, one free letter and any end."""
    pattern = re.compile(re.escape(words[0][:2]) + "..*", re.DOTALL)
    made = query.Wildcard(name, f"{words[0][:2]}?*")
    return made, lambda field: any(pattern.fullmatch(term) for term in field.positions)


def make_fuzzy(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Terms at most one edit away."""
    made = query.FuzzyTerm(name, words[0], maxdist=1)
    return made, lambda field: any(levenshtein(words[0], term) <= 1 for term in field.positions)


def make_every(name: str, words: Sequence[str]) -> tuple[Any, Test]:
    """Anything in the field."""
    del words
    return query.Every(name), lambda field: bool(field.positions)


MAKERS: dict[str, Callable[[str, Sequence[str]], tuple[Any, Test]]] = {
    "and": make_and,
    "every": make_every,
    "fuzzy": make_fuzzy,
    "not": make_not,
    "or": make_or,
    "phrase": make_phrase,
    "prefix": make_prefix,
    "term": make_term,
    "wildcard": make_wildcard,
}


@settings(max_examples=40)
@given(
    st.lists(st.lists(items(), min_size=1, max_size=3), min_size=1, max_size=2),
    st.lists(queries(), min_size=4, max_size=8),
    st.data(),
)
def test_whoosh_finds_what_the_items_hold(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[list[Item]],
    asked: list[tuple[str, Any, Test]],
    data: st.DataObject,
) -> None:
    """Over several segments with deletions, each kind of query finds the live items whose field passes a naive test."""
    places = [(group, doc) for group, found in enumerate(groups) for doc in range(len(found))]
    gone = data.draw(st.sets(st.sampled_from(places)))
    flat = [groups[group][doc] for group, doc in places]
    found = snapshot(tmp_path_factory.mktemp("whoosh"), groups, gone)
    texts = [{name: analyze(values) for name, values in text_values(one).items()} for one in flat]
    with open_whoosh(found).searcher() as searcher:
        assert searcher.doc_count() == len(places) - len(gone)
        live = [doc for doc, spot in enumerate(places) if spot not in gone]
        assert sorted(searcher.docs_for_query(query.Every())) == live
        for name, made, test in asked:
            expected = [doc for doc in live if test(texts[doc][name])]
            assert sorted(searcher.docs_for_query(made)) == expected, made
            scored = [hit.docnum for hit in searcher.search(made, limit=None)]
            assert sorted(scored) == expected, made


@settings(max_examples=30)
@given(st.lists(st.lists(items(), min_size=1, max_size=2), min_size=1, max_size=2), st.data())
def test_whoosh_reads_the_postings_that_rye_reads(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Item]], data: st.DataObject
) -> None:
    """Dictionary, frequencies, positions and lengths of every term are the same through Whoosh's reader."""
    places = [(group, doc) for group, found in enumerate(groups) for doc in range(len(found))]
    gone = data.draw(st.sets(st.sampled_from(places), max_size=1))
    found = snapshot(tmp_path_factory.mktemp("whoosh"), groups, gone)
    reader = Reader([(ROOT, found)])
    with open_whoosh(found).reader() as opened:
        assert [doc for doc in range(reader.size) if not opened.is_deleted(doc)] == list(opened.all_doc_ids())
        for name in TEXT_FIELDS:
            for raw in opened.lexicon(name):
                term = raw.decode()
                mine = postings(reader, name, term)
                matcher = opened.postings(name, term)
                theirs = {}
                while matcher.is_active():
                    theirs[matcher.id()] = tuple(matcher.value_as("positions"))
                    matcher.next()
                assert theirs == {
                    doc: tuple(spots.tolist()) for doc, spots in zip(mine.docs.tolist(), mine.positions, strict=True)
                }


@settings(max_examples=20)
@given(st.lists(items(), min_size=1, max_size=3))
def test_whoosh_finds_items_by_key_and_entry(tmp_path_factory: pytest.TempPathFactory, found: list[Item]) -> None:
    """The stored key is ``type:id``; keyword entries are terms of the field ``entry``."""
    with open_whoosh(snapshot(tmp_path_factory.mktemp("whoosh"), [found])).searcher() as searcher:
        for doc, one in enumerate(found):
            key = f"{one.type}:{one.id}"
            assert searcher.stored_fields(doc) == {"key": key}
            same = [at for at, other in enumerate(found) if (other.type, other.id) == (one.type, one.id)]
            assert sorted(searcher.docs_for_query(query.Term("key", key))) == same
            for name, value in keyword_entries(one, place(one)):
                assert doc in set(searcher.docs_for_query(query.Term("entry", f"{name}\0{value}")))
