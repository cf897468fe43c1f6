"""Items like an item: by its rarest words, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye import Registry
from tests.support.embedders import Broken, Hashed
from tests.support.spacesim import SpaceSim, no_own_items

COMMON = "the agent reads this file and then writes another file for the agent"
TEXTS = {
    ("project", "knowledge/boat.md"): f"# Boats\n\n{COMMON} rudder keel anchor",
    ("project", "knowledge/ship.md"): f"# Ships\n\n{COMMON} rudder keel mast",
    ("project", "tools/sail.sh"): "# keel and canvas\ntrue\n",
    ("user", "knowledge/boat.md"): f"# Boats\n\n{COMMON} rudder keel anchor",
    ("user", "knowledge/wreck.md"): f"---\nstatus: superseded\n---\n\n# Wreck\n\n{COMMON} rudder keel anchor",
    **{("user", f"knowledge/other{n}.md"): f"# Other {n}\n\n{COMMON} unique{n}" for n in range(8)},
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Return the registry of a few items about boats and many about nothing."""
    sim = SpaceSim(tmp_path_factory.mktemp("sim"))
    for (source, path), text in TEXTS.items():
        sim.write(source, path, text)
    with no_own_items(tmp_path_factory.mktemp("none")):
        yield sim.registry()


def names(registry: Registry, item: str, **options: object) -> list[str]:
    """Return the names of what is like an item, best first."""
    return [f"{hit.type}:{hit.id}" for hit in registry.similar(item, **options).results]  # type: ignore[arg-type]


def test_an_item_is_not_like_itself_nor_its_copies(registry: Registry) -> None:
    """Neither the item nor what it shadows is a hit."""
    assert "knowledge:boat" not in names(registry, "boat", limit=100)
    assert "knowledge:boat" not in names(registry, "boat", space="user", limit=100)


def test_meaning_takes_the_place_of_words(tmp_path: Path) -> None:
    """By meaning, and by words with a warning where there is no embedder; the item itself is never a hit."""
    sim = SpaceSim(tmp_path, bundles=())
    for name, said in {"boat": "rudder keel anchor", "ship": "rudder keel mast", "cake": "flour butter sugar"}.items():
        sim.write("project", f"knowledge/{name}.md", f"# {name}\n\n{said}\n")
    sim.copy("project", "knowledge/boat.md", "knowledge/boat.md", to_source="user")
    with no_own_items(tmp_path / "none"):
        registry = sim.registry(embedder=Hashed())
        found = registry.similar("boat", mode="semantic")
        assert (found.search_type, found.method, found.stage) == ("semantic", "embedding", "similar")
        assert (found.results[0].id, found.warnings) == ("ship", ())
        assert "boat" not in {hit.id for hit in found.results}
        assert found.results[0].score > 0.3
        broken = sim.registry(embedder=Broken(0))
        found = broken.similar("boat", mode="semantic")
        assert [hit.id for hit in found.results] == [hit.id for hit in broken.similar("boat").results]
        assert (found.search_type, len(found.warnings)) == ("keyword", 1)
        assert found.warnings[0].startswith("items that share words instead of such that mean the same: ")
