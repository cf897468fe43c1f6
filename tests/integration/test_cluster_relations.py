"""The relations of a registry on a cluster are those of the same items at home, and a cluster cannot invent any.

All but the searches is asked of a cluster in memory; ``RYE_TEST_CLUSTER`` names a real one for all of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster import all_relations, neighbours
from rye.cluster.all_relations import AllRelations
from rye.cluster.client import Address, Cluster
from rye.cluster.generation import Generation
from rye.cluster.published import read_snapshot
from rye.errors import EnvironmentFault, RyeError, UnavailableError
from rye.search import bound
from tests.support.fake_cluster import FakeCluster
from tests.support.home_and_away import CLUSTER, KINDS, Both, publishing
from tests.support.spacesim import SpaceSim

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

FOLDERS = ("ops", "ops/deep", "web", "")
NAMES = ("deploy", "run", "undo", "check", "twin", "a_b", "v1.2")
FILES = {"knowledge": ("knowledge", ".md"), "tool": ("tools", ".py"), "directive": ("directives", ".md")}
QUERIES = ("is:orphan", "is:dangling", "-is:orphan", "references:*", "referenced-by:*", "is:trusted -references:*")


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
    """In each direction and however deep: by ids, names, paths and imports, ambiguous and dangling ones, and copies."""
    items = Items(seed)
    both = lay(items)
    seen = set[str]()
    for kind, item_id in items.rng.sample(items.keys, 8):
        for direction, depth in (("in", 1), ("out", 1), ("both", 2), ("in", 3), ("out", 32)):
            options = {"direction": direction, "depth": depth, "limit": 1000}
            home, away = (around(one, f"{kind}:{item_id}", **options) for one in (both.home, both.away))
            assert away == home, (kind, item_id, options)
            seen |= {each["state"] for each in home["relations"]}
    assert seen == {"resolved", "ambiguous", "dangling"}
    for name in ("nothing", "twin", "knowledge:ops/deplo", " ", "@tool:ops/run"):
        assert around(both.away, name) == around(both.home, name)


@pytest.mark.parametrize("seed", range(2))
def test_conditions_on_relations_accept_the_same_items(seed: int, lay: Lay) -> None:
    """Orphans, dangling references, and what refers to a name or a pattern, or is referred to by it."""
    items = Items(seed)
    both = lay(items)
    cluster = Cluster(Address.parse(both.address))
    generation = Generation(cluster, read_snapshot(cluster))
    keys = [f"{kind}:{item_id}" for kind, item_id in items.keys[:12]]
    patterns = [*keys, *(key.partition(":")[2] for key in keys), *NAMES, "ops/*", "tool:*", "*-gone", "ops/run-gone"]
    names = ("references", "referenced-by")
    nodes: list[bound.Relation] = [bound.Refers(name, pattern) for name in names for pattern in patterns]
    nodes += [bound.Has(name, text=False) for name in names] + [bound.HasState("orphan"), bound.HasState("dangling")]
    found = 0
    for node in nodes:
        text = f"{getattr(node, 'name')}:{getattr(node, 'pattern', '*')}"  # noqa: B009 - the name of a state has none
        query = f"is:{node.name}" if isinstance(node, bound.HasState) else text
        home = both.home.search(query, limit=1000, include_superseded=True)
        marks = sorted(generation.relations.marks(node))
        rows = generation.fields([{"terms": {"mark": marks}}], ("type", "id"), 1000)[0]
        assert sorted(rows) == sorted((hit.type, hit.id) for hit in home.results), query
        found += len(rows)
    assert found > 100


@pytest.mark.skipif(not CLUSTER, reason="RYE_TEST_CLUSTER names no OpenSearch cluster to write to")
@pytest.mark.parametrize("lay", ["real"], indirect=True)
def test_searches_with_conditions_on_relations_are_those_at_home(lay: Lay) -> None:
    """With words, scopes, NOT and verdicts beside them."""
    items = Items(9)
    both = lay(items)
    asked = [*QUERIES, *(f"text references:{name}" for name in NAMES), *(f"-referenced-by:{name}" for name in NAMES)]
    for query in asked:
        for options in ({}, {"scope": "tool"}, {"space": "user"}, {"facets": "type"}, {"include_superseded": True}):
            home, away = (one.search(query, **options) for one in (both.home, both.away))
            assert [(hit.type, hit.id, hit.score) for hit in away.results] == [
                (hit.type, hit.id, hit.score) for hit in home.results
            ]
            assert (away.total, away.facets) == (home.total, home.facets)


def test_attack_a_cluster_cannot_invent_a_reference_or_a_name(lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """References and ids are read from bytes: what documents say of them changes nothing that is shown."""
    both, fake = lay_in_memory
    before = around(both.away, "knowledge:ops/a")
    assert [each["written"] for each in before["relations"]] == ["knowledge:ops/b"]
    every = fake.documents(both.address.rpartition("/")[2]).values()
    a = next(one for one in every if one["id"] == "ops/a")
    for one in every:
        one["called"] = [*one["called"], *a["called"]]  # everything is a
        one["edges"] = [f"0 {' '.join(a['called'])}|ops/a"]  # and refers to it
    assert around(both.away, "knowledge:ops/a") == before


def test_attack_references_that_cannot_be_read_are_an_error(lay_in_memory: tuple[Both, FakeCluster]) -> None:
    """Not a stack trace, nor an answer of a part."""
    both, fake = lay_in_memory
    name = both.address.rpartition("/")[2]
    one = next(iter(fake.documents(name).values()))
    cluster = Cluster(Address.parse(both.address))
    for row in (
        "",
        "x 0|y",
        "999 0|y",
        "0 0zzzz|y",
        "0 7" + "f" * 40 + "|y",
        "-1 |y",
        5,
        None,
        {"a": 1},
        "0 |a\nb\udc80",
    ):
        one["edges"] = [row]
        relations = AllRelations(cluster, read_snapshot(cluster))
        try:
            relations.marks(bound.HasState("dangling"))
        except EnvironmentFault as error:
            assert error.code == "cluster-error"  # noqa: PT017 - some rows can be read


def test_more_items_than_can_be_joined_are_refused(
    lay_in_memory: tuple[Both, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both around one item and for a condition; never a part of the relations."""
    both, _ = lay_in_memory
    monkeypatch.setattr(neighbours, "MOST_RELATED", 1)
    monkeypatch.setattr(all_relations, "MOST_JOINED", 1)
    cluster = Cluster(Address.parse(both.address))
    tries: list[Callable[[], object]] = [
        lambda: both.away.refs("knowledge:ops/a"),
        lambda: AllRelations(cluster, read_snapshot(cluster)).marks(bound.HasState("orphan")),
    ]
    for work in tries:
        with pytest.raises(UnavailableError) as raised:
            work()
        assert raised.value.code == "not-on-cluster"
        assert raised.value.hint
