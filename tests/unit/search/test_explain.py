"""What decides between two hits, and the JSON of an explanation."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.spacesim import SpaceSim


def test_an_explanation_is_json_with_all_its_keys(tmp_path: Path) -> None:
    """Of a hit, and of an item that is none."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/a.md", "# Build\n\nBuild it.\n")
    sim.write("project", "knowledge/b.md", "# Notes\n\nHow to build.\n")
    registry = sim.registry()
    why = json.loads(json.dumps(registry.why("build", "a", space="project").to_dict()))
    assert set(why) == {
        "type", "id", "source", "query", "search_type", "stage", "total", "found", "rank", "hit", "clauses", "reasons",
        "meaning", "warnings",
    }  # fmt: skip
    assert (why["found"], why["rank"], why["total"], why["reasons"]) == (True, 1, 2, [])
    (clause,) = why["clauses"]
    assert set(clause) == {"text", "kind", "matched", "words", "note", "clauses"}
    assert clause["words"]["title"] == {"build": 1}
    missed = registry.why("notes -build", "b").to_dict()
    assert (missed["found"], missed["rank"], missed["hit"]) == (False, None, None)
    assert [(reason["code"], reason["clause"]) for reason in missed["reasons"]] == [("excluded", "build")]
    assert set(missed["reasons"][0]) == {"code", "clause", "message"}
