"""Index figures as text: contents of the spaces, and state of the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rye._text import inline
from rye.cli.render.parts import table
from rye.cli.terminal import Terminal
from rye.surface.text import plural, size

if TYPE_CHECKING:
    from rye.cluster.publish import PublishReport
    from rye.index.build.refresh import RefreshReport
    from rye.index.vectors.vectors import VectorReport
    from rye.registry.reports import SpaceStatus


def render_status(spaces: Sequence[SpaceStatus], terminal: Terminal) -> Iterator[str]:
    """Yield a table with a line for each root, then one with a line for each embedding model."""
    rows = [
        (
            inline(space.source),
            inline(space.root),
            *map(str, (space.items, space.segments, space.generation)),
            size(space.bytes),
            inline(space.cache),
        )
        if space.exists
        else (inline(space.source), inline(space.root), "-", "-", "-", "not built", "-")
        for space in spaces
    ]
    head = ("source", "root", "items", "segments", "generation", "size", "cache")
    yield from _table(head, rows, terminal)
    made = [
        (
            inline(space.source),
            inline(vectors.model),
            *map(str, (vectors.vectors, vectors.items, vectors.missing)),
            size(vectors.bytes),
        )
        for space in spaces
        for vectors in space.vectors
    ]
    yield ""
    if made:
        yield from _table(("source", "model", "vectors", "of items", "items without", "size"), made, terminal)
    else:
        yield "no vectors; the first search by meaning makes them, or rye index vectors"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], terminal: Terminal) -> Iterator[str]:
    lines = table(head, rows, width=terminal.width)
    yield terminal.style(next(lines), bold=True)
    yield from lines


def render_rebuilt(report: RefreshReport) -> str:
    """Return a sentence on what a rebuild did."""
    if report.stale:
        return "not rebuilt: another process is writing the index"
    return f"indexed {plural(report.added + report.changed + report.unchanged, 'item')}"


def render_vectors(report: VectorReport) -> str:
    """Return a sentence on how many vectors there are now."""
    made = f"{plural(report.vectors, 'vector')} of {plural(report.items, 'item')}, made by {inline(report.model)}"
    return f"{made}; {plural(report.missing, 'item')} without" if report.missing else made


_SIGNS = {"add": "+", "change": "~", "remove": "-"}
_LISTED = 200


def render_published(report: PublishReport) -> list[str]:
    """Return a sentence on what was published; for a dry run, a line for each item that would change."""
    lines = [
        f"{_SIGNS[change.action]} {inline(f'{change.type}:{change.id}')}  {inline(change.path)}"
        for change in report.changes[:_LISTED]
    ]
    if (more := len(report.changes) - _LISTED) > 0:
        lines.append(f"and {more:,} more; --json lists all")
    would = "would be " if report.dry_run else ""
    counts = f"{report.added:,} {would}added, {report.changed:,} {would}changed, {report.removed:,} {would}removed"
    kept = f"{report.unchanged:,} unchanged"
    lines.append(f"{inline(report.registry)}: {plural(report.items, 'item')} of {report.owner}; {counts}, {kept}")
    return lines
