"""What a cluster is given of an item, and the keys whose byte order is that of values."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.cluster.client import Address
from rye.cluster.documents import (
    date_key,
    documents,
    marks_of,
    number_key,
    settings,
    version_key,
    word_counts,
    words_of,
)
from rye.cluster.faults import shown
from rye.errors import ArgumentError
from rye.index.analysis import VALUE_GAP
from rye.index.schema import TEXT_FIELDS, ItemPlace, text_columns, version
from rye.index.segment import Segment
from rye.index.segment_builder import SegmentBuilder
from rye.items.model import Item, ItemType
from rye.items.reader import parse
from rye.trust.model import Evidence
from tests.support.naive_analysis import analyze

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VERSIONS = st.from_regex(r"v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(-[0-9a-zA-Z]{1,3}(\.[0-9a-zA-Z]{1,3})?)?", fullmatch=True)


@given(FINITE, FINITE)
def test_number_keys_are_in_the_order_of_numbers(one: float, other: float) -> None:
    """Negative ones too; zeros of both signs are equal."""
    assert (number_key(one) < number_key(other)) == (one < other)
    assert (number_key(one) == number_key(other)) == (one == other)


@given(st.floats(-6e10, 2.5e11), st.floats(-6e10, 2.5e11))
def test_date_keys_are_in_the_order_of_moments(one: float, other: float) -> None:
    """From the year 1 to 9999, to the microsecond."""
    assert (date_key(one) <= date_key(other)) or one > other


@given(VERSIONS, VERSIONS)
def test_version_keys_are_in_the_order_of_versions(one: str, other: str) -> None:
    """Pre-releases come before their release."""
    first, second = version(one), version(other)
    assert first is not None
    assert second is not None
    assert (version_key(first) < version_key(second)) == (first < second)
    assert (version_key(first) == version_key(second)) == (first == second)


def segment_of(folder: Path, *texts: str) -> tuple[Segment, list[Item]]:
    """Return an index of knowledge items with these texts, and the items."""
    builder, items = SegmentBuilder(), list[Item]()
    for number, text in enumerate(texts):
        path = f"knowledge/ops/item-{number}.md"
        item_id = f"ops/item-{number}"
        item = parse(text.encode(), item_type=ItemType.KNOWLEDGE, item_id=item_id, suffix=".md", path=path)
        items.append(item)
        builder.add(item, ItemPlace("project", "", path), Evidence(str(number) * 64, "no-envelope"))
    file = folder / f"segment-{uuid4().hex}"
    builder.write(file)
    return Segment(file), items


HEAD = "---\nname: Roll back\nversion: 1.2\nweight: -3\ntags: [ops, ci -> cd]\nupdated: 2026-02-18\n---\n\n"
TEXTS = (
    f"{HEAD}# Roll back\n\nreadAll the fileSystem -> C++ now\n",
    "# Straße\n\nfile-system pipe|bar 漢字 don't\n",
    "",
    "# Roll\n\nback\n\n## Second heading\n\nreadAll readAll\n",
)


def placed(values: list[str]) -> dict[str, list[int]]:
    """Return the positions of the terms as the analyzer of the cluster finds them."""
    found, base = dict[str, list[int]](), 0
    for value in values:
        groups = value.split(" ")
        for at, group in enumerate(groups):
            for term in group.split("|"):
                found.setdefault(term, []).append(base + at)
        base += len(groups) + VALUE_GAP
    return {term: sorted(places) for term, places in found.items()}


def test_what_the_cluster_splits_are_the_terms_of_the_text(tmp_path: Path) -> None:
    """At their positions, joined forms at that of their first part, and gaps between values."""
    segment, items = segment_of(tmp_path, *TEXTS)
    for found, item in zip(documents(segment, np.arange(len(TEXTS))), items, strict=True):
        for number, values, _ in text_columns([item]):
            expected, name = analyze(values), TEXT_FIELDS[number]
            assert found.get(f"n_{name}", 0) == expected.length
            if expected.length:
                assert placed(found[f"t_{name}"]) == {term: sorted(at) for term, at in expected.positions.items()}


def test_some_documents_of_a_segment_are_what_they_are_among_all(tmp_path: Path) -> None:
    """Which others are written at the same time makes no difference."""
    segment, _ = segment_of(tmp_path, *TEXTS)
    every = list(documents(segment, np.arange(len(TEXTS))))
    assert list(documents(segment, np.asarray([1, 3]))) == [every[1], every[3]]
    assert list(documents(segment, np.asarray([], np.int64))) == []


def test_every_field_of_a_document_is_in_the_mapping(tmp_path: Path) -> None:
    """It is strict: an unknown field would refuse the document."""
    segment, _ = segment_of(tmp_path, TEXTS[0])
    (found,) = documents(segment, np.arange(1))
    assert found.keys() <= settings(1, 0)["mappings"]["properties"].keys()
    entries = {"tags\0ops", "version\x001.2", "id\0ops/item-0", "key\0knowledge:ops/item-0", "author\0"}
    assert entries - set(found["entry"]) == {"author\0"}
    assert any(key.startswith("weight\0n") for key in found["order"])
    assert (found["n_title"], found["t_title"]) == (2, ["roll back"])


def test_words_are_counted_by_items_with_the_fields_that_they_stand_in(tmp_path: Path) -> None:
    """The same from the index and from the documents, which a publish has of items that go."""
    segment, _ = segment_of(tmp_path, *TEXTS)
    counted = word_counts(segment, np.ones(len(TEXTS), bool))
    expected: dict[str, list[int]] = {}
    for found in documents(segment, np.arange(len(TEXTS))):
        for word, fields in words_of(found).items():
            df, before = expected.get(word, [0, 0])
            expected[word] = [df + 1, before | fields]
    assert {word: list(count) for word, count in counted.items()} == expected
    assert counted["roll"].df == 2
    assert word_counts(segment, np.zeros(len(TEXTS), bool)) == {}


def test_marks_change_with_all_that_a_document_depends_on(tmp_path: Path) -> None:
    """Bytes, owner, root and shadows; equal for equal items."""
    segment, _ = segment_of(tmp_path, *TEXTS)
    every, none = np.arange(len(TEXTS)), {"shadowed": np.zeros(len(TEXTS), bool)}
    marks = marks_of(segment, every, ["shop", "project"], none)
    assert len(set(marks)) == len(TEXTS)
    assert marks == marks_of(segment, every, ["shop", "project"], none)
    assert not set(marks) & set(marks_of(segment, every, ["other", "project"], none))
    shadowed = {"shadowed": np.asarray([True, False, False, False])}
    assert [a == b for a, b in zip(marks, marks_of(segment, every, ["shop", "project"], shadowed), strict=True)] == [
        *(False, True, True, True)
    ]


def test_addresses() -> None:
    """With and without a port, with one host and with several."""
    one = Address.parse("opensearch+https://search.example/skills")
    assert (one.secure, one.hosts, one.name) == (True, (("search.example", 9200),), "skills")
    assert str(Address.parse("opensearch+http://[::1]:9201/a/")) == "opensearch+http://[::1]:9201/a"
    several = Address.parse("opensearch+https://a.example:9201,b.example,[::2]/skills")
    assert several.hosts == (("a.example", 9201), ("b.example", 9200), ("[::2]", 9200))
    assert Address.parse(str(several)) == several


@pytest.mark.parametrize(
    "text",
    [
        None,
        5,
        "https://host/a",
        "opensearch+https://host",
        "opensearch+https://user:secret@host/a",
        "opensearch+https://host/a?b",
        "opensearch+https://host/A",
        "opensearch+https://host/a*",
        "opensearch+https://host:99999/a",
        "opensearch+http://host/a",
        "opensearch+http://127.0.0.1,host/a",
        "opensearch+https://host,/a",
        "opensearch+https://host,user:secret@other/a",
        "opensearch+http://127.0.0.1.example/a",
    ],
)
def test_what_is_no_address_or_not_encrypted_is_refused(text: object) -> None:
    """The error does not repeat a password."""
    with pytest.raises(ArgumentError) as raised:
        Address.parse(text)
    assert raised.value.code == "bad-index"
    assert "secret" not in str(raised.value)


def test_words_of_a_cluster_are_shown_without_control_characters() -> None:
    """And cut."""
    assert shown("a\x1b[31mb\n") == "a?[31mb?"
    assert len(shown("x" * 10_000)) < 1_000
