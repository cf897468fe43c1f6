"""A reader over several roots, segments and deletions says what a naive reading of the live items says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.build.reader import Reader
from rye.index.segment.docvalues import name_key
from rye.index.text.schema import TEXT_FIELDS
from rye.items.model import Item
from rye.spaces.model import Root, Space
from tests.support.effort import examples
from tests.support.naive_analysis import FieldText, analyze
from tests.support.naive_docs import text_values
from tests.support.strategies import items
from tests.unit.index.segments import keyword_entries, place, postings, snapshot

ROOTS = (
    Root(Space.PROJECT, Path("/p/.ai")),
    Root(Space.USER, Path("/u/.ai")),
    Root(Space.SYSTEM, Path("/s"), "alpha"),
)


@dataclass(frozen=True)
class Case:
    """Items per root and segment, which of them are deleted, and the reader over them all."""

    reader: Reader
    docs: tuple[tuple[Root, Item], ...]
    live: tuple[bool, ...]

    @property
    def alive(self) -> list[int]:
        """The numbers of the live documents."""
        return [doc for doc, alive in enumerate(self.live) if alive]

    def texts(self) -> list[Mapping[str, FieldText]]:
        """Return what each field of each document holds."""
        return [{name: analyze(values) for name, values in text_values(one).items()} for _, one in self.docs]


Drawn = list[tuple[Root, list[list[Item]], set[tuple[int, int]]]]


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Draw the segments of one to three roots, each a few items, and which items are deleted."""
    found = []
    for root in draw(st.lists(st.sampled_from(ROOTS), min_size=1, max_size=3, unique=True)):
        groups = draw(st.lists(st.lists(items(), min_size=1, max_size=2), min_size=1, max_size=2))
        places = [(group, doc) for group, inside in enumerate(groups) for doc in range(len(inside))]
        found.append((root, groups, draw(st.sets(st.sampled_from(places)))))
    return found


def lay(folder: Path, roots: Drawn) -> Case:
    """Write the segments and open a reader over them."""
    snapshots, docs, live = [], [], []
    for number, (root, groups, gone) in enumerate(roots):
        (folder / str(number)).mkdir()
        snapshots.append((root, snapshot(folder / str(number), groups, gone, root)))
        docs += [(root, one) for group in groups for one in group]
        live += [(group, doc) not in gone for group, inside in enumerate(groups) for doc in range(len(inside))]
    return Case(Reader(snapshots), tuple(docs), tuple(live))


@examples(40)
@given(drawn())
def test_a_reader_is_the_naive_index_of_live_items(tmp_path_factory: pytest.TempPathFactory, roots: Drawn) -> None:
    """Postings, statistics, values and order over all segments equal those of reading the live items one by one."""
    case = lay(tmp_path_factory.mktemp("roots"), roots)
    assert case.reader.live.tolist() == list(case.live)
    assert case.reader.count == len(case.alive)
    check_postings(case)
    check_statistics(case)
    check_values(case)
    check_order(case)


def check_postings(case: Case) -> None:
    """Compare the postings of every term in every field, and of a term that does not occur."""
    texts = case.texts()
    terms = {(name, term) for fields in texts for name, field in fields.items() for term in field.positions}
    for name, term in {*terms, ("title", "neverseen")}:
        expected = {doc: texts[doc][name].positions[term] for doc in case.alive if term in texts[doc][name].positions}
        found = postings(case.reader, name, term)
        assert found.docs.dtype == np.int32
        assert found.docs.tolist() == list(expected)
        assert found.tf.tolist() == [len(places) for places in expected.values()]
        assert [tuple(places.tolist()) for places in found.positions] == list(expected.values())


def check_statistics(case: Case) -> None:
    """Compare the mean length of every field over the live items that have it."""
    texts = case.texts()
    for number, name in enumerate(TEXT_FIELDS):
        lengths = [texts[doc][name].length for doc in case.alive if texts[doc][name].length]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        assert case.reader.average_lengths[number] == pytest.approx(mean, rel=1e-12)


def check_values(case: Case) -> None:
    """Compare who has which keyword value, which keys there are, and who has which id."""
    entries = [set(keyword_entries(one, place(one, root))) for root, one in case.docs]
    for key, value in set().union(*entries):
        expected = [case.live[doc] and (key, value) in entries[doc] for doc in range(len(case.docs))]
        assert case.reader.having(key, value).tolist() == [doc for doc, has in enumerate(expected) if has]
    assert not len(case.reader.having("author", "nobody"))
    keys = list(case.reader.keys)
    assert len(keys) == len(set(keys))
    assert set(keys) == {key for doc in case.alive for key, _ in entries[doc]}
    assert case.reader.all_keys() == [f"{case.docs[doc][1].type}:{case.docs[doc][1].id}" for doc in case.alive]
    for _, one in case.docs:
        same = [doc for doc in case.alive if (case.docs[doc][1].type, case.docs[doc][1].id) == (one.type, one.id)]
        assert [part.base + local for part, local in case.reader.having_key(str(one.type), one.id)] == same


def check_order(case: Case) -> None:
    """Compare place, priority and the order by source priority, id, type and path."""

    def naive(doc: int) -> tuple[int, str, str, str]:
        root, one = case.docs[doc]
        return root.priority, one.id, str(one.type), place(one, root).path

    everything = range(len(case.docs))
    assert [case.reader.tie_key(doc) for doc in everything] == [naive(doc) for doc in everything]
    docs = np.asarray(everything, np.int64)
    parts = case.reader.part_numbers(docs).tolist()
    for by_name in (False, True):
        ranks = case.reader.ranks(docs, by_name=by_name).tolist()
        for number in set(parts):
            here = [doc for doc in everything if parts[doc] == number]
            assert sorted(ranks[doc] for doc in here) == list(range(len(here)))
            keys = {doc: (name_key(naive(doc)[1]), *naive(doc)) if by_name else naive(doc) for doc in here}
            assert sorted(here, key=ranks.__getitem__) == sorted(here, key=keys.__getitem__)
    for doc, (root, one) in enumerate(case.docs):
        part, local = case.reader.locate(doc)
        assert (part.root, part.segment.ids[local], part.base + local) == (root, one.id, doc)
        assert case.reader.key_of(doc) == (str(one.type), one.id)
