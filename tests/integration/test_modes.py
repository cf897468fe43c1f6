"""Semantic and hybrid search through the registry and the command: what holds in every mode, and every fallback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rye import Registry, SearchResponse
from rye.errors import ArgumentError, QueryError, UnavailableError
from rye.index.vectors import vectors as vector_files
from rye.registry import vectors
from tests.support.embedders import Broken, Hashed, answered, serving
from tests.support.spacesim import SpaceSim, no_own_items

CODE = '''"""Copies files to another machine."""


def copy_files(paths):
    return paths


class BackupPlan:
    """When."""


def unrelated():
    pass
'''
GUIDE = """---
title: Guide to recovery
---

# Guide to recovery

What to do when all is lost.

## Restoring files

Take the newest copy and put it back.

## Calling somebody

Phone the office.
"""


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Return spaces with a few items, rye's own left out."""
    found = SpaceSim(tmp_path)
    found.write("project", "tools/ops/copy.py", CODE)
    found.write("project", "knowledge/ops/guide.md", GUIDE)
    found.write("user", "knowledge/ops/guide.md", GUIDE)
    found.write("system:shop", "knowledge/ops/guide.md", GUIDE)
    found.write("project", "knowledge/old.md", "---\nstatus: superseded\n---\n\nRestoring files the old way.\n")
    found.add("project", "directives/restore.md", "---\ntitle: Restore\n---\n\nRestoring files, step by step.\n")
    with no_own_items(tmp_path / "none"):
        yield found


@pytest.fixture
def registry(sim: SpaceSim) -> Registry:
    """Return a registry whose embedder needs no model."""
    return sim.registry(embedder=Hashed())


def keys(response: SearchResponse) -> list[str]:
    """Return source and id of each hit."""
    return [f"{hit.source}:{hit.id}" for hit in response.results]


def fell_back(response: SearchResponse, *causes: str) -> bool:
    """Return whether keywords answered, and a warning says that, and why."""
    reported = [text for text in response.warnings if text.startswith("keyword results instead of")]
    honest = response.search_type == "keyword" and response.method == "keyword_fallback"
    plain = all(hit.similarity is None and hit.hybrid is None for hit in response.results)
    return honest and plain and len(reported) == 1 and all(cause in reported[0] for cause in causes)


def test_similarity_and_boosted_score_are_two_numbers(registry: Registry) -> None:
    """Of three equal items, the project's comes first; the cosine is the same for all."""
    found = registry.search("restoring files", mode="semantic", scope="knowledge")
    assert (found.search_type, found.method, found.stage) == ("semantic", "embedding", "semantic")
    assert keys(found) == ["project:ops/guide", "user:ops/guide", "system:ops/guide"]
    near = {hit.similarity for hit in found.results}
    assert len(near) == 1
    for hit, boost in zip(found.results, (1.2, 1.1, 0.85), strict=True):
        assert hit.similarity is not None
        assert hit.score == pytest.approx(hit.similarity * boost, abs=2e-4)
        assert "similarity" in hit.to_dict()
    other = registry.search("restoring files", mode="semantic", scope="knowledge", source_boosts={"system": 5})
    assert keys(other)[0] == "system:ops/guide"
    assert {hit.similarity for hit in other.results} == near


def test_the_user_boosts_sources_for_all_searches_by_meaning(sim: SpaceSim) -> None:
    """Settings stand above the defaults, arguments above settings; a project's file says nothing."""
    sim.write("user", "config/search.yaml", "source_boosts: {system: 3}\n")
    sim.write("project", "config/search.yaml", "source_boosts: {project: 10}\n")
    registry = sim.registry(embedder=Hashed())
    options: dict[str, Any] = {"mode": "semantic", "scope": "knowledge"}
    found = registry.search("restoring files", **options)
    assert keys(found) == ["system:ops/guide", "project:ops/guide", "user:ops/guide"]
    assert found.results[0].similarity == pytest.approx(found.results[0].score / 3, abs=1e-4)
    other = registry.search("restoring files", **options, source_boosts={"system": 1})
    assert keys(other)[0] == "project:ops/guide"
    assert keys(registry.search("restoring files", mode="hybrid", scope="knowledge"))[0] == "project:ops/guide"
    sim.write("user", "config/search.yaml", "source_boosts: {system: 0}\n")
    faulty = sim.registry(embedder=Hashed()).search("restoring files", **options)
    assert keys(faulty)[0] == "project:ops/guide"
    assert any("'source_boosts.system' is 0" in text for text in faulty.warnings)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_no_boost_puts_a_withdrawn_item_before_its_successor(sim: SpaceSim, mode: str) -> None:
    """Hidden and counted by default; with the opt-in last, however near it is and whatever its source counts."""
    sim.write("user", "knowledge/older.md", "---\nsuperseded_by: ops/guide\n---\n\nRestoring files, restoring files.\n")
    registry = sim.registry(embedder=Hashed())
    assert dict(registry.search("restoring files", mode=mode).hidden) == {"superseded": 2}
    boosts = {"user": 10.0} if mode == "semantic" else None
    found = registry.search("restoring files", mode=mode, include_superseded=True, source_boosts=boosts)
    assert {hit.id for hit in found.results[-2:]} == {"older", "old"}
    assert [hit.successor for hit in found.results if hit.id == "older"] == ["knowledge:ops/guide"]
    assert not found.hidden
    if mode != "hybrid":
        like = registry.similar("directive:restore", mode=mode, include_superseded=True)
        assert {hit.id for hit in like.results[-2:]} == {"older", "old"}


def test_the_best_section_gives_header_and_preview(registry: Registry) -> None:
    """A hybrid hit has its three scores, the headings of the nearest section, and shows its text."""
    found = registry.search("phone the office", mode="hybrid", space="project", scope="knowledge.ops.*")
    (hit,) = found.results
    assert hit.hybrid is not None
    assert hit.hybrid.header == "Guide to recovery > Calling somebody"
    assert hit.preview == "Phone the office."
    assert hit.hybrid.total == pytest.approx(100 * hit.score, abs=0.06)
    assert hit.hybrid.semantic == pytest.approx(100 * (hit.similarity or 0), abs=0.06)
    assert 0 < hit.hybrid.keyword < 100
    assert hit.to_dict()["hybrid"] == hit.hybrid.to_dict()


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_what_holds_in_every_mode(registry: Registry, mode: str) -> None:
    """Scope, space, filters, exclusions, phrases, fields, superseded items, exact hits, verdicts, sorting."""

    def ask(text: str, **options: Any) -> SearchResponse:
        found = registry.search(text, mode=mode, **options)
        assert found.search_type == mode, found.warnings
        return found

    assert "project:old" not in keys(ask("restoring files"))
    assert ask("restoring files").hidden == {"superseded": 1}
    assert "project:old" in keys(ask("restoring files", include_superseded=True))
    assert {hit.type for hit in ask("restoring files", scope="directive").results} == {"directive"}
    assert {hit.source for hit in ask("restoring files", space="user").results} == {"user"}
    assert keys(ask("restoring files", filters={"is": "trusted"})) == ["project:restore"]
    assert keys(ask("restoring files is:trusted")) == ["project:restore"]
    assert "project:restore" not in keys(ask("restoring files -step"))
    assert keys(ask('restoring "step by step"')) == ["project:restore"]
    assert set(keys(ask("restoring title:guide"))) == {"project:ops/guide", "user:ops/guide", "system:ops/guide"}
    assert set(keys(ask("restoring files", fields={"title": "restore"}))) == {"project:restore"}
    exact = ask("restore", threshold=0.0).results[0]
    assert (exact.id, exact.exact) == ("restore", True)
    names = [hit.name for hit in ask("restoring files", sort_by="name").results]
    assert names == sorted(names)
    assert str(ask("restoring files is:trusted").results[0].signature.verdict) == "trusted"
    with pytest.raises(QueryError):
        registry.search("titel:x -files", mode=mode)
    with pytest.raises(ArgumentError):
        registry.search("files", mode=mode, filters={"nokey": "x"})


def test_nothing_near_enough_falls_back(registry: Registry) -> None:
    """The warning names the threshold and how near the nearest is; options that do not apply are named too."""
    found = registry.search("office", mode="semantic", threshold=0.99)
    assert fell_back(found, "no item is as near as 0.99", "the nearest item is at 0.", "options of that mode")
    assert keys(found) == keys(registry.search("office"))
    assert fell_back(registry.search("zzzz qqqq xxxx", mode="hybrid", threshold=0.99))


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("restoring lost files", "hybrid"),
        ("what is there to do when all is lost?", "hybrid"),
        ("restoring files", "keyword"),
        ("guide", "keyword"),
        ("", "keyword"),
        ("restoring OR files OR newest", "keyword"),
        ('"newest copy" restoring lost files', "keyword"),
        ("restoring lost files type:knowledge", "keyword"),
        ("restor* lost files newest", "keyword"),
        ("Take the newest copy and put it back.", "keyword"),
        ("pip install -r requirements.txt lost files", "keyword"),
    ],
)
def test_auto_is_hybrid_for_a_sentence_and_keyword_for_all_else(registry: Registry, query: str, mode: str) -> None:
    """The answer is that of the mode which it names, to the last score."""
    found, expected = (registry.search(query, mode=each) for each in ("auto", mode))
    assert replace(found, took_ms=0) == replace(expected, took_ms=0)
    assert (found.search_type, found.method) == (mode, "weighted" if mode == "hybrid" else "keyword")


def test_auto_without_an_embedder_is_keyword(sim: SpaceSim) -> None:
    """A warning says that meaning was not searched; of two words it is not expected."""
    query = "restoring the lost files"
    without = sim.registry(embedder="none")
    found, expected = (without.search(query, mode=each) for each in ("auto", "keyword"))
    assert "not meaning" in found.warnings[-1]
    assert replace(found, took_ms=0, warnings=()) == replace(expected, took_ms=0)
    assert not without.search("lost files").warnings


def test_auto_embeds_few_items_unasked(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more lack vectors, words answer and a warning says what makes them; then a tenth may lack them."""
    monkeypatch.setattr(vectors, "AUTO_ITEMS", 8)
    query, embedder = "restoring the lost files", Hashed()
    for number in range(10):
        sim.write("project", f"knowledge/more/{number}.md", f"Number {number}.\n")
    registry = sim.registry(embedder=embedder)
    assert fell_back(registry.search(query), "16 of 16 items have no vectors yet; rye index vectors makes them, once")
    assert not embedder.texts
    assert not registry.lacks_vectors
    registry.embed()
    assert registry.search(query).search_type == "hybrid"
    sim.write("project", "knowledge/more/0.md", "Another text.\n")
    found = registry.search(query)
    far = "no item is near the question; showing the best partial matches"
    assert (found.search_type, found.warnings) == ("hybrid", (far,))
    for number in range(9):
        sim.write("project", f"knowledge/more/{number}.md", f"Yet another {number}.\n")
    assert fell_back(registry.search(query), "9 of 16 items")
    assert registry.search(query, mode="hybrid").search_type == "hybrid"


def test_auto_goes_on_where_it_ran_out_of_time(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few items it makes some vectors each time, and the answer says how many are to go."""
    query, embedder = "restoring the lost files", Hashed()
    for number in range(20):
        sim.write("project", f"knowledge/more/{number}.md", f"Number {number}.\n")
    registry = sim.registry(embedder=embedder)
    monkeypatch.setattr(vectors, "AUTO_SECONDS", 1e-9)
    monkeypatch.setattr(vector_files, "TEXTS_PER_REQUEST", 2)
    assert fell_back(
        registry.search(query),
        "vectors are being made (",
        " to go)",
        "the next search goes on, rye index vectors makes all",
    )
    assert registry.lacks_vectors
    registry.embed()
    assert registry.search(query).search_type == "hybrid"
    assert not registry.lacks_vectors


def test_auto_sends_items_to_a_server_only_where_most_have_vectors(sim: SpaceSim) -> None:
    """Neither the items nor the query of a search that nobody asked to be by meaning are sent before."""
    query = "restoring the lost files"
    with serving(lambda body: (200, answered(body["input"], "ollama"))) as (url, requests):
        registry = sim.registry(embedder=f"ollama:m@{url}")
        assert fell_back(registry.search(query), "6 of 6 items have no vectors yet")
        assert not requests
        registry.embed()
        assert registry.search(query).search_type == "hybrid"
    assert fell_back(registry.search(query), "cannot be reached")


def test_switches_and_least_scores_narrow(registry: Registry) -> None:
    """Each hit that stays has what was required."""
    plain = registry.search("office files", mode="hybrid", threshold=0.0)
    worded = registry.search("office files", mode="hybrid", threshold=0.0, hybrid={"require_keyword_match": True})
    least = registry.search("office files", mode="hybrid", threshold=0.0, hybrid={"min_semantic_score": 30})
    assert plain.total >= worded.total > 0
    assert all(hit.matched_fields for hit in worded.results)
    assert all((hit.similarity or 0) >= 0.2999 for hit in least.results)


@pytest.mark.parametrize("query", ["restorng files!", "please put my restorng files and the copies back!"])
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_words_that_were_typed_are_embedded(sim: SpaceSim, query: str, mode: str) -> None:
    """A word that no item has is embedded as it is; corrections are for words, are told, and can be switched off."""
    embedder = Hashed()
    registry = sim.registry(embedder=embedder)
    registry.embed()
    embedder.texts.clear()
    found = registry.search(query, mode=mode)
    off = [registry.search(query, mode=mode, **{name: value}) for name, value in OFF.items()]
    assert embedder.texts == [query] * 3
    assert all(answer.search_type == mode for answer in (found, *off))
    assert "restoring files" in found.did_you_mean
    by_words = "by words: read 'restorng' as 'restoring'"
    assert any(by_words in text for text in found.warnings) == (mode == "hybrid" and "please" in query)
    for answer in off:
        assert not answer.did_you_mean
        assert "restoring" not in " ".join(answer.warnings)


OFF: dict[str, Any] = {"fuzzy": {"enabled": False}, "relax": False}


class Hostile(Hashed):
    """Answers queries with what is no vector of length 1."""

    def __init__(self, answer: Sequence[float] | float) -> None:
        super().__init__()
        self.answer = answer
        self.armed = False

    def embed(self, texts: Sequence[str]) -> Any:
        """Answer as asked once armed."""
        rows = super().embed(texts)
        return np.full((len(texts), 48), self.answer, np.float32) if self.armed else rows


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
@pytest.mark.parametrize("answer", [float("nan"), float("inf"), 3.0, -3e30])
def test_attack_an_embedder_that_answers_queries_with_nonsense(sim: SpaceSim, mode: str, answer: float) -> None:
    """No number of it gets into an answer: keywords answer, and say why; or nothing is near."""
    embedder = Hostile(answer)
    registry = sim.registry(embedder=embedder)
    registry.embed()
    embedder.armed = True
    found = registry.search("restoring files", mode=mode)
    assert fell_back(found)
    assert all(np.isfinite(hit.score) for hit in found.results)


class Wrong(Hashed):
    """Does not do what the protocol says."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def embed(self, texts: Sequence[str]) -> Any:
        """Answer badly."""
        if self.fault == "raises":
            raise ValueError(self.fault)
        rows = super().embed(texts)
        return rows[:-1] if self.fault == "too few" else rows[:, :9] if self.fault == "short" else rows * np.nan


@pytest.mark.parametrize("fault", ["raises", "too few", "short", "not a number"])
def test_attack_an_embedder_of_the_caller_that_is_wrong_from_the_start(sim: SpaceSim, fault: str) -> None:
    """A search falls back and names what it did, also a retrieval of sections; making vectors is an error of rye's."""
    registry = sim.registry(embedder=Wrong(fault))
    assert fell_back(registry.search("restoring files", mode="hybrid"), "the embedder hashed:1 ", "fix the embedder")
    assert registry.sections("restoring files").method == "keyword_fallback"
    with pytest.raises(UnavailableError, match="the embedder hashed:1 "):
        registry.embed()


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_attack_an_embedder_that_goes_away(sim: SpaceSim, mode: str) -> None:
    """The cause and what to do about it are in the warning; the next search works again."""
    embedder = Broken(0)
    registry = sim.registry(embedder=embedder)
    assert fell_back(registry.search("restoring files", mode=mode), "the embedder went away", "start it")
    embedder.calls = 1_000
    assert registry.search("restoring files", mode=mode).search_type == mode


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: (500, b"x" * 10_000_000),
        lambda _: (200, b'{"embeddings": [[1, 2'),
        lambda body: (200, answered(body["input"], "ollama").replace(b"[[", b"[[1e999, ")),
        lambda body: (200, json.dumps({"embeddings": [[float("nan")] * 4] * len(body["input"])}).encode()),
        lambda body: (
            200,
            json.dumps({"embeddings": [[1.0] * (3 + at) for at, _ in enumerate(body["input"])]}).encode(),
        ),
        lambda _: (404, b'{"error": "model not found"}'),
    ],
    ids=["ten-megabytes", "half", "infinite", "nan", "ragged", "no-model"],
)
def test_attack_a_hostile_server_gives_a_clear_fallback(sim: SpaceSim, answer: Any) -> None:
    """Whatever it sends, the answer is that of keywords, with a warning short enough to read."""
    with serving(answer) as (url, _):
        found = sim.registry(embedder=f"ollama:m@{url}").search("restoring files", mode="hybrid")
    assert fell_back(found)
    assert max(map(len, found.warnings)) < 1_000
    assert keys(found)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_no_embedder_falls_back(sim: SpaceSim, mode: str) -> None:
    """Turned off is a cause like any other; asking for vectors by name is still an error."""
    registry = sim.registry(embedder="none")
    assert fell_back(registry.search("restoring files", mode=mode), "turned off")
    with pytest.raises(UnavailableError):
        registry.embed()
