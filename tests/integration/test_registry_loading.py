"""``Registry.load`` and ``find``: the content of one item with the verdict on exactly that content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye import ItemError, Registry
from tests.support.spacesim import SpaceSim, furnish, no_own_items


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay three spaces of signed and unsigned items."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        sim = SpaceSim(tmp_path)
        furnish(sim)
        yield sim


@pytest.fixture
def registry(sim: SpaceSim) -> Registry:
    """Return a registry of them."""
    return sim.registry()


@pytest.mark.parametrize(
    "name",
    [
        "@tool:rye/file-system/read",
        "rye/file-system/read.py",
        "tool:rye/file-system/read#fn",
        "@rye/file-system/read.py#fn",
    ],
)
def test_references_as_people_write_them_find_and_load_their_item(registry: Registry, name: str) -> None:
    """The search has it first, in every copy; all answers warn of the reading, and strict searches do without it."""
    found = registry.search(name)
    assert (found.results[0].id, found.results[0].exact) == ("rye/file-system/read", True)
    assert "read as a reference to" in str(found.warnings)
    assert not any(hit.exact for hit in registry.search(name, relax=False).results)
    for answer in (registry.get(name), registry.refs(name), registry.why("read", name)):
        assert "read as a reference to tool:rye/file-system/read" in answer.warnings
    assert "read as a reference" not in str(registry.get("tool:rye/file-system/read").warnings)


def test_what_is_loaded_is_what_was_verified(sim: SpaceSim) -> None:
    """A registry that never scans again reads the file now: new content comes with its own verdict."""
    registry = sim.registry(max_staleness=float("inf"))
    assert str(registry.get("tool:rye/file-system/read").signature.verdict) == "trusted"
    path = sim.path("project", "tools/rye/file-system/read.py")
    path.write_bytes(path.read_bytes() + b"evil()\n")
    loaded = registry.get("tool:rye/file-system/read")
    assert loaded.content.endswith("evil()\n")
    assert str(loaded.signature.verdict) == "tampered"
    path.write_bytes(b"\xff")
    with pytest.raises(ItemError):
        registry.get("tool:rye/file-system/read")
    path.unlink()
    with pytest.raises(ItemError) as caught:
        registry.get("tool:rye/file-system/read")
    assert caught.value.code == "vanished"
    assert sim.registry().get("tool:rye/file-system/read").space == "user"


def test_an_id_that_two_files_of_one_space_have(sim: SpaceSim, registry: Registry) -> None:
    """Both are found and verified; which of them to load is unclear, and the error names both."""
    sim.write("project", "tools/rye/file-system/read.yaml", "description: Read as data\n")
    asked = registry.search("*", scope="tool.rye.*", space="project").results
    assert sorted(Path(hit.path).suffix for hit in asked) == [".py", ".yaml"]
    assert len(registry.verify("tool:rye/file-system/read", space="project").items) == 2
    with pytest.raises(ItemError) as caught:
        registry.get("tool:rye/file-system/read")
    assert caught.value.code == "ambiguous-item"
    assert all(f"read{suffix}" in caught.value.message for suffix in (".py", ".yaml"))
    assert registry.get("tool:rye/file-system/read", "user").space == "user"
