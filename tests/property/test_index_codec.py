"""Whoosh's own searcher opens an index and finds in it what rye's reader finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whoosh.index import open_dir

from rye.index.build.reader import Reader
from rye.index.build.store import Snapshot
from rye.index.build.whoosh_codec import table_of_contents
from rye.index.storage.file_list import INDEX_NAME
from rye.index.text.schema import TEXT_FIELDS
from rye.items.model import Item
from tests.support.effort import examples
from tests.support.strategies import items
from tests.unit.index.segments import ROOT, postings, snapshot


def open_whoosh(found: Snapshot) -> Any:
    """Write the table of contents for a snapshot and open it with Whoosh."""
    table = table_of_contents([listed.row for listed in found.segments], 1)
    (found.folder / f"_{INDEX_NAME}_1.toc").write_bytes(table)
    return open_dir(str(found.folder))


@examples(30)
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
