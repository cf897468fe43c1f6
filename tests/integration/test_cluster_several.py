"""Several registries on clusters in one search: one order, one total, and never an answer without one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rye import Registry
from rye.cluster.client import Cluster
from rye.errors import ArgumentError, EnvironmentFault, NotFoundError, RyeError, UnavailableError
from rye.registry import chosen_index
from tests.integration.test_cluster_hostile import FAULTS, WHOLE, Server, reply, serve
from tests.support.fake_cluster import FakeCluster
from tests.support.word_model import WordModel

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

CLUSTER = os.environ.get("RYE_TEST_CLUSTER", "")

__all__ = ["serve"]  # a fixture

SHOP = {
    "deploy": "---\ntags: [x]\nupdated: 2024-01-01\n---\n# Deploy\n\nRoll out the service with care\n",
    "plan": "---\ncolour: red\ncreated: 2025-05-05\n---\n# A plan\n\nDeploy, and roll back\n",
    "shared": "# Shared\n\nBoth registries deploy this\n",
    "old": "---\nstatus: deprecated\n---\n# Old\n\nDeploy by hand\n",
}
OPS = {
    "notes": "---\ntags: [x, y]\nupdated: 2026-01-01\n---\n# Notes\n\nDeploy on mondays, deploy on fridays\n",
    "shared": "# Shared\n\nAnother text on how to deploy\n",
    "penguin": "# Penguins\n\nThey live on the ice\n",
}

Open = Callable[..., Registry]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[int, FakeCluster]:
    """Return two clusters by their ports; whatever has another port is asked over the network."""
    held = {1: FakeCluster(), 2: FakeCluster()}
    real = Cluster.__dict__["client"].func
    monkeypatch.setattr(Cluster, "client", property(lambda one: held.get(one.address.hosts[0][1]) or real(one)))
    return held


def address(port: int, name: str = "r") -> str:
    """Return an address on this machine."""
    return f"opensearch+http://127.0.0.1:{port}/{name}"


BOTH = f"{address(1, 'shop')},{address(2, 'ops')}"


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens the project of a name, with its items."""

    def open_project(name: str = "shop", texts: dict[str, str] | None = None, **options: Any) -> Registry:
        folder = tmp_path / name / ".ai" / "knowledge"
        folder.mkdir(parents=True, exist_ok=True)
        for item, text in ({"shop": SHOP, "ops": OPS}.get(name, {}) if texts is None else texts).items():
            (folder / f"{item}.md").write_text(text, encoding="utf-8")
        places: dict[str, Any] = {"user": tmp_path / "user", "bundles": (), "cache_dir": tmp_path / "cache"}
        return Registry(tmp_path / name, **places, **{"embedder": "none", **options})

    return open_project


@pytest.fixture
def both(fakes: dict[int, FakeCluster], opened: Open) -> Registry:
    """Return two published registries as one."""
    assert fakes
    opened("shop").publish(address(1, "shop"))
    opened("ops").publish(address(2, "ops"))
    return opened("shop", index=BOTH)


def names(found: Any) -> list[str]:
    """Return registry and id of each hit, by the path, which is an address."""
    return [f"{hit.path.split('/')[3]}:{hit.id}" for hit in found.results]


def test_hits_are_merged_by_what_they_are_ordered_by(both: Registry) -> None:
    """The exact name first, then score, name or date; equals in the order of the registries; pages go on."""
    found = both.search("deploy")
    assert names(found)[0] == "shop:deploy"
    assert found.total == 5
    scores = [hit.score for hit in found.results[1:]]
    assert scores == sorted(scores, reverse=True)
    by_name = ["shop:deploy", "ops:notes", "shop:plan", "shop:shared", "ops:shared"]
    assert names(both.search("deploy", sort_by="name")) == by_name
    dated = names(both.search("deploy", sort_by="date"))
    assert dated == ["ops:notes", "shop:plan", "shop:deploy", "shop:shared", "ops:shared"]
    pages = [both.search("deploy", sort_by="name", limit=2, offset=at) for at in (0, 2, 4)]
    assert [name for page in pages for name in names(page)] == by_name
    assert [page.next_offset for page in pages] == [2, 4, None]
    last = both.search("deploy", include_superseded=True)
    assert names(last)[-1] == "shop:old"
    assert found.hidden == {"deprecated": 1}


def test_each_registry_has_its_own_statistics(both: Registry, opened: Open) -> None:
    """The scores are those that it gives alone."""
    alone = dict[str, float]()
    for part in BOTH.split(","):
        alone |= {hit.path: hit.score for hit in opened("shop", index=part).search("deploy").results}
    assert {hit.path: hit.score for hit in both.search("deploy").results} == alone


def test_totals_and_facets_add_up(both: Registry) -> None:
    """Also where the lists are cut, and where only one registry has the key."""
    facets = both.search("deploy", facets="tag:1,colour").facets
    assert facets["tag"].to_dict() == {
        "values": [{"value": "x", "count": 2}],
        "other_values": 1,
        "others": 1,
        "missing": 3,
    }
    assert facets["colour"].values == (("red", 1),)
    assert facets["colour"].missing == 4


def test_a_key_that_one_registry_has_is_known_in_all(both: Registry) -> None:
    """Its filter and its field are no error of the others."""
    assert names(both.search("colour:red")) == ["shop:plan"]
    assert names(both.search("deploy", filters={"colour": "red"})) == ["shop:plan"]
    with pytest.raises(ArgumentError):
        both.search("deploy", filters={"color": "red"})


def test_the_strictest_stage_answers(both: Registry) -> None:
    """A registry that only has something like it gives nothing; its warning names it."""
    found = both.search("penguin deploy")
    assert found.stage == "any"
    found = both.search("penguins")
    assert (found.stage, names(found), found.total) == ("all", ["ops:penguin"], 1)
    typo = both.search("mondys")
    assert (typo.stage, names(typo), typo.did_you_mean) == ("fuzzy", ["ops:notes"], "mondays")
    assert "showing items with similar words" in " ".join(map(str, typo.warnings))


def test_a_sentence_is_answered_at_one_stage(fakes: dict[int, FakeCluster], opened: Open) -> None:
    """Where one registry has enough hits of all words, the few of the other are shown, not its partial matches."""
    assert fakes
    sentence = "alpha beta gamma delta epsilon"
    many = {f"many-{number}": f"# M{number}\n\n{sentence}\n" for number in range(12)}
    few = {"few": f"# Few\n\n{sentence}\n", "part": "# Part\n\nalpha beta\n"}
    opened("many", many).publish(address(1, "many"))
    opened("few", few).publish(address(2, "few"))
    index = f"{address(1, 'many')},{address(2, 'few')}"
    found = opened("many", {}, index=index).search(sentence, limit=50)
    assert (found.stage, found.total) == ("all", 13)
    assert "few:few" in names(found)
    assert opened("many", {}, index=address(2, "few")).search(sentence).stage == "any"


def test_all_items_are_listed(both: Registry) -> None:
    """However many registries have them."""
    found = both.list_items(sort_by="name")
    assert found.total == len(found.results) == 6
    assert [hit.id for hit in both.list_items(sort_by="name", limit=2, offset=1).results] == ["notes", "penguin"]


def test_an_item_is_shown_from_the_registry_named_first(both: Registry, opened: Open) -> None:
    """A warning names the others that have it; what only one has is shown from there."""
    found = both.get("shared")
    assert "Both registries" in found.content
    assert found.warnings[-1].startswith(f"knowledge:shared is also in {address(2, 'ops')}; ")
    turned = opened("shop", index=",".join(reversed(BOTH.split(","))))
    assert "Another text" in turned.get("knowledge:shared").content
    assert both.get("penguin").path.startswith(address(2, "ops"))
    with pytest.raises(NotFoundError) as raised:
        both.get("pengiun")
    assert raised.value.details["nearest"] == ["knowledge:penguin"]


def test_an_id_of_two_types_is_ambiguous_across_registries(both: Registry, opened: Open, tmp_path: Path) -> None:
    """As within one: the error names both."""
    tool = tmp_path / "ops" / ".ai" / "tools" / "deploy.py"
    tool.parent.mkdir()
    tool.write_text('"""Deploys."""\n')
    opened("ops").publish(address(2, "ops"))
    with pytest.raises(ArgumentError) as raised:
        both.get("deploy")
    assert raised.value.details["candidates"] == ["knowledge:deploy", "tool:deploy"]
    assert both.get("tool:deploy").item.id == "deploy"


def test_how_a_query_is_read_is_said_once(both: Registry) -> None:
    """With the hits of all registries."""
    reading = both.read_query("deploy OR penguin")
    assert reading.total == 6
    assert [stage for stage, _ in reading.stages] == ["all"]


def test_what_all_registries_say_is_said_once(both: Registry) -> None:
    """And one sentence names all whose word an answer is."""
    warnings = list(map(str, both.search("how do I roll out a service").warnings))
    assert len(warnings) == len(set(warnings))
    assert sum("only words were searched" in text for text in warnings) == 1
    (told,) = [text for text in warnings if "are the word of" in text]
    assert all(part in told for part in BOTH.split(","))


def test_words_answer_where_one_registry_has_no_vectors(fakes: dict[int, FakeCluster], opened: Open) -> None:
    """Scores by meaning and by words are not compared with each other; a warning names the registry without."""
    model = WordModel()
    opened("shop", embedder=model).publish(address(1, "shop"))
    opened("ops").publish(address(2, "ops"))
    together = opened("shop", index=BOTH, embedder=model)
    found = together.search("deploy", mode="semantic")
    assert (found.search_type, found.method, found.total) == ("keyword", "keyword_fallback", 5)
    assert any(f"{address(2, 'ops')} has no vectors" in text for text in found.warnings)
    opened("ops", embedder=model).publish(address(2, "ops"))
    found = together.search("deploy", mode="semantic")
    assert (found.search_type, found.method) == ("semantic", "embedding")
    assert {name.partition(":")[0] for name in names(found)} == {"shop", "ops"}
    assert fakes[1].requests.count("search") > 0


def test_a_registry_in_which_nothing_is_near_gives_nothing(fakes: dict[int, FakeCluster], opened: Open) -> None:
    """Alone it would answer by words; beside one that answers by meaning it has no hit, and nothing is said of it."""
    assert fakes
    model, text = WordModel(), "roll out the service with care"
    opened("shop", embedder=model).publish(address(1, "shop"))
    opened("ops", embedder=model).publish(address(2, "ops"))
    options: dict[str, Any] = {"mode": "semantic", "threshold": 0.5}
    alone = opened("ops", index=address(2, "ops"), embedder=model).search(text, **options)
    assert (alone.search_type, alone.total > 0) == ("keyword", True)
    found = opened("shop", index=BOTH, embedder=model).search(text, **options)
    assert (found.search_type, found.method) == ("semantic", "embedding")
    assert {name.partition(":")[0] for name in names(found)} == {"shop"}
    assert not any("instead of" in text for text in found.warnings)


def test_words_that_one_registry_has_word_for_word_are_searched_in_all(
    fakes: dict[int, FakeCluster], opened: Open
) -> None:
    """Mode ``auto`` is by words then, as in one registry with all the items."""
    assert fakes
    model = WordModel()
    opened("shop", embedder=model).publish(address(1, "shop"))
    opened("ops", embedder=model).publish(address(2, "ops"))
    found = opened("shop", index=BOTH, embedder=model).search("Another text on how to deploy")
    assert (found.search_type, found.method) == ("keyword", "keyword")
    assert {"ops:shared", "shop:deploy"} <= set(names(found))


def test_nothing_is_published_to_several(both: Registry, opened: Open) -> None:
    """The error says to name one."""
    assert both.index == BOTH
    with pytest.raises(ArgumentError) as raised:
        opened("shop").publish(BOTH)
    assert (raised.value.code, raised.value.hint) == ("bad-index", "name one of them")


def test_what_one_registry_refuses_several_do(both: Registry) -> None:
    """Similar items, sections, references; and pages so deep that each registry would have to send them all."""
    for ask in (lambda: both.similar("deploy"), lambda: both.sections("deploy"), lambda: both.refs("deploy")):
        with pytest.raises(UnavailableError) as raised:
            ask()
        assert raised.value.code == "not-on-cluster"
    with pytest.raises(UnavailableError):
        both.search("deploy", offset=20_000)


@pytest.mark.parametrize(
    "index",
    [
        f"{address(1)},{address(1)}",
        f"{address(1)},",
        f"{address(1)},opensearch+http://other.example/r",
        ",".join(address(port) for port in range(1, 30)),
    ],
)
def test_lists_of_addresses_that_cannot_be_read(index: str, opened: Open) -> None:
    """Twice the same, an empty one, one in the clear, too many."""
    with pytest.raises(ArgumentError) as raised:
        opened("shop", index=index)
    assert raised.value.code == "bad-index"


def test_hosts_and_registries_are_told_apart_by_what_follows_the_comma(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cluster with two hosts, then another; in the variable and in the user's file, too."""
    index = "opensearch+https://h1,h2:9201/skills, opensearch+https://h3/ops"
    plain = "opensearch+https://h1:9200,h2:9201/skills,opensearch+https://h3:9200/ops"
    assert opened("shop", index=index).index == plain
    monkeypatch.setenv("RYE_INDEX", index)
    assert chosen_index(None, None) == index
    monkeypatch.delenv("RYE_INDEX")
    settings = tmp_path / "user" / ".ai" / "config" / "search.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"index: {index}\n")
    assert chosen_index(None, settings.parents[1]) == index


# attacks


Serve = Callable[[Callable[[int], Any]], Server]


def beside(server: Server, opened: Open) -> Registry:
    """Return a good registry and one on a server as one."""
    opened("shop").publish(address(1, "shop"))
    return opened("shop", index=f"{address(1, 'shop')},{server.address}")


@pytest.mark.parametrize("fault", FAULTS)
def test_attack_a_part_of_an_answer_of_one_registry(
    fault: str, fakes: dict[int, FakeCluster], opened: Open, serve: Serve
) -> None:
    """Is an error of the whole search, which names that registry."""
    assert fakes
    server = serve(lambda count: reply({"responses": [WHOLE] * (count - 1) + [FAULTS[fault]]}))
    together = beside(server, opened)
    for ask in (lambda: together.search("deploy"), lambda: together.get("deploy"), together.list_items):
        with pytest.raises(EnvironmentFault) as raised:
            ask()
        assert raised.value.code == "cluster-incomplete"
        assert server.address in raised.value.message
        assert str(raised.value).isprintable()


def test_attack_a_redirect_to_the_other_registry(fakes: dict[int, FakeCluster], opened: Open, serve: Serve) -> None:
    """It is not followed, and the good registry is no answer by itself."""
    assert fakes
    other = serve(lambda count: reply({"responses": [WHOLE] * count}))
    port = other.http.server_address[1]
    server = serve(lambda _: (302, {"Location": f"http://127.0.0.1:{port}/_msearch"}, b""))
    with pytest.raises(EnvironmentFault):
        beside(server, opened).search("deploy")
    assert not other.asked


def test_attack_a_registry_that_is_gone(fakes: dict[int, FakeCluster], opened: Open, serve: Serve) -> None:
    """Unreachable, or no registry there: an error each, for an item that the other one has, too."""
    assert fakes
    server = serve(lambda count: reply({"responses": [WHOLE] * count}))
    together = beside(server, opened)
    server.mapping = reply({"error": {"reason": "no such index"}, "status": 404}, 404)
    for ask in (lambda: together.search("deploy"), lambda: together.get("deploy")):
        with pytest.raises(NotFoundError) as missing:
            ask()
        assert missing.value.code == "no-registry"
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(EnvironmentFault) as gone:
        together.search("deploy")
    assert gone.value.code == "cluster-unreachable"
    assert server.address in gone.value.message


def test_attack_a_registry_claims_the_items_of_another(both: Registry, fakes: dict[int, FakeCluster]) -> None:
    """Whose item it is comes from the address that was asked: its hits stay in its place, and its bytes are judged."""
    documents = fakes[2].documents("ops")
    mine = next(source for source in documents.values() if source["id"] == "shared")
    mine["raw"] = next(source["raw"] for source in fakes[1].documents("shop").values() if source["id"] == "deploy")
    found = both.search("shared", include_superseded=True)
    assert [hit.path.split("/")[3] for hit in found.results if hit.id == "deploy"] == []
    assert all(hit.path.startswith((address(1, "shop"), address(2, "ops"))) for hit in found.results)


def test_attack_a_registry_that_says_its_hits_come_first(both: Registry, fakes: dict[int, FakeCluster]) -> None:
    """The scores that are merged are computed here, so a cluster cannot raise them."""
    before = [(hit.path, hit.score) for hit in both.search("deploy").results]
    ask = fakes[2].msearch

    def lie(*, body: str) -> dict[str, Any]:
        answer = ask(body=body)
        for one in answer["responses"]:
            for hit in one["hits"]["hits"]:
                hit["_score"] = 9e5
        return answer

    fakes[2].msearch = lie  # type: ignore[method-assign]
    assert [(hit.path, hit.score) for hit in both.search("deploy").results] == before


# on a real cluster


@pytest.fixture
def real(opened: Open) -> Iterator[Registry]:
    """Yield two registries on the nodes of a real cluster as one."""
    if not CLUSTER:
        pytest.skip("RYE_TEST_CLUSTER names no OpenSearch cluster to write to")
    from opensearchpy import OpenSearch

    name = f"test-{uuid4().hex[:12]}"
    parts = [f"opensearch+http://{CLUSTER}/{name}-{each}" for each in ("shop", "ops")]
    for each, part in zip(("shop", "ops"), parts, strict=True):
        opened(each).publish(part, replicas=0)
    yield opened("shop", index=",".join(parts))
    host, _, port = CLUSTER.partition(":")
    client = OpenSearch([{"host": host, "port": int(port)}])
    for index in client.indices.get(index=f"{name}-*"):
        client.indices.delete(index=index)


def test_a_real_cluster_answers_as_the_one_in_memory(real: Registry, both: Registry) -> None:
    """Hits, order, scores, totals, facets, stages and suggestions."""
    asked: list[tuple[str, dict[str, Any]]] = [
        *(
            (text, {})
            for text in ("deploy", "penguins", "mondys", "penguin deploy", "colour:red", "", "nothing at all")
        ),
        *(("deploy", {"sort_by": order, "facets": "tag,type,colour:1"}) for order in ("score", "name", "date")),
        ("deploy", {"include_superseded": True, "limit": 2, "offset": 1}),
    ]

    def answer(registry: Registry, text: str, options: dict[str, Any]) -> Any:
        try:
            found = registry.search(text, **options)
        except RyeError as error:
            return error.code
        hits = [(hit.id, hit.score, hit.path.rpartition("/")[2]) for hit in found.results]
        return hits, found.total, found.stage, found.did_you_mean, found.facets, found.hidden, found.next_offset

    for text, options in asked:
        assert answer(real, text, options) == answer(both, text, options), (text, options)
