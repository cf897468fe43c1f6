"""``why`` agrees with the search, and with reading every item, on every pair of query and item."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from rye import Registry, SearchResponse
from rye.query import parse
from rye.search.clauses import Clause
from rye.search.explain import MISS_REASONS, Why
from tests.support.effort import examples
from tests.support.embedders import Hashed
from tests.support.naive_analysis import fold
from tests.support.naive_bind import Binder
from tests.support.naive_docs import Corpus, read_corpus, withdrawn
from tests.support.naive_filters import passes, scope_test
from tests.support.naive_search import default_fields
from tests.support.query_strategies import Case, cases
from tests.support.signed import NOW
from tests.support.spacesim import SpaceSim, no_own_items
from tests.support.strategies import as_file

SLOW = settings(
    examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)


@pytest.fixture(scope="module", autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave out rye's own items: each example decides what there is."""
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield


def ask(registry: Registry, case: Case, item: str = "") -> tuple[SearchResponse, Why | None]:
    """Search for what a case asks, all of it on one page, and ask why an item is or is not among the hits."""
    options = case.options
    more = {
        "scope": options.scope,
        "space": options.space,
        "sort_by": options.sort_by,
        "fields": {name: str(node) for name, node in options.fields.items()},
        "filters": options.filters,
        "level": options.level,
        "include_superseded": options.include_superseded,
        "relax": options.relax,
        "mode": "keyword",
    }
    found = registry.search(str(case.query), limit=1000, explain=True, **more)  # type: ignore[arg-type]
    return found, registry.why(str(case.query), item, **more) if item else None  # type: ignore[arg-type]


def every(clause: Clause) -> Iterator[Clause]:
    """Yield a clause and all below it."""
    yield clause
    for below in clause.clauses:
        yield from every(below)


def check_clauses(why: Why, case: Case, corpus: Corpus, number: int) -> None:
    """Hold every part of the query against the twin's reading of that part, and every group against its parts."""
    binder = Binder(corpus, default_fields(case.options))
    for clause in (part for root in why.clauses for part in every(root)):
        assert clause.matched == binder.bind(parse(clause.text).ast).matches(number), clause.text
        below = [part.matched for part in clause.clauses]
        if below:
            assert clause.matched == {"and": all(below), "or": any(below), "not": not below[0]}[clause.kind]
        assert not clause.words or (clause.matched and clause.kind == "text")
        assert bool(clause.words) == (clause.matched and clause.kind == "text")


def check_reasons(why: Why, case: Case, corpus: Corpus, number: int) -> None:
    """Hold the reasons against what scope, filters, states and query say of the item, each by itself."""
    doc, options = corpus.docs[number], case.options
    codes = {reason.code for reason in why.reasons}
    assert codes <= set(MISS_REASONS)
    assert why.found == (not codes)
    main, *further = (clause.matched for clause in why.clauses)
    exact = why.stage == "all" and fold(options.text.strip()) in {fold(doc.item.id), fold(doc.item.name)}
    assert ("scope" in codes) == (not scope_test(options.scope)(doc))
    assert ("filter" in codes) == (not passes(corpus.values[number], options.filters))
    assert ("hidden" in codes) == (bool(withdrawn(doc)) and not options.include_superseded)
    assert ("field" in codes) == (not all(further))
    unmatched = bool(codes & {"no-match", "excluded"})
    assert unmatched == (not main and not exact)
    assert all(reason.message and (reason.clause or reason.code == "unreadable") for reason in why.reasons)


def check(registry: Registry, case: Case, corpus: Corpus, number: int) -> None:
    """Ask why about one item and hold the answer against the search."""
    wanted = corpus.docs[number]
    item = f"{wanted.item.type}:{wanted.item.id}"
    found, why = ask(registry, case, item)
    assert why is not None
    places = [(hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source) for hit in found.results]
    place = (str(wanted.item.type), str(wanted.item.id), wanted.source)
    assert (why.type, why.id, why.source) == place
    assert (why.stage, why.total) == (found.stage, found.total)
    assert why.rank == (places.index(place) + 1 if place in places else None)
    if why.rank is not None:
        assert why.hit == found.results[why.rank - 1]
    check_clauses(why, case, corpus, number)
    check_reasons(why, case, corpus, number)


@given(cases(verdicts=("unsigned",)))
@SLOW
def test_why_agrees_with_the_search_about_every_item(case: Case) -> None:
    """Rank, score and stage are the search's; each part of the query, and each reason, the twin's."""
    with tempfile.TemporaryDirectory() as folder:
        sim = SpaceSim(Path(folder), bundles=("alpha", "beta"))
        for doc in case.docs:
            path, content = as_file(doc.item)
            sim.write(doc.source, path, content)
        registry, docs = sim.registry(), sim.docs(NOW)
        corpus = read_corpus(docs, case.options.space)
        seen = set[str]()
        for number, doc in enumerate(corpus.docs):
            item = f"{doc.item.type}:{doc.item.id}"
            if item not in seen:
                check(registry, case, corpus, number)
            seen.add(item)
        for doc in docs:
            if f"{doc.item.type}:{doc.item.id}" not in seen:
                _, why = ask(registry, case, f"{doc.item.type}:{doc.item.id}")
                assert why is not None
                assert (why.found, why.reasons[0].code, why.reasons[0].clause) == (False, "space", case.options.space)


def test_every_reason_occurs(tmp_path: Path) -> None:
    """Each code of the table is the reason for some item and query; the message names what did it."""
    sim = SpaceSim(tmp_path)
    for name, text in {"a": "Deploy builds.", "b": "Deploy servers.", "old": "Old builds."}.items():
        sim.write("project", f"knowledge/{name}.md", f"---\nauthor: ann\n---\n\n# {name}\n\n{text}\n")
    sim.write("project", "knowledge/old.md", "---\nstatus: superseded\n---\n\n# Old\n\nOld builds.\n")
    for number in range(12):
        sim.write("project", f"knowledge/many/n{number}.md", f"# Zebra {number}\n\nZebras.\n")
    for name in ("SKILL", "notes"):
        file = sim.project / f".claude/skills/mill/{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# Mill\n\nFlour of the mill.\n", encoding="utf-8")
    registry = sim.registry()
    asked = {
        "folded": registry.why("flour", "mill/notes"),
        "no-match": registry.why("servers", "knowledge:a", relax=False),
        "excluded": registry.why("deploy -builds", "a"),
        "field": registry.why("deploy", "a", fields={"title": "b"}),
        "filter": registry.why("deploy", "a", filters={"author": "bea"}),
        "scope": registry.why("deploy", "a", scope="tool"),
        "space": registry.why("deploy", "a", space="user"),
        "hidden": registry.why("builds", "old"),
        "stage": registry.why("deploy builds", "b"),
        "limit": registry.why("zebra qqqqq xxxxx", "many/n9", mode="keyword"),
    }
    sim.delete("project", "knowledge/b.md")
    registry.max_staleness = 1e9
    asked["unreadable"] = registry.why("servers", "b")
    near = sim.registry(embedder=Hashed(), max_staleness=1e9)
    asked["threshold"] = near.why("zebra", "a", mode="semantic", threshold=0.3)
    asked["fusion"] = near.why("deploy", "a", mode="hybrid", hybrid={"min_keyword_score": 1.0})
    for code, why in asked.items():
        wanted = ["no-match", "stage"] if code == "stage" else [code]
        assert [reason.code for reason in why.reasons] == wanted, code
    assert asked["stage"].reasons[1].clause == "stage any"
    assert asked["excluded"].reasons[0].clause == "builds"
    assert "builds in content" in asked["excluded"].reasons[0].message
    assert asked["filter"].reasons[0].message == "author is ann"
    assert asked["limit"].total == 10
    assert set(asked) == set(MISS_REASONS)
