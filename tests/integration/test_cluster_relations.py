"""The relations of a registry on a cluster are those of the same items at home, and a cluster cannot invent any.

A cluster in memory is asked, and a real one where ``RYE_TEST_CLUSTER`` names it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster import neighbours
from rye.cluster.client import Cluster
from rye.errors import RyeError, UnavailableError
from tests.support.fake_cluster import FakeCluster
from tests.support.home_and_away import KINDS, Both, publishing
from tests.support.spacesim import SpaceSim

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

FOLDERS = ("ops", "ops/deep", "web", "")
NAMES = ("deploy", "run", "undo", "check", "twin", "a_b", "v1.2")
FILES = {"knowledge": ("knowledge", ".md"), "tool": ("tools", ".py"), "directive": ("directives", ".md")}


class Items:
    """Items that refer to each other in every form; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secret
        keys = [(kind, f"{folder}/{name}".strip("/")) for kind in FILES for folder in FOLDERS for name in NAMES]
        self.keys = self.rng.sample(keys, 45)

    def name(self) -> str:
        """Return how one item may be written, or one that is not there."""
        kind, item_id = self.rng.choice(self.keys)
        forms = ("{kind}:{id}", "{id}", "{name}", "{id}{end}", "./{name}{end}", "../{name}{end}", "{id}-gone")
        return self.rng.choice(forms).format(kind=kind, id=item_id, name=item_id.rpartition("/")[2], end=FILES[kind][1])

    def text(self, kind: str) -> str:
        """Return the text of one item."""
        some = [self.name() for _ in range(self.rng.randrange(4))]
        body = "\n".join(f"See {name} and `{self.name()}`, or [this]({self.name()})." for name in some)
        if kind == "tool":
            return f'"""{body} """\nimport deploy\nfrom .run import x\n'
        keys = ("references", "requires", "extends", "supersedes", "superseded_by")
        head: dict[str, Any] = {key: [self.name()] for key in keys if self.rng.random() < 0.2}
        head |= {"yanked": "old"} if self.rng.random() < 0.05 else {}
        lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in head.items())
        return f"---\n{lines}\n---\n\n# Text\n\n{body}\n" if head else f"# Text\n\n{body}\n"

    def lay(self, sim: SpaceSim) -> None:
        """Write them, some of them also or only as the user's."""
        for kind, item_id in self.keys:
            folder, suffix = FILES[kind]
            where = self.rng.choice([("project",), ("project",), ("user",), ("project", "user")])
            for source in where:
                sim.add(source, f"{folder}/{item_id}{suffix}", self.text(kind))


Lay = Callable[[Items], Both]


@pytest.fixture(params=KINDS)
def lay(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Return what publishes items."""
    with publishing(request.param, tmp_path, monkeypatch, Both) as publish:
        yield lambda items: publish(items.lay)


@pytest.fixture
def lay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Both, FakeCluster]:
    """Return a few items on a cluster that a test changes."""
    fake = FakeCluster()
    monkeypatch.setattr(Cluster, "client", property(lambda _: fake))
    sim = SpaceSim(tmp_path, bundles=())
    sim.add("project", "knowledge/ops/a.md", "See knowledge:ops/b.\n")
    sim.add("project", "knowledge/ops/b.md", "Two\n")
    sim.add("user", "knowledge/ops/c.md", "Three\n")
    return Both(sim), fake


def around(registry: Registry, item: str, **options: Any) -> Any:
    """Return the relations around an item, without what depends on where they are from."""
    try:
        found = registry.refs(item, **options).to_dict()
    except RyeError as error:
        return error.code
    found["warnings"] = [text for text in found["warnings"] if "are the word of" not in text]
    for each in found["items"]:
        del each["path"], each["successor"]
    return found


@pytest.mark.parametrize("seed", range(2))
def test_relations_around_an_item_are_those_at_home(seed: int, lay: Lay) -> None:
    """In each direction, one step: by ids, names, paths and imports, ambiguous and dangling ones, and copies."""
    items = Items(seed)
    both = lay(items)
    seen = set[str]()
    for kind, item_id in items.rng.sample(items.keys, 8):
        for direction in ("in", "out", "both"):
            options = {"direction": direction, "depth": 1, "limit": 1000}
            home, away = (around(one, f"{kind}:{item_id}", **options) for one in (both.home, both.away))
            assert away == home, (kind, item_id, options)
            seen |= {each["state"] for each in home["relations"]}
    assert seen == {"resolved", "ambiguous", "dangling"}
    for name in ("nothing", "twin", "knowledge:ops/deplo", " ", "@tool:ops/run"):
        assert around(both.away, name) == around(both.home, name)


def test_attack_a_cluster_cannot_invent_a_reference_or_a_name(lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """References and ids are read from bytes: what documents say of them changes nothing that is shown."""
    both, fake = lay_in_memory
    before = around(both.away, "knowledge:ops/a")
    assert [each["written"] for each in before["relations"]] == ["knowledge:ops/b"]
    every = fake.documents(both.address.rpartition("/")[2]).values()
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
