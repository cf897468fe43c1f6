"""Many texts → the chunks of each, as flat arrays: texts are joined and cut by C code, a chunk is analyzed once."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain, compress, count, islice, repeat

import numpy as np
import numpy.typing as npt

from rye.index import analysis
from rye.index.analysis import MAX_TERM, analyze_chunk, is_short
from rye.index.arrays import WORD, Ints, Numbering, Numbers, grown

# -- Many chunks → their tokens, by operations on joined text: what :func:`rye.index.analysis.analyze_chunk` says
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


_BLANK = " "
_IN_RUN = bytes(code < 128 and (chr(code).isalnum() or chr(code) in analysis.JOINERS) for code in range(256))
"""Whether each byte of ASCII text may stand in a chunk."""


class Interned(defaultdict[str, int]):
    """A dict that numbers its keys in the order in which they are first asked for."""

    def __init__(self, *first: str) -> None:
        super().__init__(count(len(first)).__next__, zip(first, range(len(first)), strict=True))
        self._taken = len(first)

    def taken(self) -> list[str]:
        """Return the keys numbered since this was asked before."""
        fresh = list(islice(reversed(self), len(self) - self._taken))
        self._taken = len(self)
        return fresh[::-1]


class Vocabulary:
    """The chunks that have been met; each is analyzed once.

    Attributes:
        terms: Term → number.
        starts: Tokens of chunk c are ``[starts[c], starts[c + 1])``. Chunk 0 is a run of joiners only, and has none.
        part_counts: Parts of each chunk.
        token_terms, token_offsets: Term number of each token, and its position relative to the chunk.
    """

    def __init__(self) -> None:
        self.terms = Interned()
        self.starts = array("i", [0, 0])
        self.part_counts = array("i", [0])
        self.token_terms = array("i")
        self.token_offsets = array("i")
        self._spellings = Interned("")
        self._runs = Numbering()
        self._chunk_of_run: Numbers = np.empty(0, np.int32)
        self._others: dict[str, int] = {}

    def read(self, texts: Sequence[str]) -> tuple[Numbers, Ints]:
        """Return the chunk numbers of all texts, one text after the other, and how many each text has."""
        joined = _BLANK.join(texts)
        if joined.isascii():
            return self._read_ascii(texts, joined)
        plain = [text.isascii() for text in texts]
        is_ascii = np.asarray(plain)
        mine = [text for text, short in zip(texts, plain, strict=True) if short]
        chunks, sizes = self._read_ascii(mine, _BLANK.join(mine))
        others = [
            analysis.chunks(analysis.normalize(text)) for text, short in zip(texts, plain, strict=True) if not short
        ]
        numbers = self._chunks_of_others(list(chain.from_iterable(others)))
        owners = np.concatenate(
            [np.repeat(np.flatnonzero(is_ascii), sizes), np.repeat(np.flatnonzero(~is_ascii), list(map(len, others)))]
        )
        order = np.argsort(owners, kind="stable")
        return np.concatenate([chunks, numbers])[order], np.bincount(owners, minlength=len(texts))

    def _read_ascii(self, texts: Sequence[str], joined: str) -> tuple[Numbers, Ints]:
        joined = f"{_BLANK}{joined}{_BLANK * WORD}"
        raw = joined.encode("ascii")
        inside = np.frombuffer(raw.translate(_IN_RUN), np.uint8)
        borders = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, stops = borders[::2], borders[1::2]
        sizes = stops - starts
        short = sizes <= analysis.MAX_TERM
        if short.all():
            chunks = self._chunks_of_runs(joined, raw, starts, stops)
        else:
            chunks = np.empty(len(starts), np.int32)
            chunks[short] = self._chunks_of_runs(joined, raw, starts[short], stops[short])
            chunks[~short] = self._chunks_of_others(_cut(joined, starts[~short], stops[~short]))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
        return chunks, np.diff(np.searchsorted(starts, ends), prepend=0)

    def _chunks_of_runs(self, text: str, raw: bytes, starts: Ints, stops: Ints) -> Numbers:
        """Return the chunk number of each run of word characters and joiners in ASCII text."""
        runs = self._runs.numbers(raw, starts, stops - starts)
        self._chunk_of_run = known = grown(self._chunk_of_run, len(self._runs), -1)
        chunks = known[runs]
        if len(fresh := np.flatnonzero(chunks < 0)):
            kinds, first = np.unique(runs[fresh], return_index=True)
            chosen = fresh[first]
            known[kinds] = self._learn(_cut(text, starts[chosen], stops[chosen]))
            chunks[fresh] = known[runs[fresh]]
        return chunks

    def _chunks_of_others(self, runs: Sequence[str]) -> Numbers:
        """Return the chunk number of each run that is not ASCII, or too long for a term."""
        known = self._others
        if fresh := [run for run in dict.fromkeys(runs) if run not in known]:
            known.update(zip(fresh, self._learn(fresh).tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, runs), np.int32, len(runs))

    def _learn(self, runs: Sequence[str]) -> Numbers:
        """Return the chunk number of each run, analyzing those that are spelled as none before."""
        spellings = spelled(list(map(str.strip, runs, repeat(analysis.JOINERS))))
        chunks = np.fromiter(map(self._spellings.__getitem__, spellings), np.int32, len(runs))
        terms, owners, offsets, counts = analyze_spelled(fresh := self._spellings.taken())
        numbers = np.fromiter(map(self.terms.__getitem__, terms), np.int32, len(terms))
        order = np.argsort(owners, kind="stable")
        self.token_terms.frombytes(numbers[order].tobytes())
        self.token_offsets.frombytes(offsets[order].astype(np.int32).tobytes())
        sizes = np.bincount(owners, minlength=len(fresh))
        self.starts.extend(accumulate(sizes.tolist(), initial=self.starts.pop()))
        self.part_counts.extend(counts.tolist())
        return chunks


def _cut(text: str, starts: Ints, stops: Ints) -> list[str]:
    return [text[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
