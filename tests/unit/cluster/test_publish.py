"""Publishing to a cluster in memory: owners, differences, refusals, repairs, and what a killed publisher leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster.publish import PublishReport
from rye.errors import ArgumentError, EnvironmentFault, RyeError
from tests.support.fake_cluster import FakeCluster

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

ADDRESS = "opensearch+http://127.0.0.1:9/r"


class Shop:
    """A project whose items are published."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self._cache = cache

    def write(self, path: str, text: str = "# Deploy\n\nSteps to deploy\n") -> None:
        """Write a file of the project."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def publish(self, **options: Any) -> PublishReport:
        """Publish the project."""
        places: dict[str, Any] = {"user": self.folder.parent / "user", "bundles": (), "cache_dir": self._cache}
        return Registry(self.folder, **places).publish(ADDRESS, **options)


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Shop]:
    """Return what lays a project with some items."""

    def lay(name: str = "shop", count: int = 12) -> Shop:
        made = Shop(tmp_path / name, tmp_path / "cache")
        (tmp_path / name / ".ai").mkdir(parents=True)
        for number in range(count):
            made.write(f".ai/knowledge/ops/item-{number}.md", f"# Item {number}\n\nHow to deploy number{number}\n")
        return made

    return lay


def counts(report: PublishReport) -> tuple[int, int, int, int]:
    """Return what was added, changed, removed and left."""
    return report.added, report.changed, report.removed, report.unchanged


def held(fake: FakeCluster, owner: str) -> set[str]:
    """Return the ids of an owner's items in the registry."""
    return {source["id"] for source in fake.documents("r").values() if source["owner"] == owner}


def test_skills_commands_and_instruction_files_are_published_like_items(fake: FakeCluster, shop: Any) -> None:
    """Each with the folder that it lies in; nothing is left out."""
    one = shop(count=1)
    one.write(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Read PDF\n---\n\n# PDF\n")
    one.write(".claude/skills/pdf/scripts/run.py", '"""Run it."""\n')
    one.write(".claude/commands/ship.md", "# Ship\n")
    one.write("AGENTS.md", "# Agents\n")
    report = one.publish()
    assert held(fake, "shop") == {"ops/item-0", "pdf", "pdf/scripts/run", "commands/ship", "AGENTS"}
    assert set(report.sources) == {"project", "project:.claude/skills", "project:.claude/commands", "project:files"}
    assert counts(report) == (5, 0, 0, 0)


def test_a_second_publish_sends_what_changed(fake: FakeCluster, shop: Any) -> None:
    """And nothing at all where nothing did; the name always stands for one complete generation."""
    one = shop()
    one.publish()
    fake.requests.clear()
    assert counts(one.publish()) == (0, 0, 0, 12)
    assert not {"bulk", "clone", "create"} & set(fake.requests)
    one.write(".ai/knowledge/ops/item-3.md", "# Item 3\n\nNow it is different\n")
    one.write(".ai/knowledge/ops/new.md", "# New\n\nAlso different\n")
    (one.folder / ".ai/knowledge/ops/item-4.md").unlink()
    report = one.publish()
    assert counts(report) == (1, 1, 1, 10)
    assert "clone" in fake.requests
    texts = {row["id"]: " ".join(row["t_content"]) for row in fake.documents("r").values()}
    assert "different" in texts["ops/item-3"]
    assert "different" in texts["ops/new"]
    assert "ops/item-4" not in texts


def test_owners_publish_beside_each_other(fake: FakeCluster, shop: Any) -> None:
    """A publish replaces the items of its owner; those of others stay, byte for byte."""
    first, second = shop("shop"), shop("stall", 3)
    first.publish()
    before = {id_: source for id_, source in fake.documents("r").items() if source["owner"] == "shop"}
    report = second.publish()
    assert (report.owner, report.items, report.total) == ("stall", 3, 15)
    (second.folder / ".ai/knowledge/ops/item-2.md").unlink()
    assert counts(second.publish(yes=True)) == (0, 0, 1, 2)
    assert {id_: source for id_, source in fake.documents("r").items() if source["owner"] == "shop"} == before
    assert held(fake, "stall") == {"ops/item-0", "ops/item-1"}


def test_removing_more_than_a_tenth_has_to_be_wanted(fake: FakeCluster, shop: Any) -> None:
    """Nothing is changed before that; changed items count as kept."""
    one = shop(count=20)
    one.publish()
    for number in range(3):
        (one.folder / f".ai/knowledge/ops/item-{number}.md").unlink()
    with pytest.raises(ArgumentError, match="3 of the 20 items of shop") as raised:
        one.publish()
    assert raised.value.code == "publish-removes"
    assert len(held(fake, "shop")) == 20
    assert counts(one.publish(yes=True)) == (0, 0, 3, 17)
    for number in range(3, 20):
        one.write(f".ai/knowledge/ops/item-{number}.md", "# Other\n")
    assert counts(one.publish()) == (0, 17, 0, 0)


def test_a_dry_run_names_each_change_and_makes_none(fake: FakeCluster, shop: Any) -> None:
    """Also on a registry that is not there yet."""
    one = shop(count=2)
    report = one.publish(dry_run=True)
    assert [(each.action, each.id) for each in report.changes] == [("add", "ops/item-0"), ("add", "ops/item-1")]
    assert fake.held == {}
    one.publish()
    one.write(".ai/knowledge/ops/item-0.md", "# Changed\n")
    (one.folder / ".ai/knowledge/ops/item-1.md").unlink()
    report = one.publish(dry_run=True)
    assert [(each.action, each.id) for each in report.changes] == [("change", "ops/item-0"), ("remove", "ops/item-1")]
    assert report.changes[0].path == ".ai/knowledge/ops/item-0.md"
    assert len(held(fake, "shop")) == 2


def test_a_repair_writes_what_is_missing_or_altered_and_removes_what_is_foreign(fake: FakeCluster, shop: Any) -> None:
    """A publish without it notices that documents are gone, and says so."""
    one = shop()
    one.publish()
    good = dict(fake.documents("r"))
    gone, changed, *_ = good
    documents = fake.documents("r")
    del documents[gone]
    with pytest.raises(EnvironmentFault, match="11 of the 12 items of shop") as raised:
        one.publish()
    assert raised.value.code == "registry-damaged"
    documents[changed] = good[changed] | {"raw": "AAAA"}
    documents["foreign"] = good[changed] | {"id": "foreign"}
    report = one.publish(repair=True, yes=True)
    assert (report.added, report.changed) == (1, 1)
    assert fake.documents("r") == good
    assert counts(one.publish(repair=True)) == (0, 0, 0, 12)


def test_an_index_that_was_removed_is_never_made_again_by_a_bulk(fake: FakeCluster, shop: Any) -> None:
    """Whatever ``action.auto_create_index`` says; the generation before serves on."""
    one = shop()
    one.publish()
    before = dict(fake.documents("r"))
    one.write(".ai/knowledge/ops/item-0.md", "# Changed\n")

    def remove() -> None:
        for name in [name for name, index in fake.held.items() if any("-write" in each for each in index.aliases)]:
            del fake.held[name]

    fake.before["bulk"] = remove
    with pytest.raises(EnvironmentFault) as raised:
        one.publish()
    assert raised.value.code == "publish-busy"
    assert all(index.mappings["dynamic"] == "strict" for index in fake.held.values())
    assert fake.documents("r") == before
    assert counts(one.publish()) == (0, 1, 0, 11)


@pytest.mark.parametrize(
    "step", ["create", "bulk", "put_mapping", "refresh", "flush", "update_aliases", "delete_index"]
)
def test_a_publisher_that_is_killed_changes_no_answer(step: str, fake: FakeCluster, shop: Any) -> None:
    """Wherever it is; the next one does all of it, and sweeps what was left."""

    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    one = shop()
    one.publish()
    before = dict(fake.documents("r"))
    one.write(".ai/knowledge/ops/item-0.md", "# Changed\n")
    shards = {"shards": 2} if step == "create" else {}
    fake.before[step] = kill
    if step == "delete_index":  # nothing is removed by a publisher that was killed
        fake.before["bulk"] = kill
    with pytest.raises(Killed):
        one.publish(**shards)
    assert fake.documents("r") == before or step in {"update_aliases", "delete_index"}
    one.publish(**shards)
    assert held(fake, "shop") == {f"ops/item-{number}" for number in range(12)}
    indexes = [name for name in fake.held if "lock" not in name]
    assert len(indexes) <= 4
    assert not [name for name in indexes if any("write" in alias for alias in fake.held[name].aliases)]


@pytest.mark.parametrize(
    "version",
    [
        {"number": "8.15.0"},
        {"distribution": "opensearch", "number": "1.3.20"},
        {"distribution": "opensearch", "number": "?"},
    ],
)
def test_a_server_of_another_kind_or_version_is_refused(version: Any, fake: FakeCluster, shop: Any) -> None:
    """Before anything is written to it."""
    fake.version = version
    with pytest.raises(RyeError) as raised:
        shop().publish()
    assert raised.value.code == "cluster-version"
    assert fake.held == {}
