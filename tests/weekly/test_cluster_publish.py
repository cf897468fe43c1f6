"""Publishing to a real OpenSearch cluster: owners, differences, kills, damage, and two publishers at once.

``RYE_TEST_CLUSTER`` names a cluster that may be written to, as ``127.0.0.1:9200``; ``RYE_TEST_CLUSTER_KILLS`` says how
many publishers are killed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.errors import EnvironmentFault
from tests.benchmarks import laying
from tests.benchmarks.corpus import Corpus
from tests.weekly.test_cluster_equality import CLUSTER, Both, answer, both

KILLS = int(os.environ.get("RYE_TEST_CLUSTER_KILLS", "6"))
EVERYTHING: dict[str, Any] = {"limit": 1000, "include_superseded": True}

pytestmark = pytest.mark.skipif(not CLUSTER, reason="RYE_TEST_CLUSTER names no OpenSearch cluster to write to")


class Laid:
    """Items in a project and in the registry of the same owner."""

    def __init__(self, folder: Path, count: int) -> None:
        self.items = Corpus(40).items(count + 20)
        self.files = laying.lay(self.items[:count], folder)
        self.folder = folder / "project"
        self.skill("pdf", "Read and merge PDF files")
        self.both: Both = both(folder)

    def skill(self, name: str, text: str) -> None:
        """Write a skill."""
        place = self.folder / ".claude" / "skills" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\n---\n\n# {name}\n\n{text}\n")

    def publish(self, **options: Any) -> Any:
        """Publish the project."""
        return self.both.home.publish(self.both.address, **options)

    def differing(self) -> list[str]:
        """Return the queries whose answers from the cluster are not those from the project."""
        texts = ["", "pdf", "merge OR deploy", *(item.body.split()[3] for item in self.items[:8]), 'title:"a" OR read*']
        return [text for text in texts if self._answer(self.both.home, text) != self._answer(self.both.away, text)]

    @staticmethod
    def _answer(registry: Registry, text: str) -> Any:
        return answer(registry, text, EVERYTHING)

    def indexes(self) -> list[str]:
        """Return the indexes of the registry's generations."""
        return [name for name in self.both.cluster().indices.get(index=f"{self.both.name}-*") if "-lock" not in name]


@pytest.fixture
def laid(tmp_path: Path) -> Iterator[Laid]:
    """Yield a project that was published."""
    made = Laid(tmp_path, 60)
    yield made
    made.both.clear()


def test_skills_are_found_like_items_and_changes_are_sent_alone(laid: Laid) -> None:
    """After each publish every answer is that of the project; two generations are kept."""
    assert laid.differing() == []
    assert laid.both.away.search("merge pdf").results[0].id == "pdf"
    sections = [one.sections("merge pdf").results[0] for one in (laid.both.home, laid.both.away)]
    assert sections[0].text == sections[1].text
    again = laid.publish()
    assert (again.added, again.changed, again.removed, again.items) == (0, 0, 0, 61)
    for item in laid.items[60:66]:
        laid.files.write(item)
    laid.files.write(laid.items[0], more="\nchanged\n").touch()
    laid.skill("pdf", "Read and merge and split PDF files")
    place = laid.folder / ".ai" / laid.items[1].type.folder / laid.items[1].id
    for suffix in (".md", ".py"):
        place.with_name(f"{place.name}{suffix}").unlink(missing_ok=True)
    would = laid.publish(dry_run=True)
    assert laid.both.away.search("", **EVERYTHING).total == 61
    done = laid.publish()
    assert (done.added, done.changed, done.removed, done.unchanged) == (6, 2, 1, 58)
    assert (would.added, would.changed, would.removed) == (6, 2, 1)
    assert laid.differing() == []
    laid.files.write(laid.items[2], more="\nchanged\n")
    laid.publish(shards=2)
    assert laid.differing() == []
    assert len(laid.indexes()) == 2


def test_documents_that_are_gone_or_altered_are_said_and_repaired(laid: Laid) -> None:
    """The search warns, the publish refuses, the repair makes every answer right again."""
    client = laid.both.cluster()
    ((index, _),) = client.indices.get_alias(name=laid.both.name).items()
    client.indices.put_settings(index=index, body={"index.blocks.write": False})
    hits = client.search(index=index, body={"size": 5})["hits"]["hits"]
    for hit in hits[:3]:
        client.delete(index=index, id=hit["_id"])
    client.index(index=index, id=hits[3]["_id"], body=hits[3]["_source"] | {"raw": "# Other\n"})
    client.index(index=index, id="foreign", body=hits[4]["_source"], refresh=True)
    places: dict[str, Any] = {"user": laid.folder.parent / "home", "bundles": (), "embedder": "none"}
    fresh = Registry(laid.folder, index=laid.both.address, cache_dir=laid.folder.parent / "cache", **places)
    assert any("--repair" in str(text) for text in fresh.search("").warnings)
    with pytest.raises(EnvironmentFault) as raised:
        laid.publish()
    assert raised.value.code == "registry-damaged"
    report = laid.publish(repair=True)
    assert (report.added, report.changed) == (3, 1)
    assert laid.differing() == []
    assert laid.publish(repair=True).unchanged == 61


def _command(laid: Laid) -> list[str]:
    return [
        *(sys.executable, "-P", "-m", "rye", "index", "publish", laid.both.address),
        *("--project", str(laid.folder), "--yes"),
    ]


def _start(laid: Laid) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **laid.files.environment(), "PYTHONPATH": str(Path(__file__).parents[2])}
    environment["RYE_CACHE_DIR"] = str(laid.folder.parent / "cache")
    return subprocess.Popen(_command(laid), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_publishers_that_are_killed_change_no_answer_and_leave_nothing(laid: Laid) -> None:
    """At random moments; the registry always has the items of one publish, and the next one sweeps."""
    rng = random.Random(3)  # noqa: S311 - no secret
    totals = {61}
    for number in range(KILLS):
        laid.files.write(laid.items[number], more=f"\nchanged {number}\n").touch()
        laid.files.write(laid.items[60 + number])
        totals.add(62 + number)
        process = _start(laid)
        time.sleep(rng.uniform(0.8, 3.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if number < KILLS - 1:  # else each publisher would only wait for the lock of the one before
            laid.both.cluster().delete(index=f"{laid.both.name}-lock", id="publish", params={"ignore": 404})
        assert laid.both.away.search("", **EVERYTHING).total in totals
    laid.publish()  # the lock of the last one that was killed is watched, and ends
    assert laid.differing() == []
    assert len(laid.indexes()) <= 4
