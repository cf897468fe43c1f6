"""A parsed query for a reader."""

from __future__ import annotations

from collections.abc import Iterator

from rye.cli.terminal import Terminal
from rye.cli.text import block, inline
from rye.query.ast import Parsed

__all__ = ["render_dropped", "render_parsed"]


def render_parsed(parsed: Parsed, tree: str, terminal: Terminal) -> Iterator[str]:
    """Yield the canonical form, an empty line, and the tree as the query room draws it."""
    yield terminal.style(inline(str(parsed.ast)), bold=True)
    yield ""
    yield block(tree.rstrip("\n"))


def render_dropped(parsed: Parsed, terminal: Terminal) -> Iterator[str]:
    """Yield what lenient parsing left out or read differently."""
    for drop in parsed.dropped:
        what = f"{inline(drop.text)!r} " if drop.text else ""
        yield f"{terminal.style('warning:', 'yellow')} at {drop.position}: {what}{inline(drop.reason)}"
