"""``rye search`` without a query, on a terminal: search as you type, then the item that was chosen."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any

from rye.cli.options import Place, ask
from rye.cli.terminal import Terminal, say

if TYPE_CHECKING:
    from rye.registry import Registry

__all__ = ["answer_typed", "somebody_types"]

_BY_ITSELF = {"relax", "lenient"}
"""What searching half a query decides by itself."""


def somebody_types() -> bool:
    """Return whether somebody sits at a terminal that can be drawn on."""
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def answer_typed(place: Place, arguments: dict[str, Any]) -> int:
    """Let a person type a query and choose a hit, show that, and return the exit status.

    Args:
        place: Where to search.
        arguments: Of every search.
    """
    options = {name: value for name, value in arguments.items() if name not in _BY_ITSELF}

    def ready(registry: Registry) -> Registry:
        registry.search("", limit=1, **options)
        registry.max_staleness = math.inf
        return registry

    registry = ask(place, ready)
    from rye.cli.browse import Browser
    from rye.cli.render.show import render_item
    from rye.cli.screen import browse

    terminal = Terminal.of(sys.stdout)
    browser = Browser(registry, options, unicode=terminal.unicode)
    chosen = browse(browser, colour=terminal.colour)
    if chosen is None:
        return 1
    for line in render_item(browser.load(chosen), terminal):
        say(line)
    return 0
