"""Shared pieces of answers: text measured in terminal cells, tables, bars, labels, warnings, errors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import click

from rye._text import column, inline
from rye.cli.terminal import Terminal, cells, cut, note_line, pad
from rye.errors import QueryError, RyeError
from rye.surface.hits import Spans
from rye.surface.text import error_notes, lifecycle_label, verdict_text

if TYPE_CHECKING:
    from rye.registry.relations import RelatedItem
    from rye.search.contract.results import SearchResult, SectionHit
    from rye.trust.model import Signature


def passage(text: str, spans: Spans, *, light: Callable[[str], str], width: int | None) -> list[str]:
    """Return text as escaped lines of at most ``width`` cells with the characters in ``spans`` highlighted.

    Args:
        text: Text of an item.
        spans: ``[start, end)`` character ranges of ``text``; ranges outside the text are ignored.
        light: Highlights a run of escaped characters.
        width: Cells of a line; None for one line of any length. A longer word has a line of its own.
    """
    lit = bytearray(len(text))
    for start, end in spans:
        for at in range(max(0, start), min(end, len(text))):
            lit[at] = 1
    lines: list[str] = []
    line, used = "", 0
    for word in re.finditer(r"\S+", text):
        runs = _runs(word[0], lit[word.start() : word.end()])
        size = sum(cells(run) for run, _ in runs)
        shown = "".join(light(run) if bright else run for run, bright in runs)
        if line and width is not None and used + 1 + size > width:
            lines.append(line)
            line, used = shown, size
        elif line:
            line, used = f"{line} {shown}", used + 1 + size
        else:
            line, used = shown, size
    return [*lines, line] if line else lines


def _runs(word: str, lit: Iterable[int]) -> list[tuple[str, bool]]:
    pairs = groupby(zip(word, lit, strict=True), itemgetter(1))
    return [(inline("".join(char for char, _ in group)), bool(bright)) for bright, group in pairs]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> Iterator[str]:
    """Yield a head line and a line for each row.

    Lines of more than ``width`` cells are cut: first the last column, down to the width of its head, then the widest.
    """
    lines = [head, *rows]
    widths = [max(cells(line[at]) for line in lines) for at in range(len(head))]
    if width is not None:
        room = width - 2 * (len(head) - 1)
        widths[-1] = min(widths[-1], max(room - sum(widths[:-1]), cells(head[-1])))
        while sum(widths) > room and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
    for line in lines:
        yield "  ".join(pad(cut(cell, size), size) for cell, size in zip(line, widths, strict=True)).rstrip()


def verdict_label(signature: Signature, terminal: Terminal) -> str:
    """Return the mark, the verdict and, if the word alone is not enough, the reason code."""
    word = str(signature.verdict)
    return terminal.verdict(word) + verdict_text(word, signature.code).removeprefix(word)


def standing_label(item: SearchResult | SectionHit | RelatedItem, terminal: Terminal) -> str:
    """Return whether an item is superseded, deprecated or yanked, and its successor; empty for other items."""
    return terminal.style(lifecycle_label(item.states, item.successor), "magenta")


def named_audience() -> str:
    """Return the ``--audience`` of the command line, which a suggested command repeats."""
    context = click.get_current_context(silent=True)
    return (context.params.get("audience") if context else "") or ""


def shown_path(path: str) -> str:
    """Return a path relative to the working directory if it lies below it."""
    base = f"{os.getcwd()}{os.sep}"  # noqa: PTH109 - text, as the path is
    return path.removeprefix(base)


def location(path: str, line: int, terminal: Terminal) -> str:
    """Return ``path:line``, a link to the file on a terminal."""
    return terminal.link(terminal.dim(f"{inline(shown_path(path))}:{line}"), path)


def item_name(ref: str, path: str, terminal: Terminal, *, width: int = 0) -> str:
    """Return ``type:id``, a link to the file on a terminal, padded to ``width`` cells."""
    name = column(ref)
    return terminal.link(terminal.style(name, "cyan", bold=True), path) + " " * (width - cells(name))


def render_error(error: RyeError, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of an error."""
    for label, text in error_notes(error):
        if label == "place":
            assert isinstance(error, QueryError)
            yield from _place(error, terminal)
        else:
            yield note_line(label, text, terminal) if label else f"  {inline(text)}"


def _place(error: QueryError, terminal: Terminal) -> Iterator[str]:
    """Draw the caret again, because an escaped or wide character before it takes more than one cell."""
    width = max(20, (terminal.width or 100) - 4)
    line, _, marks = error.caret(width).partition("\n")
    start = len(marks) - len(marks.lstrip())
    parts = (line[:start], line[start : start + len(marks.strip())], line[len(marks) :])
    before, token, after = (" ".join(map(inline, part.split(" "))) for part in parts)  # runs of spaces are kept
    yield f"  {before}{token}{after}".rstrip()
    yield "  " + " " * cells(before) + terminal.style("^" * max(1, cells(token)), "red", bold=True)
