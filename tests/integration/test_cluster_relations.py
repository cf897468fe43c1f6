"""Relations of items on a cluster are read from their bytes: a cluster cannot invent any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster import neighbours
from rye.cluster.client import Cluster
from rye.errors import RyeError, UnavailableError
from tests.support.fake_cluster import FakeCluster
from tests.support.spacesim import SpaceSim

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")


ADDRESS = "opensearch+http://127.0.0.1:9/r"


class Both:
    """The same items at home and on a cluster in memory."""

    def __init__(self, sim: SpaceSim) -> None:
        self.home, self.away = (
            Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache, embedder="none", index=index)
            for index in (None, ADDRESS)
        )
        self.home.publish(ADDRESS, space="all", owner="shop", replicas=0)


@pytest.fixture
def lay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Both, FakeCluster]:
    """Return a few items on a cluster that a test changes."""
    fake = FakeCluster()
    monkeypatch.setattr(Cluster, "client", property(lambda _: fake))
    sim = SpaceSim(tmp_path, bundles=())
    sim.add("project", "knowledge/ops/a.md", "See knowledge:ops/b, `b.md`, [this](../twin.md) and twin.\n")
    sim.add("project", "knowledge/ops/b.md", "---\nsupersedes: [ops/a]\nreferences: [gone]\n---\nTwo\n")
    sim.add("project", "tools/twin.py", '"""Two."""\nimport run\n')
    sim.add("project", "tools/run.py", '"""Run."""\n')
    sim.add("user", "knowledge/ops/b.md", "See tool:run.\n")
    return Both(sim), fake


def around(registry: Registry, item: str, **options: Any) -> Any:
    """Return the relations around an item, without what depends on where they are from."""
    try:
        found = registry.refs(item, **options).to_dict()
    except RyeError as error:
        return error.code
    found["warnings"] = [text for text in found["warnings"] if "chose these items" not in text]
    for each in found["items"]:
        del each["path"], each["successor"]
    return found


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_relations_around_an_item_are_those_at_home(direction: str, lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """By ids, names, paths and imports; dangling and ambiguous ones, and copies."""
    both, _ = lay_in_memory
    for item in ("knowledge:ops/a", "knowledge:ops/b", "tool:twin", "tool:run", "nothing", "@tool:run"):
        options = {"direction": direction, "depth": 1}
        assert around(both.away, item, **options) == around(both.home, item, **options), item


def test_attack_a_cluster_cannot_invent_a_reference_or_a_name(lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """References and ids are read from bytes: what documents say of them changes nothing that is shown."""
    both, fake = lay_in_memory
    before = around(both.away, "knowledge:ops/a")
    assert "knowledge:ops/b" in [each["written"] for each in before["relations"]]
    every = fake.documents("r").values()
    a = next(one for one in every if one["id"] == "ops/a")
    for one in every:
        one["called"] = [*one["called"], *a["called"]]  # everything is a
        one["refers"] = a["called"]  # and refers to it
    assert around(both.away, "knowledge:ops/a") == before


def test_more_items_than_can_be_joined_are_refused(
    lay_in_memory: tuple[Both, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a part of the relations."""
    both, _ = lay_in_memory
    monkeypatch.setattr(neighbours, "MOST_RELATED", 1)
    with pytest.raises(UnavailableError, match="follow references through more than 1 items") as raised:
        both.away.refs("knowledge:ops/a")
    assert raised.value.code == "not-on-cluster"


@pytest.mark.parametrize("query", ["is:orphan", "is:dangling", "references:*", "-referenced-by:ops/b"])
def test_conditions_on_relations_are_refused(query: str, lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """The references of all items decide them."""
    both, _ = lay_in_memory
    with pytest.raises(UnavailableError, match="cannot ask what items refer to") as raised:
        both.away.search(query)
    assert "rye refs ITEM" in raised.value.hint
