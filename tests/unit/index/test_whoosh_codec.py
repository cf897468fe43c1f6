"""The rest of what Whoosh may ask of a segment, and what it may not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from whoosh import query
from whoosh.filedb.filestore import FileStorage
from whoosh.index import open_dir
from whoosh.reading import TermNotFound

from rye.errors import UnavailableError
from rye.index.file_list import INDEX_NAME, SegmentRow
from rye.index.schema import TEXT_FIELDS
from rye.index.whoosh_codec import ColumnarCodec, ColumnarSegment, table_of_contents
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


def test_whoosh_walks_the_dictionary(opened: Any) -> None:
    """Terms come by field in order, from any start, each only in fields it occurs in; statistics go with them."""
    assert [term.decode() for term in opened.lexicon("title")] == ["deleted", "deploy", "files", "read"]
    assert [(name, term.decode()) for name, term in opened.terms_from("title", "e")][:2] == [
        ("title", "files"),
        ("title", "read"),
    ]
    assert [term.decode() for term in opened.expand_prefix("title", "de")] == ["deleted", "deploy"]
    assert ("title", "files") in opened
    assert ("title", "system") not in opened
    assert ("nofield", "files") not in opened
    assert {name for name, _ in opened.all_terms()} == {*TEXT_FIELDS, "entry", "key"} - {
        "headings",
        "symbols",
        "description",
        "category",
    }
    assert sorted(opened.indexed_field_names()) == sorted([*TEXT_FIELDS, "entry", "key"])
    info = opened.term_info("title", "files")
    assert (info.doc_frequency(), info.weight(), info.min_id(), info.max_id()) == (2, 2.0, 0, 2)
    assert (info.min_length(), info.max_length(), info.max_weight()) == (2, 2, 1.0)
    assert (opened.frequency("title", "files"), opened.doc_frequency("title", "none")) == (2.0, 0)
    with pytest.raises(TermNotFound):
        opened.term_info("title", "none")


def test_whoosh_reads_stored_fields(opened: Any) -> None:
    """Only the key is stored; all else is read from the file when it is shown."""
    assert list(opened.all_stored_fields()) == [{"key": "tool:ops/deploy"}, {"key": "tool:read"}]
    assert [number for leaf, _ in opened.leaf_readers() for number, _ in leaf.iter_docs()] == [0, 0]


def test_a_cursor_walks_the_terms_of_a_field(opened: Any) -> None:
    """A cursor begins at the first term, finds the next that is not less, and ends."""
    leaf, _ = next(iter(opened.leaf_readers()))
    cursor = leaf.cursor("title")
    assert (cursor.text(), cursor.is_valid()) == ("deleted", True)
    assert cursor.find("deq") == "files"
    assert cursor.term_info().doc_frequency() == 1
    assert cursor.find(b"dep") == "deploy"
    assert cursor.next() == "files"
    assert cursor.next() is None
    assert not cursor.is_valid()
    assert cursor.first() == "deleted"


def test_whoosh_iterates_over_terms_with_statistics(opened: Any) -> None:
    """Every term of a segment comes with its statistics, from the start or from a term on."""
    leaf, _ = next(iter(opened.leaf_readers()))
    everything = {term: info.doc_frequency() for term, info in leaf}
    assert everything["title", b"deploy"] == 2
    assert everything["key", b"tool:gone"] == 1
    assert everything["entry", b"type\0tool"] == 2
    assert next(term for term, _ in leaf.iter_from("title", "f")) == ("title", b"files")


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


def test_a_listed_segment_counts_its_deletions() -> None:
    """``without`` gives a row of the same segment with more documents deleted; Whoosh counts them."""
    row = SegmentRow("name", 3, (1,))
    assert row.without([0, 1]) == SegmentRow("name", 3, (0, 1))
    entry = ColumnarSegment(row)
    assert (entry.deleted_count(), entry.doc_count(), list(entry.deleted_docs())) == (1, 2, [1])
    assert (entry.segment_id(), entry.is_deleted(1), entry.is_deleted(0)) == ("MAIN_name", True, False)
    assert not entry.should_assemble()
    assert isinstance(entry.codec(), ColumnarCodec)
