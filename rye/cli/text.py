"""Harmless text measured in terminal cells, wrapped and highlighted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from rye._text import block, inline, verbatim_json

__all__ = ["block", "cells", "inline", "pad", "passage", "verbatim_json"]

Spans: TypeAlias = Sequence[Sequence[int]]
Run: TypeAlias = tuple[str, bool]


def cells(text: str) -> int:
    """Return how many terminal cells harmless text takes."""
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def pad(text: str, width: int) -> str:
    """Return text filled up with blanks to ``width`` cells."""
    return text + " " * max(0, width - cells(text))


def passage(text: str, spans: Spans, *, light: Callable[[str], str], width: int | None) -> list[str]:
    """Return text as harmless lines of at most ``width`` cells with the characters in ``spans`` lighted.

    Args:
        text: As it stands in the item.
        spans: ``[start, end)`` character ranges of ``text``; what lies outside the text is ignored.
        light: How one harmless run of characters is made to stand out.
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


def _runs(word: str, lit: Iterable[int]) -> list[Run]:
    pairs = zip(word, lit, strict=True)
    return [(inline("".join(char for char, _ in group)), bool(bright)) for bright, group in groupby(pairs, _bright)]


def _bright(pair: tuple[str, int]) -> int:
    return pair[1]
