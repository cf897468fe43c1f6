"""Numbers drawn as bars."""

from __future__ import annotations

from rye.cli.terminal import Terminal

__all__ = ["bar"]

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int, terminal: Terminal) -> str:
    """Return a bar for a share from 0 to 1 of ``width`` cells; what is not nothing is at least a sliver."""
    share = min(max(share, 0.0), 1.0)
    if not terminal.unicode:
        return "#" * max(round(share * width), share > 0)
    eighths = max(round(share * width * 8), int(share > 0))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")
