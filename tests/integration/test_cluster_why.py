"""Why an item of a registry on a cluster is a hit, or why not, is what the same items at home say.

A cluster in memory answers, whose scores of words are 0: there all hits are within the page that is put in order here.
``RYE_TEST_CLUSTER`` names a real one, which counts the hits before an item by its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster.client import Cluster
from rye.errors import EnvironmentFault, RyeError, UnavailableError
from tests.support.embedders import Hashed
from tests.support.fake_cluster import FakeCluster
from tests.support.home_and_away import KINDS, REAL, Both, publishing
from tests.support.spacesim import SpaceSim

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

PLACE = ("are the word of opensearch+", "only words were searched, not meaning")

SMALL = {
    "project/knowledge/a.md": "---\nauthor: ann\ntags: [one]\n---\n\n# A\n\nDeploy builds.\n",
    "project/knowledge/b.md": "---\nauthor: ann\ncreated_at: 2024-05-01\n---\n\n# B\n\nDeploy servers deploy.\n",
    "project/knowledge/old.md": "---\nstatus: superseded\nsuperseded_by: knowledge:b\n---\n\n# Old\n\nOld builds.\n",
    "project/knowledge/ops/deploy.md": "---\ncreated_at: 2023-01-01\n---\n\n# Deploy\n\nSee knowledge:b for builds.\n",
    "project/tools/ops/run.py": '"""Runs the deploy of builds."""\n',
    "user/knowledge/a.md": "# A\n\nThe builds of the user.\n",
    "user/knowledge/mine.md": "# Mine\n\nServers of mine.\n",
}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("servers", {"relax": False}),
    ("deploy -builds", {}),
    ("deploy", {"fields": {"title": "b"}}),
    ("deploy", {"filters": {"author": "bea"}}),
    ("deploy", {"filters": {"author": "ann"}, "sort_by": "date"}),
    ("deploy", {"scope": "tool"}),
    ("builds", {"space": "user"}),
    ("builds", {"sort_by": "name"}),
    ("builds", {"include_superseded": True, "sort_by": "date"}),
    ("builds", {"include_superseded": True}),
    ("deploy builds", {}),
    ("zebra qqqqq xxxxx", {}),
    ("title:(deploy OR b) author:ann tag:one", {}),
    ('"builds deploy" OR serv*', {}),
    ("deploy is:shadowed", {"relax": False}),
    ("is:shadowing builds", {}),
    ("references:b deploy", {"relax": False}),
    ("referenced-by:* servers", {"relax": False}),
    ("is:orphan builds", {"relax": False}),
    ("is:trusted deploy", {"space": "project", "relax": False}),
    ("is:unsigned deploy updated:>2024", {"relax": False}),
    ("signer:* deploy", {"relax": False}),
    ("", {"scope": "knowledge"}),
    ("old", {"filters": {"category": "x"}, "scope": "tool", "fields": {"title": "zz"}}),
    ("title:", {}),
    ("nofield:x", {}),
    ("the builds of a user deploy", {"lenient": True}),
]


SCORED: list[tuple[str, dict[str, Any]]] = [
    ("knowledge:ops/deploy", {}),
    ("ops/deploy", {}),
    ("@knowledge:ops/deploy.md", {}),
    ("ops/run deploy builds", {}),
    ("deploy NEAR/3 servers", {"relax": False}),
    ('"deploy builds"', {"relax": False}),
]
"""Queries that a cluster in memory does not know."""


class Asked(Both):
    """The same items at home and on a cluster, asked why."""

    def why(self, text: str, item: str, **options: Any) -> tuple[Any, Any]:
        """Return what both answer, as JSON, without what depends on where the items are."""
        return said(self.home, text, item, **options), said(self.away, text, item, **options)


def said(registry: Registry, text: str, item: str, **options: Any) -> Any:
    """Return what a registry answers."""
    try:
        found = registry.why(text, item, **options).to_dict()
    except RyeError as error:
        return error.code
    found["warnings"] = sorted({one for one in found["warnings"] if not any(part in one for part in PLACE)})
    if found["hit"]:
        del found["hit"]["path"], found["hit"]["successor"]  # shown as it is written
    return rounded(found)


def rounded(value: Any) -> Any:
    """Return JSON with numbers of six decimals: vectors are multiplied in single precision, several at a time."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


Lay = Callable[..., Asked]


@pytest.fixture(params=KINDS)
def lay(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Return what publishes files."""

    def write(files: dict[str, str], sim: SpaceSim) -> None:
        for path, text in files.items():
            source, _, below = path.partition("/")
            sim.write(source, below, text)

    with publishing(request.param, tmp_path, monkeypatch, Asked) as publish:
        yield lambda files, *embedder: publish(partial(write, files), *embedder)


def test_every_item_is_explained_as_at_home(lay: Lay) -> None:
    """Hits with their ranks, clauses, shares and neighbours, and misses with all reasons that do not need files."""
    both, seen = lay(SMALL), set[str]()
    items = ["a", "knowledge:b", "old", "ops/deploy", "tool:ops/run", "mine", "@tool:ops/run.py", "b.md", "nothing"]
    for text, options in [*ASKED, *(SCORED if both.is_real else ())]:
        for item in items:
            home, away = both.why(text, item, mode="keyword", **options)
            assert away == home, (text, item, options)
            seen |= {one["code"] for one in home["reasons"]} if isinstance(home, dict) else {home}
    found = {"no-match", "excluded", "field", "filter", "scope", "space", "hidden", "stage"}
    assert seen == found | {"item-not-found"}


MANY = {
    f"project/knowledge/n{number:02}.md": f"# N\n\n{'word ' * (1 + number % 7)}{'more ' * number}\n"
    for number in range(45)
}


@pytest.mark.parametrize("lay", [REAL], indirect=True)
def test_ranks_are_counted_in_every_order(lay: Lay) -> None:
    """The first, the second, one in the middle, the last, and what is before and after; many scores are equal."""
    both = lay(MANY | {f"user/tools/t{number}.py": '"""A word."""\n' for number in range(30)})
    asked: list[tuple[str, dict[str, Any]]] = [
        ("word", {}),
        ("word OR more", {}),
        ("", {}),
        ("word", {"sort_by": "name"}),
        ("word", {"sort_by": "date"}),
        ("word more", {"space": "project"}),
        ("zzzzz word qqqqq", {"scope": "knowledge"}),
        ("n03 word", {}),
    ]
    for text, options in asked:
        hits = both.home.search(text, limit=1000, **options).results
        for rank in (1, 2, 15, 31, len(hits)):
            hit = hits[min(rank, len(hits)) - 1]
            home, away = both.why(text, f"{hit.type}:{hit.id}", **options)
            assert away == home, (text, options, rank)
            assert home["rank"] == min(rank, len(hits))


def test_a_hit_beyond_those_that_are_listed_has_its_rank(lay: Lay) -> None:
    """Of hits that have only a few of the words, ten are listed."""
    both = lay({f"project/knowledge/n{number}.md": f"# Zebra {number}\n\nZebras.\n" for number in range(12)})
    for number in range(12):
        home, away = both.why("zebra qqqqq xxxxx", f"n{number}", mode="keyword")
        assert away == home
        assert home["total"] == 10
    assert [one["code"] for one in both.why("zebra qqqqq xxxxx", "n9", mode="keyword")[1]["reasons"]] == ["limit"]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_by_meaning_items_are_explained_as_at_home(mode: str, lay: Lay) -> None:
    """With their similarity, be they hits or not, and what they lack."""
    both, seen = lay(SMALL, Hashed()), set[str]()
    some: list[tuple[str, dict[str, Any]]] = [
        ("builds of the user", {}),
        ("deploy builds", {"threshold": 0.9}),
        ("deploy title:b", {}),
        ("servers", {"scope": "tool"}),
        ("old builds", {"include_superseded": True}),
        ("servers", {"filters": {"author": "ann"}, "threshold": 0.2}),
    ]
    if mode == "hybrid" and both.is_real:
        some.append(("deploy", {"hybrid": {"min_keyword_score": 1.0}}))
    for text, options in some:
        for item in ("a", "knowledge:b", "old", "ops/deploy", "tool:ops/run", "mine"):
            home, away = both.why(text, item, mode=mode, **options)
            assert away == home, (text, item, options)
            seen |= {one["code"] for one in home["reasons"]}
    assert seen >= {"threshold", "scope", "filter", "hidden", "no-match"} | ({"fusion"} if len(some) > 6 else set())


def test_attack_a_cluster_that_leaves_an_item_out_is_contradicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its bytes say stands beside the word of the cluster; what contradicts itself is an error."""
    fake = FakeCluster()
    monkeypatch.setattr(Cluster, "client", property(lambda _: fake))
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "knowledge/a.md", "# A\n\nDeploy.\n")
    sim.write("project", "knowledge/b.md", "# B\n\nDeploy.\n")
    both = Asked(sim)
    document = next(one for one in fake.documents(both.address.rpartition("/")[2]).values() if one["id"] == "b")
    held = {name: document.pop(name) for name in list(document) if name.startswith("t_")}
    found = both.away.why("deploy", "b", relax=False)
    assert (found.rank, found.reasons, [one.matched for one in found.clauses]) == (None, (), [True])
    assert any("leaves it out" in one for one in found.warnings)
    document |= held | {"path": "zz.md"}
    with pytest.raises(EnvironmentFault):
        both.away.why("deploy", "b")


def test_several_registries_say_to_name_one(tmp_path: Path) -> None:
    """A rank is that in one registry."""
    two = "opensearch+http://127.0.0.1:9/r,opensearch+http://127.0.0.1:9/s"
    with pytest.raises(UnavailableError) as raised:
        Registry(tmp_path, user=tmp_path, bundles=(), index=two).why("a", "tool:a")
    assert (raised.value.code, raised.value.hint) == ("not-on-cluster", "name one registry")
