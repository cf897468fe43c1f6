"""A search response for a reader: header, hits, notes."""

from __future__ import annotations

from collections.abc import Iterator

from rye.cli.render.parts import source_label, verdict_label
from rye.cli.render.table import table
from rye.cli.terminal import Terminal
from rye.cli.text import Spans, cells, inline, passage
from rye.search.results import SearchResponse, SearchResult

__all__ = ["render_ids", "render_notes", "render_search"]

_INDENT = "    "
_HOW_TO_SEE = dict.fromkeys(("superseded", "deprecated", "yanked"), "--include-superseded shows them")


def render_search(response: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield the header and every hit of the page."""
    head = f"[{len(response.results)} of {response.total} results -- {inline(response.stage)}]"
    yield terminal.style(head, bold=True)
    digits = len(str(response.offset + len(response.results)))
    for rank, hit in enumerate(response.results, start=response.offset + 1):
        yield ""
        yield from _hit(f"{rank:>{digits}}.", hit, terminal)


def render_ids(response: SearchResponse) -> Iterator[str]:
    """Yield ``type:id`` of every hit."""
    for hit in response.results:
        yield f"{inline(hit.type)}:{inline(hit.id)}"


def render_notes(response: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield what there is to say about the search besides its hits."""
    warning = terminal.style("warning:", "yellow")
    if response.stale:
        yield f"{warning} the index could not be refreshed; an older state of the files answered"
    for text in response.warnings:
        yield f"{warning} {inline(text)}"
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
    for word, sources in (("shadows", hit.shadows), ("shadowed by", hit.shadowed_by)):
        if sources:
            yield _INDENT + terminal.style(f"{word} {inline(', '.join(sources))}", "magenta")
    if hit.states:
        instead = f", see {inline(hit.successor)}" if hit.successor else ""
        yield _INDENT + terminal.style(f"{', '.join(hit.states)}{instead}", "magenta")
    if hit.explain is not None:
        yield from _explained(hit, terminal)


def _indented(text: str, spans: Spans, terminal: Terminal) -> Iterator[str]:
    width = None if terminal.width is None else terminal.width - cells(_INDENT)
    for line in passage(text, spans, light=terminal.light, width=width):
        yield _INDENT + line


def _explained(hit: SearchResult, terminal: Terminal) -> Iterator[str]:
    traces = hit.explain or ()
    if not traces:
        yield _INDENT + terminal.dim(f"no part of the query gives a score: {hit.score:.4f}")
        return
    rows = [
        (
            inline(trace.leaf),
            inline(trace.field),
            str(trace.df),
            f"{trace.idf:.4f}",
            f"{trace.boost:g}",
            f"{trace.tf:.4f}",
            f"{trace.contribution:.4f}",
        )
        for trace in traces
    ]
    rows.append(("", "", "", "", "", "sum", f"{sum(trace.contribution for trace in traces):.4f}"))
    for line in table(("leaf", "field", "df", "idf", "boost", "tf", "share"), rows, numbers=5):
        yield _INDENT + terminal.dim(line)
