"""The rest of what Whoosh may ask of a segment, and what it may not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from whoosh import query
from whoosh.filedb.filestore import FileStorage
from whoosh.index import open_dir

from rye.errors import UnavailableError
from rye.index.file_list import INDEX_NAME
from rye.index.whoosh_codec import ColumnarCodec, table_of_contents
from tests.unit.index.segments import item, snapshot


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Return Whoosh's reader over two segments with one deletion."""
    groups = [
        [item("ops/deploy", title="Deploy files", body="deploy the files"), item("gone", title="deploy deleted")],
        [item("read", title="Read files", tags=("file-system",), version="1.0")],
    ]
    found = snapshot(tmp_path, groups, {(0, 1)})
    table = table_of_contents([listed.row for listed in found.segments], 1)
    (tmp_path / f"_{INDEX_NAME}_1.toc").write_bytes(table)
    with open_dir(str(tmp_path)).reader() as reader:
        yield reader


def test_whoosh_sees_counts_and_lengths(opened: Any) -> None:
    """Documents, deletions and field lengths are those of the arrays; keyword fields have none."""
    assert (opened.doc_count(), opened.doc_count_all(), opened.has_deletions()) == (2, 3, True)
    assert [opened.is_deleted(doc) for doc in range(3)] == [False, True, False]
    assert [opened.doc_field_length(doc, "content") for doc in range(3)] == [3, 0, 0]
    assert opened.doc_field_length(0, "entry", 7) == 7
    assert (opened.field_length("title"), opened.min_field_length("title"), opened.max_field_length("title")) == (
        6,
        2,
        2,
    )
    assert opened.field_length("key") == 3
    assert [list(leaf.deleted_docs_set) for leaf, _ in opened.leaf_readers()] == [[1], []]


def test_a_phrase_does_not_cross_values(opened: Any) -> None:
    """Positions in Whoosh are those in rye, the gaps between values among them."""
    leaf, _ = list(opened.leaf_readers())[1]
    matcher = leaf.postings("tags", "system")
    assert list(matcher.value_as("positions")) == [1]
    assert list(query.Phrase("tags", ["file", "system"]).docs(opened_searcher(opened))) == [2]


def opened_searcher(reader: Any) -> Any:
    """Return a searcher over a reader."""
    from whoosh.searching import Searcher

    return Searcher(reader)


def test_an_index_is_not_written_through_whoosh(opened: Any, tmp_path: Path) -> None:
    """A Whoosh writer that is given the codec is refused with the way that works; so is every part of one."""
    del opened
    with pytest.raises(UnavailableError) as caught:
        open_dir(str(tmp_path)).writer(codec=ColumnarCodec())
    assert caught.value.code == "read-only-codec"
    assert "refresh" in caught.value.hint
    codec = ColumnarCodec()
    for part in (codec.new_segment, codec.per_document_writer, codec.field_writer, codec.postings_writer):
        with pytest.raises(UnavailableError):
            part(FileStorage(str(tmp_path)), "MAIN")
