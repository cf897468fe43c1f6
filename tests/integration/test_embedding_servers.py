"""Embedding servers that fail, refuse or change while rye uses them: in one process, in commands, in an MCP server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rye import Registry
from rye.embedding.protocol import PROBE
from rye.index.vectors import vectors as vector_files
from rye.registry import vectors as registry_vectors
from tests.support.embedders import Hashed, Request, answered, serving
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.usefixtures("no_items_of_rye")

ASKED = "undo a release by night"


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Return two spaces with a few items each."""
    found = SpaceSim(tmp_path)
    found.add("project", "knowledge/demo/deploy.md", "# Deploy\n\nHow to deploy.\n\n# Rollback\n\nUndo a release.\n")
    found.add("project", "knowledge/demo/poison.md", "# Poison\n\nThese words are forbidden.\n")
    for number in range(4):
        found.add("project", f"tools/demo/tool{number}.py", f'"""Tool number {number}."""\n')
    found.add("user", "knowledge/demo/night.md", "# Night\n\nWhat is done by night.\n")
    return found


class Model:
    """What a server answers with; changed while it runs."""

    def __init__(self) -> None:
        self.embedder = Hashed("first")
        self.refuses: Callable[[str], bool] = lambda _: False
        self.zeros: Callable[[str], bool] = lambda _: False
        self.before: Callable[[Sequence[str]], None] = lambda _: None
        self.status = 413
        self.dies_after = -1

    def answer(self, body: Any) -> tuple[int, bytes]:
        """Answer a request."""
        texts = body["input"]
        self.before(texts)
        if self.dies_after == 0:
            return 404, b"gone"
        self.dies_after -= 1
        if any(map(self.refuses, texts)):
            return self.status, b'{"error": "the input is too long"}'
        found = json.loads(answered(texts, "ollama", self.embedder))
        for row, text in enumerate(texts):
            if self.zeros(text):
                found["embeddings"][row] = [0.0] * self.embedder.dimensions
        return 200, json.dumps(found).encode()


@contextmanager
def served(sim: SpaceSim, **semantic: Any) -> Iterator[tuple[Model, str, list[Request]]]:
    """Run a server; yields its model, the line that chooses it, and the requests that it gets."""
    model = Model()
    with serving(model.answer) as (url, requests):
        if semantic:
            sim.write("user", "config/search.yaml", f"semantic: {json.dumps(semantic)}\n")
        yield model, f"ollama:m@{url}", requests


def sent(requests: list[Request]) -> list[str]:
    """Return the texts sent but for probes, and forget them."""
    found = [text for _, _, body in requests for text in body["input"] if text != PROBE]
    requests.clear()
    return found


def rows_of(registry: Registry) -> dict[str, np.ndarray[Any, Any]]:
    """Return the vectors of all items."""
    reader = registry._indexes.current(0).everywhere
    found = registry._vectors.meaning(reader).vectors
    columns = np.stack([found.similarities(axis) for axis in np.eye(found.dimensions, dtype=np.float32)], axis=1)
    return {":".join(reader.key_of(doc)): columns[found.rows_of(doc)] for doc in set(found.docs.tolist())}


def assert_of(registry: Registry, embedder: Hashed) -> None:
    """Every vector is of one model."""
    found = rows_of(registry)
    assert len(found) == 7
    (night,) = found["knowledge:demo/night"]
    assert np.abs(night - embedder.embed(["Night. What is done by night."])[0]).max() < 1e-3
    for number in range(4):
        (tool,) = found[f"tool:demo/tool{number}"]
        assert np.abs(tool - embedder.embed([f"tool{number}. Tool number {number}"])[0]).max() < 1e-3


def anew(warnings: Sequence[str]) -> list[str]:
    """Return the warnings of vectors that were made anew."""
    return [text for text in warnings if "made anew" in text]


# another model behind the same name


def test_attack_another_model_behind_the_same_name_while_serving(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noticed at the next interval, everything is embedded anew, and one warning says so once."""
    with served(sim) as (model, line, requests):
        registry = sim.registry(embedder=line)
        assert registry.search(ASKED, mode="semantic").results
        model.embedder = Hashed("second")
        requests.clear()
        assert registry.search(ASKED, mode="semantic", threshold=0).warnings == ()
        assert sent(requests) == [ASKED]  # within the interval nothing else is asked
        monkeypatch.setattr(registry_vectors, "PROBE_SECONDS", 0.0)
        found = registry.search(ASKED, mode="semantic", threshold=0)
        assert found.search_type == "semantic"
        problem = "the model is another one now, under the same name"
        assert anew(found.warnings) == [f"project, user: vectors were made anew: {problem}"]
        assert_of(registry, model.embedder)
        requests.clear()
        again = registry.search(ASKED, mode="semantic", threshold=0)
        assert again.warnings == ()
        assert sent(requests) == [ASKED]
        assert [hit.score for hit in again.results] == [hit.score for hit in found.results]


def test_attack_a_model_that_changes_in_the_middle_of_embedding(sim: SpaceSim) -> None:
    """Vectors of two models never stand in one list, though they are equally long: all are made by the new one."""
    with served(sim, batch=3) as (model, line, _):

        def change(texts: Sequence[str]) -> None:
            if any("tool1" in text for text in texts):
                model.embedder = Hashed("second")

        model.before = change
        registry = sim.registry(embedder=line)
        assert registry.embed().missing == 0
        assert_of(registry, Hashed("second"))
        assert_of(sim.registry(embedder=line), Hashed("second"))


@pytest.mark.parametrize("seed", [*range(5), 159])
def test_attack_a_server_of_every_bad_kind_in_turn(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whatever it does and whichever items change: every list is of the model that answers now, and at last whole."""
    monkeypatch.setattr(registry_vectors, "PROBE_SECONDS", 0.0)
    dice = np.random.default_rng(seed)
    with served(sim, batch=int(dice.choice([1, 2, 3, 32]))) as (model, line, requests):
        registry = sim.registry(embedder=line)

        def exchange() -> None:
            model.embedder = Hashed(f"model {dice.integers(3)}", int(dice.choice([16, 16, 20])))

        def exchange_midway() -> None:
            left = int(dice.integers(1, 6))

            def after(_: Sequence[str]) -> None:
                nonlocal left
                left -= 1
                if not left:
                    exchange()

            model.before = after

        def edit() -> None:
            number = int(dice.integers(4))
            sim.write("project", f"tools/demo/tool{number}.py", f'"""Tool number {number} {dice.random()}."""\n')

        events: list[Callable[[], object]] = [
            exchange,
            exchange_midway,
            edit,
            lambda: setattr(model, "dies_after", int(dice.integers(5))),
            lambda: setattr(model, "refuses", lambda text: f"Tool number {seed % 4}" in text),
            lambda: setattr(model, "zeros", lambda text: "Undo" in text),
            lambda: setattr(model, "zeros", lambda _: True),
        ]
        for _ in range(12):
            events[int(dice.integers(len(events)))]()
            found = registry.search(ASKED, mode="semantic", threshold=0)
            assert found.search_type == "semantic" or found.warnings
            model.before, model.dies_after, model.zeros = (lambda _: None), -1, (lambda _: False)
            if dice.random() < 0.5:
                rows, now = rows_of(registry), model.embedder
                assert all(len(one[0]) == now.dimensions for one in rows.values())
                night = now.embed(["Night. What is done by night."])
                assert np.abs(rows["knowledge:demo/night"] - night).max() < 1e-3
        model.refuses = lambda _: False
        assert registry.embed().missing == 0
        found_rows = rows_of(registry)
        fresh = sim.registry(embedder=Hashed(model.embedder.model, model.embedder.dimensions))
        truth = rows_of(fresh)
        assert found_rows.keys() == truth.keys()
        assert all(np.abs(found_rows[key] - truth[key]).max() < 1e-3 for key in truth)
        assert len(requests) < 2_000


# texts without a vector


@pytest.mark.parametrize("way", ["refused", "status 500", "zeros"])
def test_attack_a_poisoned_text_costs_that_text_alone(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The item is named in every answer, not sent with each search, and sent again after an hour or a change."""
    poison: Callable[[str], bool] = lambda text: "forbidden" in text
    with served(sim) as (model, line, requests):
        model.status = 500 if way == "status 500" else 413
        model.zeros, model.refuses = (poison, model.refuses) if way == "zeros" else (model.zeros, poison)
        named = "project: no vector for a text of knowledge:demo/poison: the embedder refuses it or answers with zeros"
        found = sim.registry(embedder=line).search(ASKED, mode="semantic", threshold=0)
        assert [text for text in found.warnings if text.startswith(named)] == list(found.warnings)
        assert {hit.id for hit in found.results} >= {"demo/deploy", "demo/night"}
        assert "demo/poison" not in {hit.id for hit in found.results}
        by_words = sim.registry(embedder=line).search("forbidden deploy", mode="hybrid")
        assert "demo/poison" in {hit.id for hit in by_words.results}
        requests.clear()

        registry = sim.registry(embedder=line)
        assert registry.search(ASKED, mode="semantic").warnings == found.warnings
        assert registry.search(ASKED, mode="semantic").warnings == found.warnings
        assert sent(requests) == [ASKED, ASKED]

        report = registry.embed()  # tries at once
        assert (report.missing, report.warnings) == (1, found.warnings)
        assert any("forbidden" in text for text in sent(requests))
        model.refuses = model.zeros = lambda _: False
        assert registry.search(ASKED, mode="semantic").warnings == found.warnings
        monkeypatch.setattr(vector_files, "RETRY_SECONDS", 0.0)
        requests.clear()
        assert sim.registry(embedder=line).search(ASKED, mode="semantic").warnings == ()
        assert sent(requests) == ["Poison. These words are forbidden.", ASKED]
        assert_of(registry, model.embedder)
