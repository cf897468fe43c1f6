"""``Registry.search`` over three signed spaces: each parameter of the contract, and each fact of a hit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from rye import QueryError, Registry, SearchResponse, SearchResult
from tests.support.signed import ANN, WHEN
from tests.support.spacesim import FURNITURE, SpaceSim, furnish, no_own_items

SEED_RESULT = ("id", "name", "description", "category", "score", "type", "source", "preview")
SEED_RESPONSE = ("results", "total", "query", "scope", "space", "limit", "offset", "search_type")


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceSim]:
    """Lay three spaces of signed and unsigned items; tests of this module only read them."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "none").mkdir()
    with no_own_items(folder / "none"):
        sim = SpaceSim(folder)
        furnish(sim)
        yield sim


@pytest.fixture(scope="module")
def registry(sim: SpaceSim) -> Registry:
    """Return one registry for all tests."""
    return sim.registry()


def keys(response: SearchResponse) -> list[str]:
    """Return ``source/id`` of each hit."""
    return [f"{hit.source}/{hit.id}" for hit in response.results]


def only(response: SearchResponse) -> SearchResult:
    """Return the one hit."""
    (hit,) = response.results
    return hit


# shape


def test_the_response_has_the_fields_of_the_contract(registry: Registry) -> None:
    """The eight fields of each object come first, then ours; ``to_dict`` is the JSON of every surface."""
    response = registry.search("read file", scope="tool", limit=2)
    data = response.to_dict()
    assert set(SEED_RESPONSE) < set(data)
    assert {"stage", "warnings", "did_you_mean", "stale", "took_ms", "next_offset", "hidden"} < set(data)
    assert (data["query"], data["scope"], data["space"], data["limit"]) == ("read file", "tool", "all", 2)
    assert (data["offset"], data["search_type"], data["stage"], data["next_offset"]) == (0, "keyword", "all", 2)
    assert json.loads(json.dumps(data)) == data
    for hit in data["results"]:
        assert set(SEED_RESULT) < set(hit)
        assert set(hit) == {field.name for field in fields(SearchResult)} - {"explain", "similarity", "hybrid"}
        assert 0.0 <= hit["score"] < 1.0
        assert round(hit["score"], 4) == hit["score"]
    assert "explain" in registry.search("read", explain=True).to_dict()["results"][0]


def test_what_a_hit_says_of_itself(sim: SpaceSim, registry: Registry) -> None:
    """Every fact of a signed tool, from metadata, place, code and signature."""
    hit = only(registry.search("read file", scope="tool", space="project"))
    assert (hit.type, hit.id, hit.name, hit.title) == ("tool", "rye/file-system/read", "read", "")
    assert (hit.description, hit.category, hit.version) == ("Read the contents of a file.", "rye/file-system", "1.2.0")
    assert (hit.source, hit.bundle, hit.tags) == ("project", "", ("files", "io"))
    assert hit.path == str(sim.path("project", "tools/rye/file-system/read.py"))
    assert hit.shadows == ("user", "system:shop")
    assert hit.shadowed_by == ()
    assert [(symbol.name, symbol.line, symbol.end_line) for symbol in hit.symbols] == [("read_file", 9, 11)]
    signature = hit.signature
    assert (str(signature.verdict), signature.code, signature.owner) == ("trusted", "ok", "ann")
    assert (signature.signer, signature.format, signature.signed_at) == (ANN.public.fingerprint, "v2", WHEN)


def test_previews_and_highlights_show_what_matched(registry: Registry) -> None:
    """The preview is the best passage; ranges cut out the matched words; the signature line is never shown."""
    hit = only(registry.search("temporary", scope="knowledge"))
    assert "Never use a temporary file" in hit.preview
    assert [hit.preview[start:end] for start, end in hit.highlights["preview"]] == ["temporary"]
    assert "content" in hit.matched_fields
    hit = only(registry.search("title:new AND description:files"))
    assert hit.matched_fields == ("title", "description")
    assert [hit.title[start:end] for start, end in hit.highlights["title"]] == ["New"]
    for hit in registry.search("*", limit=1000).results:
        assert "rye:signed" not in json.dumps(hit.to_dict())
        assert len(hit.preview) <= 200


def test_a_signature_line_is_not_found(registry: Registry) -> None:
    """Neither its words nor its digits are text of the item."""
    for text in ("signed", ANN.public.fingerprint, ANN.public.fingerprint[:16], WHEN, "v2"):
        assert registry.search(f'"{text}"', relax=False).total == 0
    assert registry.search(f"signer:{ANN.public.fingerprint}").total == 3
    assert registry.search(f"signer:{ANN.public.fingerprint[:8]}*", include_superseded=True).total == 5


# the queries of the contract


def test_nothing_asked_is_everything_in_scope(registry: Registry) -> None:
    """An empty query, ``*`` and blanks: all items that are not withdrawn, score 1, by space and then id."""
    everything = registry.search("", limit=100)
    assert everything.total == len(FURNITURE) - 2
    assert {hit.score for hit in everything.results} == {1.0}
    assert keys(everything) == keys(registry.search("*", limit=100)) == keys(registry.search("  ", limit=100))
    assert [hit.source for hit in everything.results] == ["project"] * 3 + ["user"] * 2 + ["system"] * 2
    assert keys(everything)[:3] == sorted(keys(everything)[:3])


# narrowing


@pytest.mark.parametrize(
    ("scope", "resolved", "count"),
    [
        ("*", "*", 7),
        ("rye.search.*", "*", 7),
        ("tool", "tool", 3),
        ("tool.*", "tool", 3),
        ("rye.search.tool.*", "tool", 3),
        ("tool.rye.*", "tool.rye.*", 3),
        ("tool.rye.file-system.*", "tool.rye.file-system.*", 3),
        ("rye.search.tool.rye.file-system.*", "tool.rye.file-system.*", 3),
        ("tool.rye.file-*", "tool.rye.file-*", 3),
        ("tool.rye.file.*", "tool.rye.file.*", 0),
        ("tool.rye.file-system.read", "tool.rye.file-system.read", 3),
        ("knowledge,directive", "knowledge,directive", 4),
        ("knowledge.notes.*, directive", "knowledge.notes.*,directive", 3),
        ("tool,*", "*", 7),
    ],
)  # fmt: skip
def test_scopes(registry: Registry, scope: str, resolved: str, count: int) -> None:
    """Types, namespaces, the capability form, several with commas; the response gives the resolved one."""
    response = registry.search("", scope=scope, limit=100)
    assert (response.total, response.scope) == (count, resolved)


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"version": "1.2.0"}, 1),
        ({"version": ">=1.2"}, 3),
        ({"version": "<1.2"}, 1),
        ({"version": ["0.9", "1.10.0"]}, 2),
        ({"version": "!0.9"}, 3),
        ({"category": "rye/file-system"}, 3),
        ({"category": "!rye/file-system"}, 4),
        ({"tags": "io"}, 3),
        ({"tags": ["io", "none"]}, 3),
        ({"priority": 2}, 1),
        ({"priority": ">2"}, 1),
        ({"date_from": "2026-02"}, 1),
        ({"date_to": "2026-01"}, 1),
        ({"date_from": "2026-01", "date_to": "2026"}, 2),
        ({"is": "trusted"}, 4),
        ({"verdict": "untrusted"}, 1),
        ({"is": "!trusted"}, 3),
        ({"type": "tool", "version": ">1", "is": "trusted"}, 2),
        ({"name": "READ"}, 3),
        ({"version": "9"}, 0),
    ],
    ids=str,
)  # fmt: skip
def test_filters(registry: Registry, filters: dict[str, Any], count: int) -> None:
    """Exact, any of several, not, compared; an item without the field does not match, and all must match."""
    assert registry.search("", filters=filters, limit=100).total == count


# order


def test_pages_are_parts_of_one_order(registry: Registry) -> None:
    """Page after page gives the whole list, in each of the three orders; beyond the end there is nothing."""
    for sort_by in ("score", "name", "date"):
        whole = keys(registry.search("*", sort_by=sort_by, limit=1000))
        pages, offset = [], 0
        while True:
            page = registry.search("*", sort_by=sort_by, limit=3, offset=offset)
            pages += keys(page)
            assert page.total == len(whole)
            if page.next_offset is None:
                break
            offset = page.next_offset
        assert pages == whole
    beyond = registry.search("*", offset=1000)
    assert (beyond.results, beyond.total, beyond.next_offset) == ((), 7, None)


def test_orders(registry: Registry) -> None:
    """By name then space; newest first with undated last; by score with the exact id or name first."""
    names = [hit.name for hit in registry.search("*", sort_by="name").results]
    assert names == sorted(names)
    dates = [hit.id for hit in registry.search("*", sort_by="date").results]
    assert dates[:2] == ["notes/new", "notes/best"]
    response = registry.search("orchestrator")
    assert (response.results[0].exact, response.results[0].id) == (True, "threads/orchestrator")
    by_id = registry.search("Notes/BEST")
    assert (by_id.results[0].exact, by_id.results[0].id) == (True, "notes/best")
    ties = [hit.source for hit in registry.search("name:read", scope="tool").results]
    assert ties == ["project", "user", "system"]


def test_case_does_not_matter_in_the_name_of_a_field(tmp_path: Path) -> None:
    """Nor in a metadata key, unless two differ only in that; in a query, `fields`, `filters` and `facets` alike."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "knowledge/a.md", "---\ntitle: Alpha\nteam: Web\nOwner: Ann\nowner: Bea\n---\n\nText.\n")
    found = sim.registry()
    for name, value in (("TITLE", "alpha"), ("Team", "web"), ("Owner", "ann"), ("owner", "bea")):
        assert found.search(f"{name}:{value}", relax=False, space="project").total == 1
        assert found.search("", fields={name: value}, relax=False, space="project").total == 1
        assert found.search("", filters={name: value}, space="project").total == 1
    assert dict(found.search("", facets=["TEAM"], space="project").facets["team"].values) == {"web": 1}
    with pytest.raises(QueryError, match="there is no field 'OWNER'"):
        found.search("OWNER:ann", relax=False, space="project")


# typos and nearness
