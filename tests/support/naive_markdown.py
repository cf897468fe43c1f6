"""Finds headings with ``markdown-it-py``, another implementation of CommonMark."""

from __future__ import annotations

from markdown_it import MarkdownIt

__all__ = ["headings"]

_COMMONMARK = MarkdownIt("commonmark").enable("table")
_COMMONMARK.core.ruler.enableOnly(["normalize", "block"])


def headings(body: str) -> list[tuple[int, str, int]]:
    """Return level, text with single spaces, and 0-based line of every heading outside quotes."""
    found, quotes, tokens = [], 0, _COMMONMARK.parse(body)
    for place, token in enumerate(tokens):
        quotes += token.nesting if token.type.startswith("blockquote") else 0
        if token.type == "heading_open" and not quotes and token.map:
            found.append((int(token.tag[1]), " ".join(tokens[place + 1].content.split()), token.map[0]))
    return found
