"""``Registry.search`` over real files answers what a brute-force reading of the same files answers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye import Registry, SearchResponse, SearchResult
from rye.errors import NotFoundError, QueryError, RyeError
from rye.query import ast, parse
from tests.support import naive
from tests.support.effort import examples
from tests.support.naive_analysis import visible
from tests.support.naive_docs import NaiveDoc, states
from tests.support.query_strategies import Case, bags_of_words, cases, group, pasted, references
from tests.support.signed import EVE, NOW
from tests.support.spacesim import SpaceSim, no_own_items
from tests.support.strategies import TOPIC, as_file

BUNDLES = ("alpha", "beta")
SLOW = settings(
    examples(80, least=20), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None
)
TREATMENTS = ("unsigned", "signed", "signed", "unknown", "changed")


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items: each example decides what there is."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


def lay(sim: SpaceSim, docs: Sequence[NaiveDoc]) -> None:
    """Write the file of every item."""
    for doc in docs:
        path, content = as_file(doc.item)
        sim.write(doc.source, path, content)


def ask(registry: Registry, case: Case, text: str = "", **more: Any) -> SearchResponse:
    """Search for what a case asks, or for a text."""
    options = case.options
    return registry.search(
        text or str(case.query),
        scope=options.scope,
        space=options.space,
        limit=options.limit,
        offset=options.offset,
        sort_by=options.sort_by,
        fields={name: str(node) for name, node in options.fields.items()},
        filters=options.filters,
        level=options.level,
        include_superseded=options.include_superseded,
        relax=options.relax,
        explain=True,
        mode="keyword",
        **more,
    )


def key(hit: SearchResult) -> tuple[str, str, str]:
    """Return type, id and source of a hit."""
    return hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source


def compare(response: SearchResponse, expected: naive.NaiveAnswer, docs: Sequence[NaiveDoc]) -> None:
    """Hold an answer with explanations against the twin's."""
    assert tuple(map(key, response.results)) == expected.ids
    assert response.total == expected.total
    assert response.stage == expected.stage
    assert tuple(hit.exact for hit in response.results) == expected.exact
    for hit, score, doc in zip(response.results, expected.scores, expected.docs, strict=True):
        assert abs(hit.score - score) <= 0.5e-4 + 1e-9
        assert hit.explain is not None
        shares = math.fsum(trace.contribution for trace in hit.explain)
        assert shares == pytest.approx(score, abs=1e-6) or (not hit.explain and score == 1.0)
        assert str(hit.signature.verdict) == doc.verdict
        known = states(doc, docs)
        assert (bool(hit.shadowed_by), bool(hit.shadows)) == ("shadowed" in known, "shadowing" in known)
    following = response.offset + response.limit
    assert response.next_offset == (following if following < expected.total else None)
    assert not response.stale


def check(sim: SpaceSim, case: Case) -> None:
    """Answer a case by the registry and by the twin, from the files as they are."""
    docs = sim.docs(NOW)
    response, expected = ask(sim.fresh(), case), naive.search(docs, case.query, options=case.options)
    compare(response, expected, docs)
    if not case.options.relax:
        every = naive.search(docs, case.query, options=replace(case.options, include_superseded=True))
        assert sum(response.hidden.values()) == every.total - expected.total


@given(cases(verdicts=("unsigned",)))
@SLOW
def test_a_search_answers_what_reading_every_file_answers(case: Case) -> None:
    """Hits, their order, totals, stage, what is exact, and scores: for any query and any options over any items."""
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        check(sim, case)


@given(cases(verdicts=("unsigned",)), pasted(), st.data())
@SLOW
def test_pasted_text_is_answered_as_its_reading_says(case: Case, text: str, data: st.DataObject) -> None:
    """As written, as text or as a reference, with the same hits in the same order; else the error of the language."""
    if bool(case.docs) and data.draw(st.booleans()):
        text = data.draw(references(case.docs))
    if bool(case.docs) and data.draw(st.booleans()):
        doc = data.draw(st.sampled_from(case.docs))
        whole = data.draw(st.sampled_from([text, text.upper()]))
        item = replace(doc.item, description=whole)
        case = replace(case, docs=tuple(replace(one, item=item) if one is doc else one for one in case.docs))
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        fields = {}
        if data.draw(st.booleans()):
            try:
                fields = {
                    "description": parse(
                        data.draw(pasted().filter(lambda text: text.isascii() and ":" not in text))
                    ).ast
                }
            except QueryError:
                fields = {}
        options = replace(case.options, text=text, fields=fields)
        try:
            written = parse(visible(text)).ast
        except QueryError:
            written = None
        if written is None and not options.relax:
            with pytest.raises(QueryError):
                ask(sim.registry(), replace(case, options=options), text)
            return
        docs = sim.docs(NOW)
        try:
            expected = naive.search(docs, written, options=options)
        except QueryError:  # a slip of the name of a field
            with pytest.raises(QueryError):
                ask(sim.registry(), replace(case, options=options), text)
            return
        compare(ask(sim.registry(), replace(case, options=options), text), expected, docs)


@st.composite
def signed_cases(draw: st.DrawFn) -> tuple[Case, list[str]]:
    """Draw a search, and for each item how its file is signed."""
    case = draw(cases(most=6))
    return case, [draw(st.sampled_from(TREATMENTS)) for _ in case.docs]


def treat(sim: SpaceSim, doc: NaiveDoc, treatment: str) -> None:
    """Sign the file of an item with the key trusted there or one that nobody knows, and maybe change it afterwards."""
    path, _ = as_file(doc.item)
    if treatment != "unsigned":
        place = sim.sign(doc.source, path, EVE if treatment == "unknown" else None)
        if treatment == "changed":
            place.write_bytes(place.read_bytes() + b"\n")


@given(signed_cases())
@SLOW
def test_verdicts_are_searched_as_they_are(drawn: tuple[Case, list[str]]) -> None:
    """Items signed well, by a stranger, changed afterwards or not at all: ``is:`` and every hit say what is true."""
    case, treatments = drawn
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        for doc, treatment in zip(case.docs, treatments, strict=True):
            treat(sim, doc, treatment)
        check(sim, case)


def answer(registry: Registry, case: Case) -> dict[str, Any]:
    """Return everything that a search says, except places, its time, and where an empty space is; or its error."""
    try:
        found = ask(registry, case, facets=("type", "tags", "verdict"))
    except RyeError as error:
        return error.to_dict()
    said = found.to_dict() | {"took_ms": 0}
    warnings = [text for text in said["warnings"] if not text.startswith(("no item of your own", "there are no items"))]
    return said | {"results": [hit | {"path": ""} for hit in said["results"]], "warnings": warnings}


@given(signed_cases())
@SLOW
def test_a_view_of_trusted_items_is_a_registry_without_the_others(drawn: tuple[Case, list[str]]) -> None:
    """Hits, scores, counts, suggestions, warnings and errors: an item that is not trusted changes none of them."""
    case, treatments = drawn
    case = replace(case, options=replace(case.options, relax=True))
    with tempfile.TemporaryDirectory() as folder:
        sim, alone = (SpaceSim(Path(folder, name), bundles=BUNDLES) for name in ("all", "alone"))
        lay(sim, case.docs)
        for doc, treatment in zip(case.docs, treatments, strict=True):
            treat(sim, doc, treatment)
        trusted = [doc for doc in sim.docs(NOW) if doc.verdict == "trusted"]
        for doc in trusted:
            alone.write(doc.source, doc.path, sim.path(doc.source, doc.path).read_bytes())
        view, other = sim.fresh(only_trusted=True), alone.fresh()
        assert answer(view, case) == answer(other, case)
        assert view.stats().total == other.stats().total
        for doc in case.docs:
            name = f"{doc.item.type}:{doc.item.id}"
            loaded = []
            for registry in (view, other):
                try:
                    loaded.append(registry.get(name).data)
                except NotFoundError:
                    loaded.append(b"")
            assert loaded[0] == loaded[1]


@st.composite
def loose_cases(draw: st.DrawFn) -> tuple[Case, dict[str, Any], dict[str, Any]]:
    """Draw a search for several words, with the ``fuzzy`` and ``proximity`` it is asked with."""
    case = draw(cases(most=6, verdicts=("unsigned",)))
    texts = draw(st.lists(st.sampled_from(draw(TOPIC)), min_size=1, max_size=4))
    query = group(ast.And, list(map(ast.Word, texts)))
    off: list[dict[str, Any]] = [{}, {"enabled": False}, {"enabled": False, "max_distance": 1}]
    fuzzy: list[dict[str, Any]] = [{"enabled": True}, *({"max_distance": number} for number in range(4))]
    proximity: list[dict[str, Any]] = [{"enabled": True}, *({"max_distance": number} for number in (1, 2, 9))]
    fields = draw(st.dictionaries(st.sampled_from(["title", "body", "description"]), bags_of_words(), max_size=2))
    options = replace(case.options, text=str(query), relax=False, fields={**case.options.fields, **fields})
    drawn = Case(case.docs, query, options)
    return drawn, draw(st.sampled_from([*off, *fuzzy])), draw(st.sampled_from([*off, *proximity]))


def forgiving(words: ast.Node, fuzzy: dict[str, Any]) -> Sequence[ast.Node]:
    """Return some words, each with the typos that ``fuzzy`` forgives: two at most."""
    operands = words.operands if isinstance(words, ast.And) else (words,)
    if not fuzzy.get("enabled", bool(fuzzy)):
        return operands
    distance = None if "max_distance" not in fuzzy else min(fuzzy["max_distance"], 2)
    return [ast.Fuzzy(one.text, distance) for one in operands if isinstance(one, ast.Word)]


def stands_for(words: ast.Node, fuzzy: dict[str, Any], proximity: dict[str, Any]) -> ast.Node:
    """Return the query that says the same as words with these dictionaries; one word is near nothing."""
    operands = tuple(forgiving(words, fuzzy))
    if proximity.get("enabled", bool(proximity)) and len(operands) > 1:
        return ast.Near(operands, (proximity.get("max_distance", 5),) * (len(operands) - 1))
    return group(ast.And, operands)


@given(loose_cases())
@SLOW
def test_fuzzy_and_proximity_are_what_they_stand_for(drawn: tuple[Case, dict[str, Any], dict[str, Any]]) -> None:
    """With either or both dictionaries, words are searched as ``word~n`` and ``NEAR/n`` written out are."""
    case, fuzzy, proximity = drawn
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=BUNDLES)
        lay(sim, case.docs)
        docs = sim.docs(NOW)
        fields = {name: group(ast.And, forgiving(one, fuzzy)) for name, one in case.options.fields.items()}
        options = replace(case.options, fields=fields)
        expected = naive.search(docs, stands_for(case.query, fuzzy, proximity), options=options)
        found = ask(sim.registry(), case, fuzzy=fuzzy, proximity=proximity)
        compare(found, expected, docs)
