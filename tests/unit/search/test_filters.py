"""Filters on values, decided on the dictionary of values, against reading each item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.reader import Reader
from rye.search.fields import weights_for
from rye.search.request import bind_filters
from rye.search.score import Evaluation
from rye.spaces.model import Root, Space
from tests.support.effort import examples
from tests.support.naive_bind import Binder
from tests.support.naive_docs import NaiveDoc, read_corpus
from tests.support.naive_filters import passes
from tests.support.query_strategies import METADATA_KEYS, filters, keyword_tests
from tests.support.strategies import docs
from tests.unit.index.segments import item, place, reader, snapshot
from tests.unit.search.asking import evaluation, ids, states

SOURCES = ("project", "user")
ROOTS = {"project": Root(Space.PROJECT, Path("/p")), "user": Root(Space.USER, Path("/u"))}


def lay(folder: Path, found: list[NaiveDoc]) -> tuple[Reader, list[NaiveDoc]]:
    """Write one segment per source; return a reader and the documents in its order."""
    snapshots, ordered = [], []
    for source, root in ROOTS.items():
        mine = [doc for doc in found if doc.source == source]
        (folder / source).mkdir()
        snapshots.append((root, snapshot(folder / source, [[doc.item for doc in mine]] if mine else [], root=root)))
        ordered += [NaiveDoc(doc.item, source, place(doc.item, root).path) for doc in mine]
    return Reader(snapshots), ordered


def filtered(over: Reader, wanted: dict[str, Any]) -> list[int]:
    """Return the documents that pass filters."""
    mask = over.live.copy()
    keys = frozenset(over.keys)
    for node in bind_filters(wanted, keys):
        mask &= Evaluation(over, node, weights_for(over), states(over)).docs().mask
    return np.flatnonzero(mask).tolist()


@examples(40)
@given(docs(most=5, sources=SOURCES, verdicts=["unsigned"]), st.data())
def test_values_are_held_against_tests_as_the_twin_holds_them(
    tmp_path_factory: pytest.TempPathFactory, found: list[NaiveDoc], data: st.DataObject
) -> None:
    """Values, wildcards, ranges, existence and filters find the items that reading each one finds."""
    over, ordered = lay(tmp_path_factory.mktemp("filters"), found)
    corpus = read_corpus(ordered)
    keys = sorted(corpus.metadata_keys & METADATA_KEYS)
    for node in data.draw(st.lists(keyword_tests(keys), min_size=2, max_size=5)):
        naive = Binder(corpus).bind(node)
        expected = [number for number in range(len(ordered)) if naive.matches(number)]
        assert np.flatnonzero(evaluation(over, node).docs().mask).tolist() == expected, str(node)
    wanted = data.draw(filters(keys))
    expected = [number for number, values in enumerate(corpus.values) if passes(values, wanted)]
    assert filtered(over, wanted) == expected


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader over a few items with metadata of every kind, one of them deleted."""
    items = [
        item(
            "one",
            version="1.0",
            author="Ada",
            updated="2026-02-18",
            metadata={"priority": 2, "flag": True, "odd*key": "x"},
        ),
        item("two", version="v1.10", author="Grace Hopper", created="2026", metadata={"priority": 10.5, "flag": False}),
        item("three", author="a*b", tags=("x", "y"), metadata={"priority": "high", "list": ["x", "Y"]}),
        item("gone", version="1.0", author="Ada"),
    ]
    return reader(tmp_path, items, gone={(0, 3)})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["one", "three", "two"]),
        ({"author": "ADA"}, ["one"]),
        ({"author": "a*b"}, ["three"]),
        ({"author": "g*"}, []),
        ({"author": ["ada", "grace hopper"]}, ["one", "two"]),
        ({"author": "!ada"}, ["three", "two"]),
        ({"version": "!1.0"}, ["two"]),
        ({"author": ["!ada", "ada"]}, ["one", "three", "two"]),
        ({"version": ">=1.5"}, ["two"]),
        ({"version": "< 2"}, ["one", "two"]),
        ({"version": "1.10"}, ["two"]),
        ({"version": "v1.10"}, ["two"]),
        ({"priority": 2}, ["one"]),
        ({"priority": 10.5}, ["two"]),
        ({"priority": ">2"}, ["two"]),
        ({"priority": ">=2"}, ["one", "two"]),
        ({"priority": ">=a"}, ["three"]),
        ({"flag": True}, ["one"]),
        ({"flag": False}, ["two"]),
        ({"list": "y"}, ["three"]),
        ({"tag": "x"}, ["three"]),
        ({"odd*key": "x"}, ["one"]),
        ({"date_from": "2026-02"}, ["one"]),
        ({"date_from": "2026"}, ["one", "two"]),
        ({"date_to": "2026-01"}, ["two"]),
        ({"date_from": "2026", "date_to": "2026-02-17"}, ["two"]),
        ({"id": "one"}, ["one"]),
        ({"id": "!one", "type": "tool"}, ["three", "two"]),
        ({"is": "unsigned"}, ["one", "three", "two"]),
        ({"verdict": "!unsigned"}, []),
        ({"is": "!signed"}, ["one", "three", "two"]),
    ],
)
def test_filters_by_example(over: Reader, wanted: dict[str, Any], found: list[str]) -> None:
    """Exact values without case, any of a list, negation among items with the field, comparisons of each kind."""
    assert sorted(over.key_of(doc)[1] for doc in filtered(over, wanted)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("author:ad?", ["one"]),
        ("author:adda~", ["one"]),
        ("author:adda~0", []),
        ("author:*a*", ["one", "three", "two"]),
        (r"author:*\**", ["three"]),
        ("version:1", ["one"]),
        ("version:1.10.0", ["two"]),
        ("updated:2026-02", ["one"]),
        ("-version:*", ["three"]),
        ("tags:*", ["three"]),
        ("title:*", []),
        ("signer:*", []),
        ("signer:a*", []),
        ("signer:?**", []),
        ("is:trusted", []),
        ("-is:signed", ["one", "three", "two"]),
    ],
)
def test_queries_on_values_by_example(over: Reader, asked: str, found: list[str]) -> None:
    """Wildcards and typos stand for the whole value; versions and dates equal what they are; no signer is no value."""
    assert ids(over, asked) == found
