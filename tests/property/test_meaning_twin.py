"""Semantic and hybrid search over real files answer what float64 arithmetic over the same files answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import Registry, SearchResponse, SearchResult
from rye.embedding.protocol import Embedder
from rye.embedding.static import StaticEmbedder
from tests.support.effort import examples
from tests.support.embedders import Hashed
from tests.support.naive_docs import NaiveDoc
from tests.support.naive_meaning import NaiveHit, fused, semantic, similar
from tests.support.signed import NOW
from tests.support.spacesim import SpaceSim, no_own_items

WORDS = ("deploy", "server", "build", "rollback", "read", "file", "thread", "backup", "note", "verify")
CLOSE = 1e-3
"""What storing vectors in 16 bits may change."""


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceSim]:
    """Lay items of every kind in every space, each of a few of the words."""
    found = SpaceSim(tmp_path_factory.mktemp("sim"))
    for number in range(36):
        source = found.sources[number % 3]
        own = [WORDS[(number * step + 3 * step) % len(WORDS)] for step in range(1, 2 + number % 4)]
        if number % 3:
            text = (
                f"# {own[0]} {own[-1]}\n\n{' '.join(own)} {number}.\n\n## {own[-1]}\n\nMore of {' and '.join(own)}.\n"
            )
            found.write(source, f"knowledge/k{number:02}.md", text)
        else:
            found.write(
                source, f"tools/t{number:02}.py", f'"""{" ".join(own)} {number}."""\n\ndef {own[0]}():\n    pass\n'
            )
    found.write("project", "knowledge/gone.md", "---\nstatus: superseded\n---\n\ndeploy server build\n")
    found.write("user", "knowledge/backup.md", "# Copies\n\nKept elsewhere.\n")
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield found


@pytest.fixture(scope="module", params=["hashed", "wordllama"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """Return an embedder that takes each word as it is, and one that knows which words are words."""
    return Hashed() if request.param == "hashed" else StaticEmbedder()


@pytest.fixture(scope="module")
def registry(sim: SpaceSim, embedder: Embedder) -> Registry:
    """Return one registry over all of them."""
    chosen = "wordllama" if isinstance(embedder, StaticEmbedder) else embedder
    return sim.registry(embedder=chosen, max_staleness=float("inf"))


@pytest.fixture(scope="module")
def docs(sim: SpaceSim) -> list[NaiveDoc]:
    """Return the items as the twin knows them."""
    return sim.docs(NOW)


TYPED = (*WORDS, "deploi", "lawyer", "backupnote", "rollbakc", "tgm5vk")
QUERIES = st.lists(st.sampled_from(TYPED), min_size=1, max_size=8).map(" ".join)


def compare(response: SearchResponse, expected: Sequence[NaiveHit]) -> None:
    """Hold an answer against the twin's: the scores, and the order of all whose scores differ by more than they may."""
    found = {
        (hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source): hit for hit in response.results
    }
    by_key = {hit.key: hit for hit in expected}
    assert found.keys() == by_key.keys()
    for key, hit in found.items():
        assert hit.score == pytest.approx(by_key[key].score, abs=CLOSE), key
        assert hit.exact == by_key[key].exact, key
        assert hit.similarity is not None
        assert max(hit.similarity, 0.0) == pytest.approx(max(by_key[key].similarity, 0.0), abs=CLOSE)
    scores = [by_key[key].score for key, hit in found.items() if not hit.exact]
    assert all(later <= before + 2 * CLOSE for before, later in pairwise(scores))
    assert [hit.exact for hit in response.results] == sorted((hit.exact for hit in response.results), reverse=True)


@examples(30)
@given(query=QUERIES, threshold=st.sampled_from([0.0, 0.05, 0.2, 0.5]))
def test_semantic_search_is_exact(
    registry: Registry, embedder: Embedder, docs: list[NaiveDoc], query: str, *, threshold: float
) -> None:
    """Every item at or above the threshold is found, with its cosine and its boosted score, in order."""
    expected = semantic(docs, query, embedder)
    response = registry.search(query, mode="semantic", threshold=threshold, limit=100)
    if response.method == "keyword_fallback":
        assert all(hit.similarity < threshold + CLOSE for hit in expected)
        return
    sure = [hit for hit in expected if abs(hit.similarity - threshold) > CLOSE or hit.doc.item.name == query]
    kept = {hit.key for hit in expected if hit.similarity >= threshold or hit.doc.item.name == query}
    wanted = {hit.key for hit in sure} & kept
    got = {(hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source) for hit in response.results}
    assert wanted <= got <= kept | {hit.key for hit in expected if hit not in sure}
    assert response.total == len(got)
    compare(response, [hit for hit in expected if hit.key in got])


@examples(30)
@given(query=QUERIES, rrf=st.booleans())
def test_hybrid_search_is_exact(
    registry: Registry, embedder: Embedder, docs: list[NaiveDoc], query: str, *, rrf: bool
) -> None:
    """Both fusions give every item the score that the formulas give it, and explain all of it."""
    expected = fused(docs, query, embedder, rrf=rrf)
    method = "rrf" if rrf else "weighted"
    response = registry.search(query, mode="hybrid", threshold=0.0, limit=1000, explain=True, hybrid={"fusion": method})
    assert (response.search_type, response.method, response.stage) == ("hybrid", method, "hybrid")
    found = {hit.id for hit in response.results}
    if rrf:  # of nearly equal cosines either may be the one before
        scores = {hit.key[:2]: hit.score for hit in expected}
        assert all(hit.score == pytest.approx(scores[hit.type, hit.id], abs=0.02) for hit in response.results)
    else:
        compare(response, [hit for hit in expected if hit.doc.item.id in found])
    left_out = [hit for hit in expected if hit.doc.item.id not in found]
    assert all(hit.keyword == 0 and hit.similarity <= CLOSE for hit in left_out)
    for hit in response.results:
        assert hit.hybrid is not None
        assert sum(trace.contribution for trace in hit.explain or ()) == pytest.approx(hit.score, abs=1e-4)
        assert hit.hybrid.total == pytest.approx(100 * hit.score, abs=0.06)


@examples(30)
@given(query=QUERIES, mode=st.sampled_from(["semantic", "hybrid"]), size=st.integers(1, 9))
def test_pages_are_parts_of_one_list(registry: Registry, query: str, mode: str, size: int) -> None:
    """Page after page gives each hit once, in the order and with the total of the whole."""
    whole = registry.search(query, mode=mode, limit=100)
    paged: list[SearchResult] = []
    offset: int | None = 0
    while offset is not None and offset < 60:
        page = registry.search(query, mode=mode, limit=size, offset=offset)
        assert page.total == whole.total
        paged += page.results
        offset = page.next_offset
    assert [hit.path for hit in paged] == [hit.path for hit in whole.results][: len(paged)]
    assert len(paged) >= min(whole.total, 60)


def test_the_same_search_gives_the_same_order(
    sim: SpaceSim, registry: Registry, embedder: Embedder, tmp_path: Path
) -> None:
    """Also from an index and vectors that were made anew."""
    chosen = "wordllama" if isinstance(embedder, StaticEmbedder) else embedder
    anew = sim.registry(embedder=chosen, cache_dir=tmp_path / "anew")
    for mode in ("semantic", "hybrid"):
        for query in ("deploy server", "verify note file"):
            first, second = (each.search(query, mode=mode, limit=100) for each in (registry, anew))
            assert [hit.path for hit in first.results] == [hit.path for hit in second.results]


@examples(30)
@given(number=st.integers(0, 37))
def test_similar_items_are_near_the_vectors_of_one(
    registry: Registry, embedder: Embedder, docs: list[NaiveDoc], number: int
) -> None:
    """Each has the cosine to the mean of what was embedded of the item, in whatever spaces is looked."""
    item = docs[number]
    expected = similar(docs, item, embedder)
    threshold = embedder.threshold
    for space in ("all", "project", "user"):
        here = [hit for hit in expected if space in {"all", hit.doc.source}]
        response = registry.similar(f"{item.item.type}:{item.item.id}", mode="semantic", limit=100, space=space)
        assert response.method == "embedding"
        got = {
            (hit.type, hit.id, f"{hit.source}:{hit.bundle}" if hit.bundle else hit.source) for hit in response.results
        }
        assert {hit.key for hit in here if hit.similarity > threshold + CLOSE} <= got
        assert got <= {hit.key for hit in here if hit.similarity > threshold - CLOSE}
        compare(response, [hit for hit in here if hit.key in got])
