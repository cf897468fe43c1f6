"""Columns of harmless text, aligned by terminal cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rye.cli.text import cells, pad

__all__ = ["table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> Iterator[str]:
    """Yield a head line and one line per row; the last ``numbers`` columns are set to the right."""
    lines = [head, *rows]
    widths = [max(cells(line[at]) for line in lines) for at in range(len(head))]
    for line in lines:
        columns = []
        for at, (text, width) in enumerate(zip(line, widths, strict=True)):
            right = at >= len(head) - numbers
            columns.append(" " * (width - cells(text)) + text if right else pad(text, width))
        yield "  ".join(columns).rstrip()
