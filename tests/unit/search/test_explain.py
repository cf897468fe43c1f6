"""What decides between two hits, and the JSON of an explanation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye.search.explain import contrast
from rye.search.results import SearchResult
from tests.support.spacesim import SpaceSim
from tests.unit.cli.samples import hit, trace

EXPLAINED = hit(score=0.75, explain=(trace("deploy", "title", 0.5), trace("ci", "tags", 0.25)))
OTHER = hit(id="demo/other", score=0.5, explain=(trace("deploy", "title", 0.125), trace("ci", "tags", 0.375)))


@pytest.mark.parametrize(
    ("first", "second", "sort_by", "decided_by"),
    [
        (EXPLAINED, OTHER, "score", "score"),
        (hit(exact=True), hit(score=0.9), "score", "exact"),
        (hit(), hit(score=0.9, states=("yanked",)), "score", "withdrawn"),
        (hit(), hit(updated="2025-01-01"), "date", "date"),
        (hit(name="A"), hit(name="b"), "name", "name"),
        (hit(name="A"), hit(name="a", id="demo/z"), "name", "id"),
        (hit(), hit(source="user"), "score", "space"),
        (hit(), hit(id="demo/z"), "date", "id"),
    ],
)
def test_what_decides_between_two_hits(
    first: SearchResult, second: SearchResult, sort_by: str, decided_by: str
) -> None:
    """What is asked for decides; where it is equal, the space, then the id."""
    assert contrast(first, second, sort_by=sort_by).decided_by == decided_by


def test_the_difference_of_scores_is_shared_out() -> None:
    """Only parts and fields in which the first hit gains more are named, the greatest gain first."""
    assert contrast(EXPLAINED, OTHER).to_dict() == {
        "decided_by": "score",
        "difference": 0.25,
        "shares": [{"clause": "deploy", "field": "title", "difference": 0.375}],
    }


def test_an_explanation_is_json_with_all_its_keys(tmp_path: Path) -> None:
    """A hit with a neighbour, and an item that is none; neighbours are the item with rank, score and contrast."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "knowledge/a.md", "# Build\n\nBuild it.\n")
    sim.write("project", "knowledge/b.md", "# Notes\n\nHow to build.\n")
    registry = sim.registry()
    why = json.loads(json.dumps(registry.why("build", "a", space="project").to_dict()))
    assert set(why) == {
        "type", "id", "source", "query", "search_type", "stage", "total", "found", "rank", "hit", "clauses", "reasons",
        "above", "below", "meaning", "warnings",
    }  # fmt: skip
    assert (why["found"], why["rank"], why["total"], why["above"], why["reasons"]) == (True, 1, 2, None, [])
    assert set(why["below"]) == {
        "type", "id", "source", "bundle", "rank", "score", "decided_by", "difference", "shares"
    }  # fmt: skip
    (clause,) = why["clauses"]
    assert set(clause) == {"text", "kind", "matched", "words", "note", "clauses"}
    assert clause["words"]["title"] == {"build": 1}
    missed = registry.why("notes -build", "b").to_dict()
    assert (missed["found"], missed["rank"], missed["hit"]) == (False, None, None)
    assert [(reason["code"], reason["clause"]) for reason in missed["reasons"]] == [("excluded", "build")]
    assert set(missed["reasons"][0]) == {"code", "clause", "message"}
