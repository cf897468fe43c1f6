"""Sections for a reader: where each stands, what proves it, and its text."""

from __future__ import annotations

from collections.abc import Iterator

from rye._text import block
from rye.cli.render.parts import standing, verdict_label
from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.search.results import SectionHit, SectionResponse

__all__ = ["render_notes", "render_sections"]

_INDENT = "    "
_ANCHOR = 12
"""Digits of an anchor that are shown."""


def render_sections(response: SectionResponse, terminal: Terminal, *, snippets: bool) -> Iterator[str]:
    """Yield the header and every section."""
    head = f"[{len(response.results)} of {response.total} sections -- {inline(response.search_type)}]"
    yield terminal.style(head, bold=True)
    for rank, hit in enumerate(response.results, start=1):
        yield ""
        yield from _section(f"{rank:>{len(str(len(response.results)))}}.", hit, terminal, snippets=snippets)


def _section(rank: str, hit: SectionHit, terminal: Terminal, *, snippets: bool) -> Iterator[str]:
    facts = [
        terminal.style(f"{inline(hit.type)}:{inline(hit.id)}", "cyan", bold=True),
        f"{hit.score:.4f}",
        verdict_label(hit.signature, terminal),
        inline(hit.source_handle),
        standing(hit.states, hit.successor, terminal),
    ]
    yield f"{rank} {'  '.join(filter(None, facts))}"
    yield _INDENT + terminal.style(inline(" > ".join(hit.heading_path)), bold=True)
    yield _INDENT + terminal.dim(f"{inline(hit.path)}:{hit.line}-{hit.end_line}  anchor {hit.anchor[:_ANCHOR]}")
    for line in [inline(hit.snippet)] if snippets else block(hit.text).splitlines():
        yield f"{_INDENT}{line}".rstrip()
    if hit.truncated:
        yield _INDENT + terminal.dim(f"… {hit.original_chars - len(hit.text):,} more characters")


def render_notes(response: SectionResponse, terminal: Terminal) -> Iterator[str]:
    """Yield what there is to say besides the sections."""
    warning = terminal.style("warning:", "yellow")
    if response.stale:
        yield f"{warning} the index could not be refreshed; an older state of the files answered"
    for text in response.warnings:
        yield f"{warning} {inline(text)}"
    for reason, count in response.hidden.items():
        yield f"hidden: {count} {inline(reason)} (--include-superseded shows them)"
    if not response.results:
        yield f"no section found for {inline(response.query)}"
