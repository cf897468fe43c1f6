"""Many chunks → their tokens, by operations on joined text: what :func:`rye.index.analysis.analyze_chunk` says of each.

A chunk is first *spelled*: folded, with ``_`` between its parts and ``/`` between its segments, as in
``rye/file_system/read_all``. Chunks of one spelling have the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

from rye.index.analysis import MAX_TERM, analyze_chunk, is_short
from rye.index.packing import Ints

_ONE_JOINER = {ord("-"): "_", ord("."): "_"}
_TOO_MANY = ("__", "_/", "/_", "//")
_ONE_EACH = ((re.compile(r"_*/[_/]*"), "/"), (re.compile(r"__+"), "_"))

Bytes = npt.NDArray[np.uint8]


def _bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _are(characters: str) -> npt.NDArray[np.bool_]:
    """Return for every byte whether it is one of these."""
    return np.isin(np.arange(256), _bytes(characters))


_UPPER, _LOWER, _DIGIT = _are("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), _are("abcdefghijklmnopqrstuvwxyz"), _are("0123456789")
_MARK = _are("_/\n")
_UNDERSCORE, _NEWLINE = b"_\n"


def _all_short(texts: Sequence[str]) -> bool:
    """Return whether :func:`rye.index.analysis.is_short` is true of all."""
    return "".join(texts).isascii() and max(map(len, texts), default=0) < MAX_TERM


def spelled(chunks: Sequence[str]) -> list[str]:
    """Return how each of many chunks is spelled; one that is not ASCII, or too long, is its own spelling."""
    usual = _all_short(chunks)
    text = _parted("\n".join(chunks if usual else [chunk if is_short(chunk) else "" for chunk in chunks]))
    text = text.lower().translate(_ONE_JOINER)
    if any(marks in text for marks in _TOO_MANY):
        for pattern, instead in _ONE_EACH:
            text = pattern.sub(instead, text)
    spellings = text.split("\n")
    return spellings if usual else [spelling or chunk for chunk, spelling in zip(chunks, spellings, strict=True)]


def _parted(text: str) -> str:
    """Return ASCII text with ``_`` at the borders of camelCase, fooBar → foo_Bar and HTTPServer → HTTP_Server."""
    units = _bytes(f"{text}\n")
    before, here, after = units[:-2], units[1:-1], units[2:]
    borders = _UPPER[here] & (_LOWER[before] | _DIGIT[before] | (_UPPER[before] & _LOWER[after]))
    return np.insert(units[:-1], np.flatnonzero(borders) + 1, _UNDERSCORE).tobytes().decode("ascii")


def analyze_spelled(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the tokens of chunks given how they are spelled, in no order.

    Returns:
        The terms; which chunk each belongs to; its position relative to the chunk; and how many parts each chunk has.
    """
    usual = np.full(len(spellings), True)
    if not _all_short(spellings):
        usual[:] = list(map(is_short, spellings))
    single = np.fromiter(map(str.isalnum, spellings), bool, len(spellings)) & usual
    alone, several, others = map(np.flatnonzero, (single, usual & ~single, ~usual))
    counts = np.ones(len(spellings), np.int64)
    terms = [spellings[at] for at in alone.tolist()]
    chunks, offsets = [alone], [np.zeros(len(alone), np.int64)]
    if len(several):
        forms, owners, places, parts = _forms([spellings[at] for at in several.tolist()])
        terms += forms
        chunks.append(several[owners])
        offsets.append(places)
        counts[several] = parts
    for at in others.tolist():
        tokens = analyze_chunk(spellings[at])
        terms += [token.term for token in tokens]
        chunks.append(np.full(len(tokens), at))
        offsets.append(np.asarray([token.offset for token in tokens], np.int64))
        counts[at] = sum(token.part for token in tokens)
    return terms, np.concatenate(chunks), np.concatenate(offsets), counts


def _forms(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Do the same for chunks of several parts: the parts, all of them joined, and segments of more than one."""
    text = "\n".join(spellings)
    units = _bytes(text)
    marks = units[_MARK[units]]  # what stands between each two parts
    begins_chunk = np.concatenate([[True], marks == _NEWLINE])
    begins_segment = np.concatenate([[True], marks != _UNDERSCORE])
    owners, firsts, segments = np.cumsum(begins_chunk) - 1, np.flatnonzero(begins_chunk), np.flatnonzero(begins_segment)
    offsets, counts = np.arange(len(owners)) - firsts[owners], np.diff(firsts, append=len(owners))
    sizes = np.diff(segments, append=len(owners))
    inner = (sizes > 1) & (sizes < counts[owners[segments]])
    joined = text.replace("_", "")
    terms = text.replace("/", "_").replace("\n", "_").split("_")
    terms += joined.replace("/", "").split("\n")
    terms += compress(joined.replace("\n", "/").split("/"), inner.tolist())
    segments = segments[inner]
    return (
        terms,
        np.concatenate([owners, np.arange(len(firsts)), owners[segments]]),
        np.concatenate([offsets, np.zeros(len(firsts), np.int64), offsets[segments]]),
        counts,
    )
