"""``why`` in semantic and hybrid mode agrees with the search about every item, also about those that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye import Registry, SearchResponse
from rye.search.explain import MISS_REASONS, Why
from tests.support.effort import examples
from tests.support.embedders import Hashed
from tests.support.spacesim import SpaceSim, no_own_items

WORDS = ("deploy", "server", "build", "rollback", "read", "file")


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceSim]:
    """Lay items in every space, each of a few of the words; one of them is superseded, one empty."""
    found = SpaceSim(tmp_path_factory.mktemp("sim"))
    for number in range(12):
        own = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 2 + number % 3)]
        text = f"# {own[-1]}\n\n{' '.join(own)} {number}.\n\n## More\n\nAnd {own[0]}.\n"
        found.write(found.sources[number % 3], f"knowledge/k{number:02}.md", text)
    found.write("project", "knowledge/gone.md", "---\nstatus: superseded\n---\n\ndeploy server build\n")
    found.write("user", "tools/deploy.py", "pass\n")
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield found


@pytest.fixture(scope="module")
def registry(sim: SpaceSim) -> Registry:
    """Return one registry over all of them."""
    return sim.registry(embedder=Hashed(), max_staleness=float("inf"))


WORD = st.sampled_from(WORDS)
QUERIES = st.one_of(
    st.lists(WORD, min_size=1, max_size=3).map(" ".join),
    st.tuples(WORD, st.sampled_from(["-{}", '"{} {}"', "title:{}", "({} OR {})"]), WORD, WORD).map(
        lambda found: f"{found[0]} {found[1].format(*found[2:])}"
    ),
)
LEAST = st.sampled_from([0.0, 0.2, 0.5])
HYBRID = st.fixed_dictionaries(
    {},
    optional={
        "fusion": st.sampled_from(["weighted", "rrf"]),
        "min_semantic_score": LEAST,
        "min_keyword_score": LEAST,
        "min_combined_score": LEAST,
        "require_keyword_match": st.booleans(),
        "require_semantic_match": st.booleans(),
    },
)
OPTIONS = {
    "threshold": st.sampled_from([0.05, 0.3, 0.6]),
    "scope": st.sampled_from(["knowledge", "tool"]),
    "fields": st.just({"title": "deploy"}),
    "filters": st.just({"is": "superseded"}),
    "relax": st.booleans(),
    "include_superseded": st.booleans(),
}
ASKED = st.one_of(
    st.fixed_dictionaries({"mode": st.just("semantic")}, optional=OPTIONS),
    st.fixed_dictionaries({"mode": st.just("hybrid"), "hybrid": HYBRID}, optional=OPTIONS),
)


def check(found: SearchResponse, why: Why, cosines: dict[tuple[str, str], float | None]) -> None:
    """Hold what is said of one item against the page, and its cosine against a search that lets all items through."""
    assert (why.search_type, why.stage, why.total) == (found.search_type, found.stage, found.total)
    places = [(hit.type, hit.id) for hit in found.results]
    key = why.type, why.id
    assert why.rank == (places.index(key) + 1 if key in places else None)
    codes = {reason.code for reason in why.reasons}
    assert codes <= set(MISS_REASONS)
    assert why.found == (not codes)
    assert (why.meaning is None) == (found.search_type == "keyword")
    if why.meaning is None:
        return
    meant = why.meaning
    assert cosines.get(key, meant.similarity) == meant.similarity
    if why.hit is not None:
        assert why.hit == found.results[places.index(key)]
        assert meant.similarity == why.hit.similarity
        assert meant.by_meaning + meant.by_words == pytest.approx(why.hit.score, abs=2e-4)
        assert why.hit.hybrid is None or meant.section == why.hit.hybrid.header
    if "threshold" in codes:
        assert meant.keyword == 0
        assert meant.similarity is None or meant.similarity <= meant.threshold + 1e-4
    assert "fusion" not in codes or meant.method != "embedding"


@examples(40)
@given(QUERIES, ASKED)
def test_why_agrees_with_a_search_by_meaning_about_every_item(
    registry: Registry, query: str, asked: dict[str, Any]
) -> None:
    """Rank, hit and fallback are the search's; there is a reason just where there is no hit."""
    found = registry.search(query, limit=100, explain=True, **asked)
    free = registry.search(query, limit=100, mode=asked["mode"], threshold=0.0, include_superseded=True)
    cosines = {(hit.type, hit.id): hit.similarity for hit in free.results if free.search_type != "keyword"}
    whole = registry.search("", limit=100, include_superseded=True)
    assert len(whole.results) == 14
    for item in whole.results:
        check(found, registry.why(query, f"{item.type}:{item.id}", **asked), cosines)


def test_each_reason_goes_away_with_what_made_it(tmp_path: Path) -> None:
    """A threshold, a least score, a match that is required, a demand of the query, a scope, a space, a state."""
    sim, text = SpaceSim(tmp_path), "restoring files"
    sim.write("project", "knowledge/guide.md", "# Guide\n\n## Restoring files\n\nTake the newest copy.\n")
    sim.write("project", "directives/near.md", f"# {text}\n\n{text}.\n")
    sim.write("project", "knowledge/zebra.md", "# Zebra\n\nWhat else.\n")
    sim.write("user", "knowledge/old.md", "---\nstatus: superseded\n---\n# Files\n\nRestoring files, files.\n")
    registry = sim.registry(embedder=Hashed())

    def codes(text: str, item: str, mode: str, **more: Any) -> list[str]:
        why = registry.why(text, item, mode=mode, **more)
        assert why.search_type == mode
        return [reason.code for reason in why.reasons]

    assert codes(text, "guide", "semantic") == []
    assert codes(text, "guide", "semantic", threshold=0.9) == ["threshold"]
    assert codes(text, "guide", "hybrid", threshold=0.9) == []
    assert codes(text, "guide", "hybrid", threshold=0.9, hybrid={"require_semantic_match": True}) == ["fusion"]
    assert codes(text, "zebra", "hybrid", hybrid={"require_keyword_match": True}) == ["threshold", "fusion"]
    assert codes(text, "guide", "hybrid", hybrid={"min_keyword_score": 90, "min_combined_score": 1}) == ["fusion"] * 2
    assert codes(text, "old", "semantic") == ["hidden"]
    assert codes(text, "old", "semantic", include_superseded=True) == []
    assert codes(f"{text} -newest", "guide", "semantic", include_superseded=True) == ["excluded"]
    assert codes(f'{text} "newest copy"', "zebra", "hybrid") == ["no-match", "threshold"]
    assert codes(text, "guide", "semantic", space="user", include_superseded=True) == ["space"]
    assert codes(text, "old", "semantic", space="project") == ["space", "hidden"]
    broken = sim.registry(embedder="none").why(text, "guide", mode="semantic")
    assert (broken.search_type, broken.meaning, broken.found) == ("keyword", None, True)
    assert any("keyword results instead of semantic ones" in text for text in broken.warnings)
