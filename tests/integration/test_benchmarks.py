"""The benchmarks run, and what they compare is comparable: engines find what reading every item finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rye.items.model import Item
from tests.benchmarks import documents, engines, facets, meaning, refresh, registry, relations
from tests.benchmarks.asking import KINDS, SENTENCE, Query, queries, values_of, words_of
from tests.benchmarks.corpus import BLOCK, LONG, Corpus
from tests.benchmarks.ours import Rye
from tests.benchmarks.peers import MODULES, peers
from tests.support import naive_analysis
from tests.support.naive_docs import text_values

pytestmark = pytest.mark.slow

ITEMS, EACH = 300, 3
CORPUS = Corpus()
FEW = CORPUS.items(ITEMS)
ASKED = queries(FEW, CORPUS.vocabulary, EACH)
COMPARED = ("term common", "term medium", "term rare", "and", "or3", "phrase", "filter", "page")


def test_a_corpus_is_always_the_same_and_a_larger_one_begins_with_a_smaller() -> None:
    """The seed decides, not the number of items; types and ids do not repeat."""
    again = Corpus().items(ITEMS)
    assert again == FEW
    many = CORPUS.items(BLOCK + 10)
    assert many[:ITEMS] == FEW
    assert len({(item.type, item.id) for item in many}) == len(many)
    assert {str(item.type) for item in FEW} == {"directive", "tool", "knowledge"}


def test_long_bodies_have_ten_times_the_words() -> None:
    """Of 40 and of 400 words on average."""
    short, long = (sum(len(item.body.split()) for item in Corpus(words).items(500)) for words in (40, LONG))
    assert 7 < long / short < 12


def test_there_are_queries_of_every_kind_and_always_the_same() -> None:
    """So many of each kind."""
    assert queries(FEW, CORPUS.vocabulary, EACH) == ASKED
    assert [query.kind for query in ASKED] == [kind for kind in KINDS for _ in range(EACH)]


def test_documents_are_read_from_files_by_every_engine(tmp_path: Path) -> None:
    """They are the same each time, and each engine answers every kind of query about them."""
    assert documents.Documents().document(7) == documents.Documents().document(7)
    found = documents.measure(40, each=1, rounds=1, folder=tmp_path)
    assert {"rye", "FTS5"} <= found["engines"].keys()
    assert all(set(one["pages"]) == set(documents.KINDS) for one in found["engines"].values())
    assert "40 documents" in documents.tables(found)


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


@pytest.fixture(scope="module")
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


def test_rye_ranks_a_page(tmp_path: Path) -> None:
    """Ten different items at most, and the second page is another than the first."""
    engine = Rye()
    engine.build(engine.prepare(FEW), tmp_path)
    ask, word = engine.open(tmp_path), ASKED[0].words
    first, second = ask(Query("page", word)), ask(Query("page", word, offset=10))
    assert len(set(first.page)) == 10
    assert first.page != second.page
    assert not set(first.page) & set(second.page)


def test_the_result_is_json_and_a_table_of_ratios(found: dict[str, Any]) -> None:
    """Everything that was measured is there: build, disk, memory, and times of each kind, with the machine."""
    assert json.loads(json.dumps(found))["plan"]["items"] == ITEMS
    text = engines.tables(found)
    for label in ("build, s", "disk, MB", "memory, MB", *(f"{kind}, p95 ms" for kind in KINDS)):
        assert f"| {label} " in text
    assert found["machine"]["cores"] > 0
    assert found["engines"]["rye"]["memory"]["resident"] >= 0
    assert "multiple of" in text


def test_a_whole_search_is_measured_over_signed_files(tmp_path: Path) -> None:
    """Pages of verified hits without and with a scan, and a command beside the imports it needs."""
    found = registry.measure(60, 40, each=1, rounds=1, pairs=1, folder=tmp_path)
    assert found["process"]["ratio"] > 0
    assert set(found["page"]) == set(found["scan"]) == {"all", *KINDS, SENTENCE}
    text = registry.tables(found)
    assert "| fuzzy " in text
    assert "× its bare imports" in text


def test_a_refresh_is_measured_beside_a_bare_walk(tmp_path: Path) -> None:
    """The benchmark itself insists that nothing, or just the one file, had changed."""
    found = refresh.measure(60, 40, rounds=2, folder=tmp_path)
    assert found["unchanged_ms"] > 0
    assert found["one_changed"]["p95"] >= found["one_changed"]["p50"]
    assert "| nothing changed, of the walk " in refresh.tables(found)


def test_facets_are_measured_beside_their_queries(tmp_path: Path) -> None:
    """Of each kind of query, six facets alone and together."""
    found = facets.measure(60, each=1, rounds=1, folder=tmp_path)
    assert set(found["kinds"]) == set(KINDS)
    assert all(row["all six"] > 0 for row in found["kinds"].values())
    assert "all six, of the query" in facets.tables(found)


def test_relations_are_measured_beside_their_queries(tmp_path: Path) -> None:
    """Each condition on relations with a query and alone, resolving for the first time, and walks."""
    found = relations.measure(60, each=1, rounds=1, folder=tmp_path)
    assert set(found["warm"]) == set(relations.CONDITIONS)
    assert all(row["alone_ms"] > 0 for row in found["warm"].values())
    assert found["refs"]["depth_3_ms"] > 0
    assert "| is:orphan " in relations.tables(found)


def test_searches_by_meaning_are_measured_in_both_modes(tmp_path: Path) -> None:
    """By a description and by two words of it; the benchmark itself insists that meaning answered."""
    found = meaning.measure(60, 40, rounds=1, pairs=1, folder=tmp_path, vectors=500)
    for mode in meaning.MODES:
        assert set(found[mode]) == set(meaning.ASKED)
        assert all(times["p95"] >= times["p50"] > 0 for times in found[mode].values())
    assert found["vectors"] >= 60
    text = meaning.tables(found)
    assert "| hybrid search by two words " in text
    assert "| a query over 500 vectors " in text
