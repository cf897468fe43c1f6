"""Items become a segment whose arrays say what a naive inverted index says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.index import analysis
from rye.index.schema import TEXT_FIELDS, fold_value
from rye.index.segment import Segment
from rye.index.segment_builder import SegmentBuilder
from rye.items.model import Item, ItemType, Section, Symbol
from tests.support import naive_analysis
from tests.support.naive_docs import text_values
from tests.support.naive_values import flatten, read_date
from tests.support.strategies import items
from tests.unit.index.segments import Dump, dump, evidence, item, keyword_entries, place, write


def naive_dump(found: list[Item]) -> Dump:
    """Return what a segment of these items must hold, by brute force."""
    texts = [{name: naive_analysis.analyze(values) for name, values in text_values(one).items()} for one in found]
    occurrences = {
        (doc, name, term): places
        for doc, fields in enumerate(texts)
        for name, field in fields.items()
        for term, places in field.positions.items()
    }
    terms = sorted({term for _, _, term in occurrences})
    stems = {naive_analysis.stem(term) for term in terms}
    moments = [read_date(one.updated or one.created) for one in found]
    return {
        "docs": len(found),
        "terms": terms,
        "occurrences": occurrences,
        "lengths": {(doc, name): field.length for doc, fields in enumerate(texts) for name, field in fields.items()},
        "stems": {stem: tuple(term for term in terms if naive_analysis.stem(term) == stem) for stem in stems},
        "entries": {doc: sorted(set(keyword_entries(one, place(one)))) for doc, one in enumerate(found)},
        "columns": [(str(one.type), one.id, place(one).path, evidence(one)) for one in found],
        "times": [-1.0 if moment is None else moment.timestamp() for moment in moments],
    }


@settings(max_examples=50)
@given(st.lists(items(), min_size=1, max_size=5))
def test_a_segment_is_the_inverted_index_of_its_items(
    tmp_path_factory: pytest.TempPathFactory, found: list[Item]
) -> None:
    """Terms, postings, positions, lengths, stems, entries and columns equal those of a naive inverted index."""
    path = tmp_path_factory.mktemp("built") / "segment"
    assert dump(Segment(write(path, found))) == naive_dump(found)


@settings(max_examples=40)
@given(st.lists(items(), min_size=1, max_size=4))
def test_keyword_terms_are_the_values_that_an_item_has(found: list[Item]) -> None:
    """Every metadata key but the reserved ones has an entry per value, folded; built-in fields come from the item."""
    for one in found:
        entries = keyword_entries(one, place(one))
        by_key = {key: {value for name, value in entries if name == key} for key, _ in entries}
        for key, values in flatten(one.metadata).items():
            if key not in by_key or key in {"title", "version", "created", "updated", "author", "tags", "category"}:
                continue
            assert by_key[key] == {fold_value(value) for value in values if fold_value(value)}
        assert by_key["key"] == {f"{one.type}:{one.id}"}
        assert by_key.get("tags", set()) == {fold_value(tag) for tag in one.tags}
        assert ("type", str(one.type)) in entries


def test_values_of_a_field_stand_apart(tmp_path: Path) -> None:
    """Between two values lies a gap that no phrase crosses; a value without words leaves none."""
    held = dump(Segment(write(tmp_path / "a", [item("x", tags=("a b", "--", "c"))])))
    assert held["occurrences"][0, "tags", "b"] == (1,)
    assert held["occurrences"][0, "tags", "c"] == (2 + analysis.VALUE_GAP,)
    assert held["lengths"][0, "tags"] == 3


def test_headings_and_symbols_are_fields_of_many_values(tmp_path: Path) -> None:
    """A section adds its own heading, not those above it; a symbol its name."""
    sections = (
        Section((), 0, 1, 2, "before"),
        Section(("Top",), 1, 3, 4, "text"),
        Section(("Top", "Deep end"), 2, 5, 6, "text"),
    )
    symbols = (Symbol("read_file", "function", 1, 2), Symbol("Reader.read", "method", 3, 4))
    one = item("x", ItemType.KNOWLEDGE, sections=sections, symbols=symbols)
    held = dump(Segment(write(tmp_path / "a", [one])))["occurrences"]
    assert {term: places for (_, name, term), places in held.items() if name == "headings"} == {
        "top": (0,),
        "deep": (101,),
        "end": (102,),
    }
    assert held[0, "symbols", "readfile"] == (0,)
    assert held[0, "symbols", "read"] == (0, 103)


def test_a_segment_of_nothing_is_a_segment(tmp_path: Path) -> None:
    """Without items every table is empty and everything looked for is not there."""
    segment = Segment(write(tmp_path / "a", []))
    assert (segment.docs, len(segment.terms), segment.keys) == (0, 0, ())
    assert segment.inflections("deploy") == ([], -1)
    assert segment.lengths.shape == (len(TEXT_FIELDS), 0)


def test_the_order_of_adding_numbers_the_documents(tmp_path: Path) -> None:
    """Document numbers follow the order of adding; the length of a builder is how many it holds."""
    builder = SegmentBuilder()
    for name in ("b", "c", "a"):
        builder.add(item(name), place(item(name)), evidence(item(name)))
    assert len(builder) == 3
    assert builder.write(tmp_path / "a") == 3
    assert Segment(tmp_path / "a").ids.everything == ["b", "c", "a"]


@pytest.mark.parametrize("value", ["a\nb", "a\x00b", " a b ", "A B", "\uff21 b", "a\u00a0b"])
def test_keyword_terms_are_folded_and_free_of_separators(tmp_path: Path, value: str) -> None:
    """Newlines and NULs become spaces, blanks at the ends go, case and width do not count."""
    held = dump(Segment(write(tmp_path / "a", [item("x", metadata={"note": value})])))
    assert ("note", "a b") in held["entries"][0]


def test_reserved_and_endless_metadata_get_no_keyword_terms(tmp_path: Path) -> None:
    """A key that means something built in is left to that; of very many values the first 500 are kept, cut to 1,000."""
    reserved = {"type": "directive", "is": "trusted", "signer": "me", "title": "other"}
    hostile = reserved | {"k": ["x" * 2000, *map(str, range(600))]}
    held = dump(Segment(write(tmp_path / "a", [item("x", metadata=hostile)])))["entries"][0]
    assert [pair for pair in held if pair[0] in {"is", "signer", "title", "type"}] == [("type", "tool")]
    values = [value for key, value in held if key == "k"]
    assert len(values) < 500
    assert max(map(len, values)) == 1000


@pytest.mark.parametrize(
    ("metadata", "states"),
    [
        ({}, []),
        ({"status": " Superseded "}, ["superseded"]),
        ({"superseded_by": "x"}, ["superseded"]),
        ({"superseded_by": ""}, []),
        ({"deprecated": True}, ["deprecated"]),
        ({"deprecated": "use x"}, ["deprecated"]),
        ({"deprecated": "false"}, []),
        ({"deprecated": False}, []),
        ({"status": "deprecated", "superseded_by": ["x"]}, ["deprecated", "superseded"]),
        ({"status": "active"}, []),
    ],
)
def test_withdrawn_items_say_so(tmp_path: Path, metadata: dict[str, object], states: list[str]) -> None:
    """Status, successor and the deprecated flag make the two states that hide an item."""
    held = dump(Segment(write(tmp_path / "a", [item("x", metadata=metadata)])))["entries"][0]
    assert [value for key, value in held if key == "is"] == states
