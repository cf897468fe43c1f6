"""References in columns: what there is no room for is counted, by a build and by a merge alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye import Registry
from rye.index import relation_columns
from tests.support.spacesim import SpaceSim


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay ten items, each of which refers to five that are not there and to one that all refer to."""
    found = SpaceSim(tmp_path)
    for number in range(10):
        refs = ", ".join([*(f"gone/{number}-{each}" for each in range(5)), "many/0"])
        found.write("project", f"knowledge/many/{number}.md", f"---\nreferences: [{refs}]\n---\n\nText.\n")
    return found


def told(registry: Registry) -> list[int]:
    """Return how many references are said to be left out: by a search for relations, by one with a filter, by refs."""
    asked = (
        registry.search("is:dangling"),
        registry.search("text", filters={"references": "many/0"}),
        registry.refs("knowledge:many/0"),
    )
    said = [[text for text in each.warnings if "references are left out" in text] for each in asked]
    return [int(texts[0].split()[0].replace(",", "")) if texts else 0 for texts in said]


@pytest.mark.parametrize(("limit", "most"), [("MAX_SPACE_TARGETS", 11), ("MAX_SPACE_REFERENCES", 20)])
def test_what_a_hostile_space_refers_to_is_bounded_and_counted(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """In one build, and after many small segments were merged; all else is found as ever."""
    monkeypatch.setattr(relation_columns, limit, most)
    registry = sim.registry(bundles=())
    assert registry.search("text", scope="knowledge").total == 10
    assert told(registry) == [40] * 3
    assert not [text for text in registry.search("text").warnings if "left out" in text]
    for number in range(12):
        sim.write("project", f"knowledge/more/{number}.md", f"---\nreferences: more/x{number}\n---\n\nText.\n")
        registry.refresh()
    first, *others = told(registry)
    assert others == [first] * 2
    assert first >= 40


def test_nothing_is_said_where_all_references_are_kept(sim: SpaceSim) -> None:
    """The usual case."""
    assert told(sim.registry(bundles=())) == [0, 0, 0]
