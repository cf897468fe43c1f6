"""Texts of items, pasted into a search, find their items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rye import Registry, SearchResult
from rye.errors import QueryError
from tests.weekly.test_published_bundles import published

__all__ = ["published"]  # a fixture

FIRST_PAGE = 10


def everything(registry: Registry) -> Iterator[SearchResult]:
    """Yield every item."""
    offset: int | None = 0
    while offset is not None:
        page = registry.search("", limit=100, offset=offset, include_superseded=True)
        yield from page.results
        offset = page.next_offset


def name(hit: SearchResult) -> tuple[str, str]:
    """Return the type and id of a hit."""
    return hit.type, hit.id


def texts(hit: SearchResult) -> Iterator[str]:
    """Yield the description of an item, its first paragraph, and commands, addresses and paths in it."""
    content = Path(hit.path).read_text(encoding="utf-8", errors="replace")
    body = re.sub(r"<!--.*?-->|```yaml\n.*?\n```", "", content, flags=re.DOTALL).strip()
    yield hit.description
    yield from [text.strip() for text in re.split(r"\n\s*\n", body) if len(text) > 30 and text[0] != "#"][:1]
    yield from re.findall(r"^\$ (.+)$", content, re.MULTILINE)[:3]
    yield from re.findall(r"https?://[^\s\"'<>`)\]]+|(?<![\w/.:-])[~.]{0,2}/?[\w.-]+(?:/[\w.-]+)+", body)[:5]


def lost(registry: Registry) -> list[tuple[str, str]]:
    """Search for the texts of all items; return those that neither find theirs nor suggest what does.

    Of paths, and of texts of three words, that few items have; nothing says that four plain words belong together.
    """
    missed = []
    for hit in everything(registry):
        for text in filter(None, texts(hit)):
            if re.fullmatch(r"\w+( \w+){0,3}", text) or (len(text.split()) < 3 and "/" not in text):
                registry.search(text)
                continue
            quoted = " ".join(re.findall(r"\w+", text))
            if re.search(r"(?:directive|tool|knowledge):\S", text):  # names another item
                continue
            try:
                found = registry.search(text, limit=FIRST_PAGE, include_superseded=True)
                suggestion = found.did_you_mean
            except QueryError as error:
                found, suggestion = None, error.suggestion
            if suggestion and not (found and name(hit) in map(name, found.results)):
                found = registry.search(suggestion, limit=FIRST_PAGE, include_superseded=True)
            if (found and name(hit) in map(name, found.results)) or len(text) > 1000:
                continue
            few = registry.search(f'"{quoted}"', limit=FIRST_PAGE + 1, include_superseded=True)
            if few.total <= FIRST_PAGE and name(hit) in map(name, few.results):
                missed.append((hit.id, text))
    return missed


def test_texts_of_our_own_items_find_them(tmp_path: Path) -> None:
    """Descriptions, first paragraphs and commands: none is an error, and what few items say finds these first."""
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    assert lost(Registry(nobody, user=nobody, cache_dir=tmp_path / "cache", max_staleness=float("inf"))) == []


def test_texts_of_published_bundles_find_them(published: Path, tmp_path: Path) -> None:
    """The same for the items of others."""
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    cache = tmp_path / "cache"
    registry = Registry(nobody, user=nobody, bundles=[published], cache_dir=cache, max_staleness=float("inf"))
    assert lost(registry) == []
