"""The state of the index for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rye.cli.render.parts import plural, size
from rye.cli.render.table import table
from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.registry.reports import RefreshReport, SpaceStatus, VectorReport

__all__ = ["render_rebuilt", "render_status", "render_vectors", "render_warnings"]


def render_status(spaces: Sequence[SpaceStatus], terminal: Terminal) -> Iterator[str]:
    """Yield a table with one line per space root, then one with a line for each model that vectors are of."""
    rows = [
        (inline(space.source), inline(space.root), *_figures(space), inline(space.cache) if space.exists else "-")
        for space in spaces
    ]
    head = ("source", "root", "items", "segments", "generation", "size", "cache")
    yield from _table(head, rows, terminal)
    made = [
        (inline(space.source), inline(one.model), *map(str, (one.vectors, one.items, one.missing)), size(one.bytes))
        for space in spaces
        for one in space.vectors
    ]
    yield ""
    if made:
        yield from _table(("source", "model", "vectors", "of items", "items without", "size"), made, terminal)
    else:
        yield "no vectors; the first search by meaning makes them, or rye index vectors"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal) -> Iterator[str]:
    lines = table(head, rows)
    yield terminal.style(next(lines), bold=True)
    yield from lines


def _figures(space: SpaceStatus) -> tuple[str, str, str, str]:
    if not space.exists:
        return "-", "-", "-", "not built"
    return str(space.items), str(space.segments), str(space.generation), size(space.bytes)


def render_rebuilt(report: RefreshReport) -> str:
    """Return what a rebuild did."""
    if report.stale:
        return "not rebuilt: another process is writing the index"
    return f"indexed {plural(report.added + report.changed + report.unchanged, 'item')}"


def render_vectors(report: VectorReport) -> str:
    """Return how many vectors there are now."""
    made = f"{plural(report.vectors, 'vector')} of {plural(report.items, 'item')}, made by {inline(report.model)}"
    return f"{made}; {plural(report.missing, 'item')} without" if report.missing else made


def render_warnings(warnings: Sequence[str], terminal: Terminal) -> Iterator[str]:
    """Yield each file that could not be read."""
    for text in warnings:
        yield f"{terminal.style('warning:', 'yellow')} {inline(text)}"
