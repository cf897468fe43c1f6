"""A search response for a reader: header, hits, notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from rye.cli.render.explain import contrast_line, render_explained
from rye.cli.render.facets import render_facets
from rye.cli.render.parts import source_label, standing, verdict_label, warning_lines
from rye.cli.terminal import Terminal
from rye.cli.text import Spans, cells, inline, passage
from rye.search.explanation import contrast
from rye.search.results import HybridMatch, SearchResponse, SearchResult

__all__ = ["render_ids", "render_notes", "render_search", "render_similar"]

_INDENT = "    "
_SHARED = 10
_HOW_TO_SEE = dict.fromkeys(("superseded", "deprecated", "yanked"), "--include-superseded shows them")


def render_search(response: SearchResponse, terminal: Terminal, *, sort_by: str = "score") -> Iterator[str]:
    """Yield the header, every hit of the page, where explained with what puts it before the next, and the facets."""
    head = f"[{len(response.results)} of {response.total} results -- {inline(response.stage)}]"
    yield terminal.style(head, bold=True)
    digits = len(str(response.offset + len(response.results)))
    for rank, hit in enumerate(response.results, start=response.offset + 1):
        yield ""
        yield from _hit(f"{rank:>{digits}}.", hit, terminal)
        following = response.results[rank - response.offset : rank - response.offset + 1]
        if hit.explain and following:
            apart = contrast_line(contrast(hit, following[0], sort_by=sort_by), sort_by=sort_by)
            yield _INDENT + terminal.dim(f"before {rank + 1}.: {apart}")
    yield from render_facets(response.facets, terminal)


def render_similar(response: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield the header and every hit with the words that it shares."""
    plain = replace(response, results=tuple(replace(hit, explain=None) for hit in response.results))
    lines = list(render_search(plain, terminal))
    shared = iter(response.results)
    for at, line in enumerate(lines):
        yield line
        if at and (at + 1 == len(lines) or not lines[at + 1]):
            gains: defaultdict[str, float] = defaultdict(float)
            for trace in next(shared).explain or ():
                gains[trace.leaf] += trace.contribution if trace.words else 0.0
            words = ", ".join(
                inline(leaf) for leaf in sorted(filter(gains.get, gains), key=lambda leaf: -gains[leaf])[:_SHARED]
            )
            if words:
                yield f"{_INDENT}{terminal.dim('shares')} {words}"


def render_ids(response: SearchResponse) -> Iterator[str]:
    """Yield ``type:id`` of every hit."""
    for hit in response.results:
        yield f"{inline(hit.type)}:{inline(hit.id)}"


def render_notes(response: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield what there is to say about the search besides its hits."""
    yield from warning_lines(response.warnings, stale=response.stale, terminal=terminal)
    for reason, count in response.hidden.items():
        how = _HOW_TO_SEE.get(reason)
        yield f"hidden: {count} {inline(reason)}" + (f" ({how})" if how else "")
    if not response.results:
        yield _nothing(response)
    if response.did_you_mean:
        yield f"did you mean: {terminal.style(inline(response.did_you_mean), bold=True)}"
    if response.next_offset is not None:
        yield f"next page: --offset {response.next_offset}"


def _nothing(response: SearchResponse) -> str:
    if response.total:
        return f"nothing from offset {response.offset} on; the last of {response.total} hits is before it"
    where = f"scope {inline(response.scope)}, space {inline(response.space)}"
    return f"nothing found for {inline(response.query) or 'the empty query'} in {where}"


def _hit(rank: str, hit: SearchResult, terminal: Terminal) -> Iterator[str]:
    facts = [
        terminal.style(f"{inline(hit.type)}:{inline(hit.id)}", "cyan", bold=True),
        f"{hit.score:.4f}",
        *_nearness(hit),
        verdict_label(hit.signature, terminal),
        source_label(hit.source, hit.bundle),
    ]
    if hit.exact:
        facts.append(terminal.style("exact", "green"))
    yield f"{rank} {'  '.join(facts)}"
    named = "title" if hit.title else "description"
    if getattr(hit, named):
        yield from _indented(getattr(hit, named), hit.highlights.get(named, ()), terminal)
    shown = "preview" if hit.preview else "description"
    if shown != named and not (named == "description" and hit.description.startswith(hit.preview.rstrip("…"))):
        yield from _indented(getattr(hit, shown), hit.highlights.get(shown, ()), terminal)
    if hit.hybrid is not None:
        yield from _fused(hit.hybrid)
    for word, sources in (("shadows", hit.shadows), ("shadowed by", hit.shadowed_by)):
        if sources:
            yield _INDENT + terminal.style(f"{word} {inline(', '.join(sources))}", "magenta")
    if hit.states:
        yield _INDENT + standing(hit.states, hit.successor, terminal)
    if hit.explain is not None:
        yield from render_explained(hit, terminal, _INDENT)


def _nearness(hit: SearchResult) -> Iterator[str]:
    """Yield what a search by meaning says of a hit beside its score."""
    if hit.hybrid is not None:
        yield f"({hit.hybrid.total:g}% total)"
    elif hit.similarity is not None:
        yield f"similarity {hit.similarity:.4f}"


def _fused(match: HybridMatch) -> Iterator[str]:
    """Yield the scores of a hybrid hit and what matched."""
    yield f"{_INDENT}Semantic: {match.semantic:g}% | Keyword: {match.keyword:g}%"
    parts = (
        ("Header", match.header),
        ("Matched symbols", ", ".join(match.matched_symbols)),
        ("Definition lines", ", ".join(match.definition_lines)),
    )
    yield from (f"{_INDENT}{name}: {inline(text)}" for name, text in parts if text)


def _indented(text: str, spans: Spans, terminal: Terminal) -> Iterator[str]:
    width = None if terminal.width is None else terminal.width - cells(_INDENT)
    for line in passage(text, spans, light=terminal.light, width=width):
        yield _INDENT + line
