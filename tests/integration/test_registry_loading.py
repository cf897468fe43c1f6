"""``Registry.load`` and ``find``: the content of one item with the verdict on exactly that content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye import ArgumentError, ItemError, NotFoundError, Registry
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


def test_loading_gives_content_and_verdict(sim: SpaceSim, registry: Registry) -> None:
    """Highest priority first, or of one space; the content is the file, signature line and all."""
    loaded = registry.get("tool:rye/file-system/read")
    path = sim.path("project", "tools/rye/file-system/read.py")
    assert (loaded.space, loaded.path, loaded.content) == ("project", str(path), path.read_text(encoding="utf-8"))
    assert (str(loaded.signature.verdict), loaded.shadows) == ("trusted", ("user", "system:shop"))
    user = registry.get("tool:rye/file-system/read", "user")
    assert (user.item.version, user.shadowed_by, user.shadows) == ("1.10.0", ("project",), ("system:shop",))
    system = registry.get("tool:rye/file-system/read", "system")
    assert (system.bundle, system.item.version) == ("shop", "0.9")
    assert registry.get("tool:rye/file-system/read", "system:shop") == system
    with pytest.raises(NotFoundError):
        registry.get("tool:rye/file-system/read", "system:rye")
    with pytest.raises(ArgumentError):
        registry.get("tool:rye/file-system/read", "system:none")
    data = loaded.to_dict()
    assert json.loads(json.dumps(data)) == data
    with pytest.raises(NotFoundError):
        registry.get("knowledge:rye/file-system/read")


def test_sources_name_every_root(registry: Registry, tmp_path: Path) -> None:
    """Highest priority first; a registry of nothing has a user space all the same."""
    assert registry.sources == ("project", "user", "system:rye", "system:shop")
    empty = Registry(tmp_path, user=tmp_path, bundles=(), cache_dir=tmp_path.parent / "empty-cache")
    assert empty.sources == ("project", "user")
    assert empty.search("anything").total == 0


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


def test_a_reference_is_read_for_no_other_item(sim: SpaceSim, registry: Registry) -> None:
    """An id that looks like a reference comes first; an extension must be that of the file, a type one that exists."""
    sim.write("project", "tools/rye/file-system/read.py.py", "print(1)\n")
    sim.write("project", "knowledge/rye/file-system/read.md", "# Reading\n\nOn files.\n")
    loaded = registry.get("tool:rye/file-system/read.py")
    assert (loaded.item.id, loaded.warnings) == ("rye/file-system/read.py", ())
    assert registry.search("rye/file-system/read.py").results[0].id == "rye/file-system/read.py"
    for name in ("tool:rye/file-system/read.sh", "tools:rye/file-system/read", "@nope:rye/file-system/read", "read#fn"):
        with pytest.raises((ArgumentError, NotFoundError)):
            registry.get(name)
    with pytest.raises(ArgumentError, match="names 2 items"):
        registry.get("@rye/file-system/read")


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


def test_content_is_the_text_of_the_file(sim: SpaceSim, registry: Registry) -> None:
    """Line breaks, a missing one at the end and odd characters stay; only a byte order mark is no text."""
    for text in ("a\r\nb\r\n", "no end", "\u202e\u0000\x1b[2J\n", "é\n"):
        sim.write("project", "knowledge/odd.md", text)
        assert registry.get("knowledge:odd").content == text
    sim.write("project", "knowledge/odd.md", b"\xef\xbb\xbf# Marked\n")
    assert registry.get("knowledge:odd").content == "# Marked\n"
    assert registry.get("knowledge:odd").item.title == "Marked"


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
