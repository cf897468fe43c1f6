"""Vectors on a cluster: what travels, what is noted of the model, and when words answer; no cluster is needed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rye import Registry
from rye.cluster.published import PublishedNotes
from rye.cluster.vectors import HitVectors, Model
from rye.embedding.protocol import embed_with_probe
from rye.index.vectors.vectors import SCALE
from tests.support.fake_cluster import FakeCluster
from tests.support.word_model import WordModel

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

ADDRESS = "opensearch+http://127.0.0.1:9/r"
TEXT = "# Item {0}\n\nHow to deploy number{0}\n\n## Undo\n\nGo back to version {0}\n"

Open = Callable[..., Registry]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a project of three items with an embedder."""

    def open_project(name: str, embedder: Any = None, **options: Any) -> Registry:
        folder = tmp_path / name / ".ai" / "knowledge"
        if not folder.exists():
            folder.mkdir(parents=True)
            for number in range(3):
                (folder / f"{name}-{number}.md").write_text(TEXT.format(number), encoding="utf-8")
        places: dict[str, Any] = {"user": tmp_path / "user", "bundles": (), "cache_dir": tmp_path / f"cache-{name}"}
        return Registry(tmp_path / name, **places, embedder=embedder or "none", **options)

    return open_project


def notes(fake: FakeCluster) -> PublishedNotes:
    """Return what the registry notes of itself."""
    ((_, mapping),) = fake.indices.get_mapping(index="r").items()
    return PublishedNotes.read(json.loads(json.dumps(mapping["mappings"]["_meta"]["rye"])))


def vectors_of(fake: FakeCluster, owner: str) -> list[bool]:
    """Return whether each document of an owner has vectors."""
    return ["vectors" in source for source in fake.documents("r").values() if source["owner"] == owner]


def test_the_vectors_of_chunks_travel_with_their_item(fake: FakeCluster, opened: Open) -> None:
    """The very numbers of the files at home, and the section of each; the registry notes the model."""
    model = WordModel()
    assert opened("shop", model).publish(ADDRESS).warnings == ()
    source = next(source for source in fake.documents("r").values() if source["id"] == "shop-1")
    found = HitVectors.read(source, model.dimensions)
    assert found.places.tolist() == [[0, 0], [1, 0]]
    assert found.vectors.shape == (2, model.dimensions)
    assert np.linalg.norm(found.vectors / SCALE, axis=1) == pytest.approx([1.0, 1.0], abs=1e-3)
    noted, probe = notes(fake), embed_with_probe(model)[0]
    assert noted.model is not None
    assert noted.model.is_of(Model("words", probe))
    assert noted.owners["shop"].vectors == 3


def test_a_registry_has_vectors_of_one_model(fake: FakeCluster, opened: Open) -> None:
    """A publisher with another one is told so, and publishes without; the other owner's vectors stay."""
    opened("shop", WordModel()).publish(ADDRESS)
    report = opened("ops", WordModel("other")).publish(ADDRESS)
    assert [str(text).rpartition(": ")[2] for text in report.warnings] == [
        "the registry has vectors of words, and the embedder here is other"
    ]
    assert vectors_of(fake, "shop") == [True] * 3
    assert vectors_of(fake, "ops") == [False] * 3
    noted = notes(fake)
    assert noted.model is not None
    assert noted.model.name == "words"
    assert opened("ops", WordModel()).publish(ADDRESS).changed == 3
    assert vectors_of(fake, "ops") == [True] * 3


@pytest.mark.parametrize(
    ("vectors", "chunks"),
    [(b"\0" * 8, b"\0" * 16), (b"\0" * 6, b"\0" * 8), (b"\0" * 8, b"\0" * 4), (b"\0" * 8, b"")],
)
def test_vectors_that_do_not_fit_are_refused(vectors: bytes, chunks: bytes) -> None:
    """Whatever a cluster says: too few, too many, or of other dimensions."""
    fields = {"vectors": base64.b64encode(vectors).decode(), "chunks": base64.b64encode(chunks).decode()}
    with pytest.raises(ValueError, match=r".*"):
        HitVectors.read(fields, 4)


@pytest.mark.usefixtures("fake")
def test_a_search_by_meaning_is_answered_as_at_home(opened: Open) -> None:
    """The same hits with the same similarities; a search by both finds the same items."""
    home = opened("shop", WordModel())
    home.publish(ADDRESS)
    away = opened("shop", WordModel(), index=ADDRESS)

    def hits(registry: Registry, mode: str) -> list[tuple[str, float]]:
        found = registry.search("go back to version 1", mode=mode, space="project")
        assert found.search_type == mode
        return [(hit.id, round(hit.similarity or 0.0, 3)) for hit in found.results]

    assert hits(away, "semantic") == hits(home, "semantic") != []
    assert {*hits(away, "hybrid")} == {*hits(home, "hybrid")}
