"""Text from items is hostile: here it is made harmless, measured in terminal cells, wrapped and highlighted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

__all__ = ["block", "cells", "inline", "pad", "passage", "verbatim_json"]

Spans: TypeAlias = Sequence[Sequence[int]]
Run: TypeAlias = tuple[str, bool]

_INVISIBLE = (
    r"\x7f-\x9f"  # DEL and the C1 controls, among them the one-character form of ESC [
    r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # direction overrides, separators, zero width
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"  # annotations, lone surrogates, tag characters
)
_UNSAFE_IN_BLOCK = re.compile(rf"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_UNSAFE_IN_JSON = re.compile(rf"[{_INVISIBLE}]")
_SPACE = re.compile(r"\s+")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def block(text: str) -> str:
    r"""Return text of several lines with every control and invisible character written out, as ``\x1b``."""
    return _UNSAFE_IN_BLOCK.sub(_escaped, text.replace("\r\n", "\n"))


def inline(text: str) -> str:
    """Return text for one line: as :func:`block`, every run of white space one blank."""
    return _UNSAFE_IN_BLOCK.sub(_escaped, _SPACE.sub(" ", text).strip())


def verbatim_json(dumped: str) -> str:
    r"""Return JSON text with the invisible characters that ``json`` leaves alone written as ``\uXXXX``."""
    return _UNSAFE_IN_JSON.sub(_json_escaped, dumped)


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
