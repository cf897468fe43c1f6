"""What the tests of the room share."""

from __future__ import annotations

import pytest

from rye.cluster.client import Cluster
from tests.support.fake_cluster import FakeCluster


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Return the cluster that all registries are on."""
    cluster = FakeCluster()
    monkeypatch.setattr(Cluster, "client", property(lambda _: cluster))
    return cluster
