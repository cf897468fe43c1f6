"""Similar items on a cluster: the answers of the spaces, on a cluster in memory and on a real one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from rye import Registry
from rye.cluster.client import Cluster
from rye.errors import NotFoundError, RyeError, UnavailableError
from tests.benchmarks import laying
from tests.benchmarks.corpus import Corpus
from tests.integration.test_cluster_hostile import Server, reply, serve
from tests.support.fake_cluster import FakeCluster
from tests.support.word_model import WordModel

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

CLUSTER = os.environ.get("RYE_TEST_CLUSTER", "")
FAKE = "127.0.0.1:1"

__all__ = ["serve"]  # a fixture


class Both(NamedTuple):
    """One project, as it is on disk and as it is on a cluster."""

    home: Registry
    away: Registry
    names: list[str]


WORLD = {
    "old": "---\nstatus: deprecated\n---\n# Undo a release\n\nHow deployments of a release were undone\n",
    "undo": "# Undo a release\n\nWhen a deployment breaks production, go back to the release before\n",
    "empty": "---\ntitle: zzqx\n---\n",
    "long": "# Everything\n\n" + " ".join(f"word{number} release" for number in range(700)),
}


@pytest.fixture(params=["fake", "real"])
def both(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Yield generated items, and some whose words mean something, published with their vectors."""
    if request.param == "real" and not CLUSTER:
        pytest.skip("RYE_TEST_CLUSTER names no OpenSearch cluster to write to")
    items = Corpus(40).items(80)
    laying.lay(items, tmp_path)
    for name, text in WORLD.items():
        (tmp_path / "project" / ".ai" / "knowledge" / f"{name}.md").write_text(text, encoding="utf-8")
    if request.param == "fake":
        fake = FakeCluster()
        monkeypatch.setattr(Cluster, "client", property(lambda _: fake))
    name = f"test-{uuid4().hex[:12]}"
    address = f"opensearch+http://{CLUSTER if request.param == 'real' else FAKE}/{name}"
    places: dict[str, Any] = {"user": tmp_path / "home", "bundles": (), "cache_dir": tmp_path / "cache"}
    home = Registry(tmp_path / "project", **places, embedder=WordModel())
    home.publish(address, replicas=0)
    away = Registry(tmp_path / "project", **places, embedder=WordModel(), index=address)
    yield Both(home, away, [*(f"{item.type}:{item.id}" for item in items[::27]), *WORLD, "nothing"])
    if request.param == "real":
        away._on_cluster.cluster.client.indices.delete(index=f"{name}-*")  # type: ignore[union-attr]


def answer(registry: Registry, item: str, options: dict[str, Any]) -> Any:
    """Return the whole answer, but for its time, its paths, and the warning whose word it is."""
    try:
        found = registry.similar(item, **options).to_dict()
    except RyeError as error:
        return error.code, error.details
    del found["took_ms"]
    found["warnings"] = [text for text in found["warnings"] if "are the word of opensearch+" not in text]
    for each in found["results"]:
        del each["path"]
        if each.get("similarity") is not None:  # may be rounded either way
            each["similarity"], each["score"] = round(each["similarity"], 3), round(each["score"], 3)
    return found


def test_similar_items_are_those_of_the_spaces(both: Both, tmp_path: Path) -> None:
    """By shared words and by meaning, with scores, marks, totals, what is hidden, and errors; own weights count."""
    asked: tuple[dict[str, Any], ...] = (
        {"limit": 100},
        {"limit": 100, "mode": "semantic"},
        {"limit": 100, "scope": "knowledge,tool", "space": "project"},
        {"limit": 100, "mode": "semantic", "scope": "knowledge", "include_superseded": True},
        {"limit": 100, "filters": {"type": "knowledge"}, "explain": True},
    )

    def differing(names: Iterable[str]) -> list[Any]:
        pairs = [(name, options) for name in names for options in asked]
        return [pair for pair in pairs if answer(both.home, *pair) != answer(both.away, *pair)]

    assert differing(both.names) == []
    assert answer(both.away, "undo", asked[1])["total"] > 0
    assert answer(both.away, "undo", asked[0])["total"] > 0
    settings = tmp_path / "home" / ".ai" / "config" / "search.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("weights: {knowledge: {title: 9, content: 3}, tool: {content: 50}}\n")
    assert differing(WORLD) == []


def test_hybrid_is_refused(both: Both) -> None:
    """It is by the ranks of all items."""
    with pytest.raises(UnavailableError) as raised:
        both.away.similar("undo", mode="hybrid")
    assert raised.value.code == "not-on-cluster"


Serve = Callable[[Callable[[int], Any]], Server]


def test_attack_hits_that_are_not_what_was_asked_for(serve: Serve, tmp_path: Path) -> None:
    """A cluster that gives another item for a name gives no answer to it."""
    (tmp_path / "project" / ".ai").mkdir(parents=True)
    whole = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 1}, "hits": []}}
    server = serve(lambda count: reply({"responses": [whole] * count}))
    places: dict[str, Any] = {"user": tmp_path, "bundles": (), "cache_dir": tmp_path / "cache", "embedder": "none"}
    with pytest.raises(NotFoundError):
        Registry(tmp_path / "project", **places, index=server.address).similar("knowledge:undo")


def test_attack_frequencies_that_are_no_numbers(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are an error that names the cluster; negative and huge ones change the order alone."""
    if CLUSTER and CLUSTER in str(both.away.index):
        pytest.skip("a cluster that lies is one in memory")
    said: list[Any] = []
    ask = FakeCluster.msearch

    def lie(self: FakeCluster, *, body: str) -> dict[str, Any]:
        found = ask(self, body=body)
        for one in found["responses"]:
            for hit in one["hits"]["hits"]:
                if "df" in hit["fields"]:
                    hit["fields"]["df"] = [said[0]]
        return found

    monkeypatch.setattr(FakeCluster, "msearch", lie)
    for frequency in (-5, 10**400, 2**70, 0):
        said[:] = [frequency]
        assert all(hit.id != "undo" for hit in both.away.similar("undo").results)
    said[:] = ["many"]
    with pytest.raises(RyeError, match="cannot be read") as raised:
        both.away.similar("undo")
    assert raised.value.code == "cluster-error"
