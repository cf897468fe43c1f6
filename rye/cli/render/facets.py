"""Facets for a reader: every value with its number and a bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rye.cli.render.bars import bar
from rye.cli.terminal import Terminal
from rye.cli.text import cells, inline, pad
from rye.search.facets import Facet

__all__ = ["render_facets"]

_BAR = 20
_LONGEST = 48
_FINGERPRINT = 17
"""Cells of the 16 digits by which people know a key."""


def render_facets(facets: Mapping[str, Facet], terminal: Terminal) -> Iterator[str]:
    """Yield a block for each facet, an empty line before it."""
    for name, facet in facets.items():
        yield ""
        yield terminal.style(inline(name), bold=True)
        yield from _values(facet, terminal, longest=_FINGERPRINT if name == "signer" else _LONGEST)


def _values(facet: Facet, terminal: Terminal, *, longest: int) -> Iterator[str]:
    rows = [(_short(value, longest), count) for value, count in facet.values]
    if not rows:
        yield f"  {terminal.dim('no match has any')}"
        return
    width, digits = max(cells(value) for value, _ in rows), len(str(rows[0][1]))
    for value, count in rows:
        drawn = terminal.style(bar(count / rows[0][1], _BAR, terminal), "cyan")
        yield f"  {pad(value, width)}  {count:>{digits}}  {drawn}"
    if facet.other_values:
        yield terminal.dim(f"  and {facet.other_values} more, {facet.others} together")
    if facet.missing:
        yield terminal.dim(f"  none: {facet.missing}")


def _short(value: str, longest: int) -> str:
    shown = inline(value)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
