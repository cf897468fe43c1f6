"""The same items at home and on a cluster, one in memory or a real one, for tests that compare what both answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from rye import Registry
from rye.cluster.client import Address, Cluster
from tests.support.fake_cluster import FakeCluster
from tests.support.spacesim import SpaceSim, no_own_items

CLUSTER = os.environ.get("RYE_TEST_CLUSTER", "")
IN_MEMORY = "127.0.0.1:9"
REAL = pytest.param("real", marks=pytest.mark.skipif(not CLUSTER, reason="RYE_TEST_CLUSTER names no cluster"))
KINDS = ("in memory", REAL)
"""The clusters to test with."""


class Both:
    """The items of two spaces at home, and the same on a cluster, where they are published at once."""

    def __init__(self, sim: SpaceSim, host: str = IN_MEMORY, embedder: Any = "none") -> None:
        self.address = f"opensearch+http://{host}/test-{uuid4().hex[:12]}"
        self.is_real = host != IN_MEMORY
        self._sim, self._embedder = sim, embedder
        self.home = self.registry()
        self.home.publish(self.address, space="all", owner="shop", replicas=0)
        self.away = self.registry(index=self.address)

    def registry(self, **options: Any) -> Registry:
        """Return a registry of the two spaces that are published."""
        places: dict[str, Any] = {"user": self._sim.user, "bundles": (), "cache_dir": self._sim.cache}
        return Registry(self._sim.project, **places, embedder=self._embedder, **options)


B = TypeVar("B", bound=Both)


@contextmanager
def publishing(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, both: type[B]) -> Iterator[Callable[..., B]]:
    """Yield what takes a writer of items, and an embedder if any, publishes them, and returns both.

    Args:
        kind: One of :data:`KINDS`.
        folder: Where the spaces are.
        monkeypatch: Puts the cluster in memory in the place of the client.
        both: What is returned: :class:`Both`, or a class of a test.
    """
    made = list[B]()
    if kind == "in memory":
        fake = FakeCluster()
        monkeypatch.setattr(Cluster, "client", property(lambda _: fake))

    def publish(write: Callable[[SpaceSim], object], embedder: Any = "none") -> B:
        sim = SpaceSim(folder, bundles=())
        write(sim)
        made.append(both(sim, CLUSTER if kind == "real" else IN_MEMORY, embedder))
        return made[-1]

    (folder / "none").mkdir()
    with no_own_items(folder / "none"):
        yield publish
    for each in made:
        client, name = Cluster(Address.parse(each.address)).client, each.address.rpartition("/")[2]
        client.indices.delete(index=",".join(client.indices.get(index=f"{name}-*")))
