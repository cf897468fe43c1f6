"""The same questions to both engines: a real OpenSearch cluster finds the items that are found at home.

``RYE_TEST_CLUSTER`` names a cluster that may be written to, as ``127.0.0.1:9200``; ``RYE_TEST_CLUSTER_ITEMS`` and
``RYE_TEST_CLUSTER_EACH`` say how many items, and how many questions of each kind.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from rye import Registry
from rye.errors import RyeError
from tests.benchmarks import laying, ours
from tests.benchmarks.asking import queries
from tests.benchmarks.corpus import Corpus

CLUSTER = os.environ.get("RYE_TEST_CLUSTER", "")
ITEMS = int(os.environ.get("RYE_TEST_CLUSTER_ITEMS", "2000"))
EACH = int(os.environ.get("RYE_TEST_CLUSTER_EACH", "2"))


pytestmark = pytest.mark.skipif(not CLUSTER, reason="RYE_TEST_CLUSTER names no OpenSearch cluster to write to")


class Both(NamedTuple):
    """One project, as it is on disk and as it is on the cluster."""

    folder: Path
    name: str
    home: Registry
    away: Registry

    @property
    def address(self) -> str:
        """The registry on the cluster."""
        return f"opensearch+http://{CLUSTER}/{self.name}"

    def cluster(self) -> Any:
        """Return a client of the cluster, to look behind the curtain."""
        from opensearchpy import OpenSearch

        host, _, port = CLUSTER.partition(":")
        return OpenSearch([{"host": host, "port": int(port)}])

    def clear(self) -> None:
        """Remove what was published."""
        client = self.cluster()
        for index in client.indices.get(index=f"{self.name}-*"):
            client.indices.delete(index=index)


def both(folder: Path) -> Both:
    """Publish the project in a folder; return both of its registries."""
    name = f"test-{uuid4().hex[:12]}"
    places: dict[str, Any] = {"user": folder / "home", "bundles": (), "cache_dir": folder / "cache", "embedder": "none"}
    address = f"opensearch+http://{CLUSTER}/{name}"
    home = Registry(folder / "project", **places)
    home.publish(address, replicas=0)
    return Both(folder, name, home, Registry(folder / "project", index=address, **places))


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Yield generated items of every type."""
    folder = tmp_path_factory.mktemp("generated")
    laying.lay(Corpus(40).items(ITEMS), folder)
    found = both(folder)
    yield found
    found.clear()


def answer(registry: Registry, text: str, options: dict[str, Any]) -> list[str] | str:
    """Return which items match, or the code of an error."""
    try:
        found = registry.search(text, **{**options, "relax": False, "limit": 1000, "offset": 0})
    except RyeError as error:
        return error.code
    return sorted(f"{hit.type}:{hit.id}" for hit in found.results)


class Questions:
    """Generated questions of every kind."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secret
        self.corpus = Corpus(40)
        self.items = self.corpus.items(ITEMS)

    @cached_property
    def plain(self) -> list[str]:
        """Words of the texts."""
        kinds = ("term common", "term medium")
        return [one.words[0] for one in queries(self.items, self.corpus.vocabulary, 40, kinds)]

    @cached_property
    def compounds(self) -> list[str]:
        """Words of several parts."""
        words = self.corpus.vocabulary.words
        return [word for word in words if any(ch in "_-./" or ch.isupper() for ch in word)][:400]

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield text and options."""
        for one in queries(self.items, self.corpus.vocabulary, EACH):
            filters = {"filters": {"type": one.item_type}} if one.item_type else {}
            yield ours.text_of(one), {"offset": one.offset, **filters}
        for _ in range(EACH):
            yield from ((text, {}) for text in self._texts())
            yield from self._optioned()

    def _texts(self) -> Iterator[str]:
        rng, some = self.rng, self.rng.choices(self.plain, k=12)
        a, b, c, d = some[:4]
        compound, item = rng.choice(self.compounds), rng.choice(self.items)
        yield from (compound, item.id, f"{item.type}:{item.id}", f"-{a} NOT {compound}", f"{a} -{b} -{c[:4]}*")
        yield from (f'"{a} {b}"~{rng.randint(2, 30)}', f'"{a} {b} {c}"~{rng.randint(20, 60)}', f'"{a} {a}"~20')
        yield f"{a} NEAR/{rng.randint(5, 30)} {b} NEAR/{rng.randint(5, 30)} {c}"
        yield f"{a} NEAR/{rng.randint(2, 30)} {a}"
        yield f'({a} OR "{b} {c}" OR {d[:4]}*) NEAR/{rng.randint(3, 20)} {compound}'
        yield f"title:{a} OR description:({b} {c}) OR tags:{d}"
        yield f"{a}^3 OR title:{b}^0.5 OR {c}~1^2"
        yield from (f"{a[:2]}?{b[:1]}*", f"{compound.lower()[:3]}*/*ser*", f"{a[:5]}~", f"{a[:2]}{a[3:]} {b}")
        yield f"version:[1.{rng.randint(0, 9)} TO 2.{rng.randint(0, 9)}}} updated:>=20{rng.randint(19, 25)}-02 {a}"
        yield f"(author:{rng.choice(['ada*', '*.dev', 'grace.ops'])} OR status:draft) -type:tool {a}"
        yield from (
            f"symbols:* {a} tool_type:*",
            "created:2018-05 updated:{2020 TO 2021-04-15]",
            f"author:gracee.ops~ {a}",
        )
        yield f'"{" ".join(item.body.split()[10:14])}"'.replace("#", "")
        yield from (
            f"({a} OR {b}) ({c} OR -{d}) {a[:5]}*",
            f"{a} {b} {c}",
            f"how do i {' '.join(some[:6])}",
            "is:shadowed",
        )

    def _optioned(self) -> Iterator[tuple[str, dict[str, Any]]]:
        a, b = self.rng.choices(self.plain, k=2)
        yield from (("", {"filters": {"author": "ada.ops"}}), (a, {"sort_by": "date", "offset": 10}))
        yield from ((a, {"sort_by": "name"}), (a, {"include_superseded": True}), (a, {"limit": 1000}))
        yield from ((a, {"facets": "type,tag,author,category:20,version"}), (f"{a} OR {b}", {"explain": True}))
        yield from ((a, {"scope": "tool"}), (a[:4], {"prefix": True}), (a[:6], {"fuzzy": {"enabled": True}}))
        yield from (("*", {"fields": {"title": a}}), (f"{a} {b}", {"proximity": {"max_distance": 8}}))
        yield from ((f"{a} {b[:5]}*", {"level": level}) for level in (1, 2))
        yield from (
            (f"{state} {a}", {}) for state in ("is:signed", "is:unsigned", "-is:signed", "is:trusted", "signer:*")
        )
        yield from ((f"{a} OR {b}", {"space": space, "explain": True}) for space in ("project", "user"))
        yield from ((f"{a} {b}qqx", {"facets": "type"}), (f"{a}qx", {"relax": False}), ("nofield:x", {}))


def is_approximate(text: str, options: dict[str, Any]) -> bool:
    """Return whether the cluster finds other words that are spelled alike, or measures another distance."""
    return "~" in text or "NEAR" in text or bool({"fuzzy", "proximity"} & set(options))


def test_generated_questions_find_the_same_items(generated: Both) -> None:
    """Match sets are equal; where spellings and distances decide, nearly all are. What cannot be asked says so."""
    answers = [
        (text, options, answer(generated.home, text, options), answer(generated.away, text, options))
        for text, options in Questions(7)
    ]
    asked = [each for each in answers if each[3] != "not-on-cluster"]
    differ = [(text, options) for text, options, home, away in asked if home != away]
    assert [each for each in differ if not is_approximate(*each)] == []
    assert len(differ) <= len(asked) / 10
    assert len(asked) > 40 * EACH


def _verdicts(one: Both, text: str) -> dict[str, str]:
    return {hit.id: str(hit.signature.verdict) for hit in one.away.search(text, limit=20).results}


def test_a_lying_cluster_changes_no_bytes_unnoticed(tmp_path: Path) -> None:
    """Changed bytes are tampered, and those of another item misplaced."""
    laying.lay(Corpus(40).items(40), tmp_path)
    one = both(tmp_path)
    client, index = one.cluster(), ""
    try:
        assert set(_verdicts(one, "").values()) == {"trusted"}
        ((index, _),) = client.indices.get_alias(name=one.name).items()
        hits = client.search(index=index, body={"size": 100})["hits"]["hits"]
        knowledge = [hit for hit in hits if hit["_source"]["type"] == "knowledge"][:3]
        first, second, third = (hit["_source"] for hit in knowledge)
        changed = first["raw"] + "\nand more\n"
        client.indices.put_settings(index=index, body={"index.blocks.write": False})
        client.index(index=index, id=knowledge[0]["_id"], body=first | {"raw": changed})
        client.index(index=index, id=knowledge[1]["_id"], body=second | {"raw": third["raw"]}, refresh=True)
        found = {hit["id"]: _verdicts(one, f"knowledge:{hit['id']}").get(hit["id"]) for hit in (first, second, third)}
        assert found == {first["id"]: "tampered", second["id"]: "misplaced", third["id"]: "trusted"}
    finally:
        one.clear()
