"""Search by meaning on a real OpenSearch cluster: the same answers as at home, with the default embedder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from rye import Registry
from rye.embedding.choice import Choice
from rye.embedding.loader import is_there
from tests.benchmarks import laying
from tests.benchmarks.corpus import Corpus
from tests.weekly import test_cluster_equality as equality
from tests.weekly.test_cluster_equality import Questions

CLUSTER = os.environ.get("RYE_TEST_CLUSTER", "")
ITEMS = int(os.environ.get("RYE_TEST_CLUSTER_ITEMS", "400"))

pytestmark = [
    pytest.mark.skipif(not CLUSTER, reason="RYE_TEST_CLUSTER names no OpenSearch cluster to write to"),
    pytest.mark.skipif(not is_there(Choice()), reason="the default embedder is not installed"),
]

WORLD = {
    "release": "# Undo a release\n\nWhen a deployment breaks production, go back to the version before.\n\n"
    "## Databases\n\nMigrations are undone by hand.\n",
    "secrets": "# Keep passwords safe\n\nCredentials and tokens belong in the vault, never in a repository.\n",
    "cats": "# Cats\n\nKittens sleep most of the day, and purr when they are stroked.\n",
    "latency": "# Slow requests\n\nFind out why the service answers late: profile it, look at the traces.\n",
    "invoices": "# Bills\n\nCustomers pay what they owe within thirty days, or get a reminder.\n",
    "old-release": "---\nstatus: deprecated\n---\n# Rolling back by hand\n\nHow deployments were reverted.\n",
}
"""Items whose words mean something, beside those that are generated."""

SENTENCES = (
    "how do I roll back a broken deployment",
    "where should credentials be stored",
    "animals that sleep a lot",
    "why does my service answer so slowly",
    "reverting databse migrations by hand",
    "customers who do not pay their bills",
    "When a deployment breaks production, go back",
    "cats",
    "zzqx wvut",
)

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"explain": True},
    {"limit": 3, "offset": 2},
    {"include_superseded": True},
    {"threshold": 0.35},
    {"scope": "knowledge", "facets": "type,category"},
    {"relax": False},
    {"sort_by": "name"},
    {"filters": {"type": "knowledge"}},
)


class Both(NamedTuple):
    """One project, as it is on disk and as it is on the cluster."""

    folder: Path
    name: str
    home: Registry
    away: Registry


def places(folder: Path, embedder: str) -> dict[str, Any]:
    """Return where a registry is, and what it embeds with."""
    return {"user": folder / "home", "bundles": (), "cache_dir": folder / "cache", "embedder": embedder}


def clear(name: str) -> None:
    """Remove a registry."""
    from opensearchpy import OpenSearch

    host, _, port = CLUSTER.partition(":")
    client = OpenSearch([{"host": host, "port": int(port)}])
    for index in client.indices.get(index=f"{name}-*"):
        client.indices.delete(index=index)


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Yield items of every type, published with their vectors."""
    folder = tmp_path_factory.mktemp("meaning")
    laying.lay(Corpus(40).items(ITEMS), folder)
    for name, text in WORLD.items():
        path = folder / "project" / ".ai" / "knowledge" / "world" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    name, project = f"test-{uuid4().hex[:12]}", folder / "project"
    home = Registry(project, **places(folder, "wordllama"))
    address = f"opensearch+http://{CLUSTER}/{name}"
    report = home.publish(address, replicas=0, shards=2)
    assert report.warnings == ()
    assert home.publish(address).unchanged == report.items
    yield Both(folder, name, home, Registry(project, index=address, **places(folder, "wordllama")))
    clear(name)


def answer(registry: Registry, text: str, options: dict[str, Any]) -> Any:
    """Return the whole answer, but for its time, its paths, and the warning whose word it is."""
    found = equality.answer(registry, text, options)
    for result in found["results"] if isinstance(found, dict) else ():
        for trace in result.get("explain") or ():
            trace.update({name: round(trace[name], 5) for name in ("tf", "contribution", "weight", "unboosted")})
        # the last digits of a similarity depend on what is multiplied with it, so it may be rounded either way
        if result.get("similarity") is not None:
            result["similarity"] = round(result["similarity"], 3)
        if result.get("hybrid"):
            result["hybrid"] = {name: value for name, value in result["hybrid"].items() if name != "semantic"}
    return found


def asked() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield questions by meaning, and generated ones."""
    for text in SENTENCES:
        for mode in ("auto", "hybrid", "semantic"):
            yield from ((text, {"mode": mode, **options}) for options in OPTIONS)
    for text, options in Questions(11):
        yield from ((text, {**options, "mode": mode}) for mode in ("auto", "hybrid", "semantic"))


def equal(both: Both, asking: Callable[..., Any], questions: Iterable[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Return the answers at home to some questions; those of the cluster are the same, but for a few it refuses."""
    found, differ, refused = [], [], []
    for text, options in questions:
        home, away = (asking(one, text, options) for one in (both.home, both.away))
        found.append(home)
        if away == "not-on-cluster" != home:
            refused.append((text, options))
        elif home != away:
            differ.append((text, options))
    assert differ == []
    assert len(refused) < len(found) / 20, refused
    return found


def test_meaning_is_answered_as_at_home(both: Both) -> None:
    """Match sets, totals, order, scores, explanations, facets, suggestions, warnings."""
    assert len(equal(both, answer, asked())) > 300
