"""The benchmarks run, and what they compare is comparable: engines find what reading every item finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rye.items.model import Item
from tests.benchmarks import documents, engines, facets, meaning, refresh, registry, relations
from tests.benchmarks.asking import KINDS, Query, queries, values_of, words_of
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.peers import MODULES, peers
from tests.support import naive_analysis
from tests.support.naive_docs import text_values

ITEMS, EACH = 300, 3
CORPUS = Corpus()
FEW = CORPUS.items(ITEMS)
ASKED = queries(FEW, CORPUS.vocabulary, EACH)
COMPARED = ("term common", "term medium", "term rare", "and", "or3", "phrase", "filter", "page")


def as_plain(item: Item) -> list[list[str]]:
    """Return the words of each column, as the peers see them."""
    return [words_of(text) for text in values_of(item)]


def plainly(item: Item, query: Query) -> bool:
    """Tell whether an item matches, for engines that know only words as written."""
    columns = as_plain(item)
    have = {word for column in columns for word in column}
    if query.kind == "phrase":
        return any(pair == query.words for column in columns for pair in pairwise(column))
    if query.item_type not in ("", item.type):
        return False
    return (any if query.kind == "or3" else all)(word in have for word in query.words)


def by_rye(item: Item, query: Query) -> bool:
    """Tell whether an item matches by rye's analysis: joined forms, parts of identifiers, stems."""
    fields = [naive_analysis.analyze(values) for _, values in text_values(item).items()]
    if query.kind == "phrase":
        first, second = query.words
        found = ((field.positions.get(first, ()), field.positions.get(second, ())) for field in fields)
        return any(place + 1 in after for before, after in found for place in before)
    if query.item_type not in ("", item.type):
        return False
    stems = {naive_analysis.stem(term) for field in fields for term in field.positions}
    return (any if query.kind == "or3" else all)(naive_analysis.stem(word) in stems for word in query.words)


def check(totals: Mapping[str, Sequence[int]], matches: Callable[[Item, Query], bool]) -> None:
    """Hold the totals an engine gave against reading every item."""
    for kind, found in totals.items():
        asked = [query for query in ASKED if query.kind == kind]
        assert list(found) == [sum(matches(item, query) for item in FEW) for query in asked], kind


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Measure all engines there are, once."""
    plan = engines.Plan(ITEMS, each=EACH, rounds=1, budget=60.0)
    return engines.measure(plan, tmp_path_factory.mktemp("engines"))


@pytest.mark.parametrize("name", ["rye", *MODULES])
def test_an_engine_finds_what_reading_every_item_finds(found: dict[str, Any], name: str) -> None:
    """Totals of single words, AND, OR, phrases, filters and pages, by what the engine takes for a word."""
    if name in MODULES:
        pytest.importorskip(MODULES[name], reason=f"{name} is not installed; it comes with rye-search[bench]")
    kinds = found["engines"][name]["queries"]
    check({kind: kinds[kind]["totals"] for kind in COMPARED if kind in kinds}, by_rye if name == "rye" else plainly)
    assert set(kinds) == set(KINDS) - found["lacks"][name].keys()


@pytest.mark.parametrize("name", MODULES)
def test_a_column_for_each_field_finds_the_same(tmp_path: Path, name: str) -> None:
    """Peers with one column for each field answer as those with one for all, because no phrase spans fields."""
    pytest.importorskip(MODULES[name], reason=f"{name} is not installed; it comes with rye-search[bench]")
    (engine,) = (one for one in peers(columns=True) if one.name == name)
    engine.build(engine.prepare(FEW), tmp_path)
    ask = engine.open(tmp_path)
    totals = {
        kind: [ask(query).total for query in ASKED if query.kind == kind]
        for kind in COMPARED
        if kind not in engine.lacks
    }
    check(totals, plainly)


@pytest.mark.parametrize(
    ("measure", "tables", "row"),
    [
        (partial(documents.measure, 40, each=1, rounds=1), documents.tables, "40 documents"),
        (partial(registry.measure, 60, 40, each=1, rounds=1, pairs=1), registry.tables, "× its bare imports"),
        (partial(refresh.measure, 60, 40, rounds=2), refresh.tables, "| nothing changed, of the walk "),
        (partial(facets.measure, 60, each=1, rounds=1), facets.tables, "all six, of the query"),
        (partial(relations.measure, 60, each=1, rounds=1), relations.tables, "| is:orphan "),
        (partial(meaning.measure, 60, 40, rounds=1, pairs=1, vectors=500), meaning.tables, "| hybrid search by two"),
    ],
    ids=["documents", "registry", "refresh", "facets", "relations", "meaning"],
)
def test_a_benchmark_measures_and_prints(
    measure: Callable[..., Any], tables: Callable[[Any], str], row: str, tmp_path: Path
) -> None:
    """On a few items; each insists itself that the answers are right."""
    assert row in tables(measure(folder=tmp_path))
