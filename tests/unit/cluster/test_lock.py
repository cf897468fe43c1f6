"""The lock of a registry: one publisher at a time, and none for ever."""

from __future__ import annotations

import threading
import time

import pytest

from rye.cluster.lock import PublishLock
from rye.errors import EnvironmentFault
from tests.support.fake_cluster import FakeCluster

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

QUICK = {"beat": 0.05, "lease": 0.4}
LOCK = "r-lock"


def test_a_second_publisher_is_kept_out_while_the_first_is_alive() -> None:
    """It is told who is at work; afterwards it gets the lock."""
    fake = FakeCluster()
    with PublishLock(fake.registry(), "shop", **QUICK) as first:
        with pytest.raises(EnvironmentFault, match="shop on") as raised, PublishLock(fake.registry(), "other", **QUICK):
            pass
        assert raised.value.code == "publish-busy"
        first.check()
    assert fake.documents(LOCK) == {}
    with PublishLock(fake.registry(), "other", **QUICK):
        assert fake.documents(LOCK)["publish"]["owner"] == "other"


def test_the_lock_of_a_dead_publisher_ends() -> None:
    """Nobody changes it any more, so after the lease another one takes it over."""
    fake = FakeCluster()
    dead = PublishLock(fake.registry(), "dead", **QUICK)
    dead.__enter__()
    dead._stop.set()
    dead._thread.join()
    began = time.monotonic()
    with PublishLock(fake.registry(), "next", **QUICK) as lock:
        assert time.monotonic() - began >= QUICK["lease"]
        lock.check()
        with pytest.raises(EnvironmentFault, match="next on") as raised:
            dead.check()
        assert raised.value.code == "publish-busy"
    assert fake.documents(LOCK) == {}


def test_of_many_that_take_over_at_once_one_gets_the_lock() -> None:
    """The write names the version that it replaces."""
    fake = FakeCluster()
    dead = PublishLock(fake.registry(), "dead", **QUICK)
    dead.__enter__()
    dead._stop.set()
    holders, busy, most = 0, 0, 0
    guard = threading.Lock()

    def publish() -> None:
        nonlocal holders, busy, most
        try:
            with PublishLock(fake.registry(), "one", **QUICK):
                with guard:
                    holders += 1
                    most = max(most, holders)
                time.sleep(0.2)
                with guard:
                    holders -= 1
        except EnvironmentFault:
            busy += 1

    threads = [threading.Thread(target=publish) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert busy >= 1
