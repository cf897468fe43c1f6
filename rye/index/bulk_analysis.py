"""Many texts → the tokens of each as flat arrays, for indexing documents.

The idea: joined texts are cut by one comparison of neighbouring bytes, equal runs of bytes get equal numbers from a
hash table that is probed by whole arrays, and each distinct chunk is analyzed once, all new ones of a batch together,
by operations on joined text. No Python object is made per token; what is left per document is array arithmetic.

The invariant: whatever the company and the batch, a chunk has exactly the tokens that
:func:`rye.index.analysis.analyze_chunk` gives it. Chunks with signs, of mixed scripts or too long go through that one.

It pays from some twenty new chunks on, which is less than one document; a query analyzes its few words one by one.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, compress, count, islice
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
import numpy.typing as npt

from rye.index import analysis
from rye.index.analysis import (
    ONE_JOINER,
    OPERATOR_SIGNS,
    OPERATORS,
    SIGNS,
    Token,
    analyze_chunk,
    is_short,
)
from rye.index.arrays import Bools, Ints, Number

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_TOO_MANY = ("__", "_/", "/_", "//")
_ONE_EACH = ((re.compile(r"_*/[_/]*"), "/"), (re.compile(r"__+"), "_"))
"""Several joiners side by side, and the one that they count as."""

WORD = 8
"""Bytes behind the last run that are read and not looked at, at most."""

_LOWEST = np.asarray([(1 << 8 * size) - 1 for size in range(WORD + 1)], np.uint64)
"""Masks of the lowest 0 to 8 bytes of a word."""

_NUMBER = np.uint64(1 << 63)
"""Tells a number from a word, as the highest bit of ASCII text is never set."""

_LEAST_BITS = 12


def _bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode("ascii"), np.uint8)


_CLASSES = (ascii_uppercase, ascii_lowercase, digits, "_/\n")
_UPPER, _LOWER, _DIGIT, _MARK = (np.isin(np.arange(256), _bytes(each)) for each in _CLASSES)
"""Shape ``(256,)`` each: whether a byte is of the class."""
_UNDERSCORE, _NEWLINE = b"_\n"

_BLANK = " "
_SYMBOL = b"\x01\x02"
"""Bytes that stand for symbols, by turns, so that each of several side by side is a run of its own."""

_CLASS = bytes(
    _SYMBOL.find(code) + 2
    if code in _SYMBOL
    else int(code < 128 and (chr(code).isalnum() or chr(code) in analysis.JOINERS))
    for code in range(256)
)
"""Class of each byte of ASCII text: 0 between runs, 1 in a run of letters, digits and joiners, 2 and 3 a symbol."""

_AFTER_SIGN, _OPERATOR = 4, 8
"""Classes that mark a run behind ``C++``, added to that of its bytes, and an operator."""

_SIGN, _OPERATOR_SIGN = (
    bytes(code < 128 and chr(code) in each for code in range(256)) for each in (SIGNS, OPERATOR_SIGNS)
)
"""By byte: 1 for a sign, else 0."""
_IS_JOINER = np.isin(np.arange(256), _bytes(analysis.JOINERS))
_OPERATOR_CODES = np.asarray(sorted(int.from_bytes(each.encode(), "little") for each in OPERATORS), np.uint32)
_BY_ITSELF = "\0"
"""Before a chunk that is its own spelling."""

_FIRST_WIDE = 128


def spelled(chunks: Sequence[str]) -> list[str]:
    """Return the spelling of each chunk: its parts in lower case, between them ``_`` or ``/``.

    Chunks of one spelling have the same tokens, so only one of them is analyzed. A chunk that is not ASCII, too long
    for a term, or has signs is its own spelling, behind a mark.

        >>> spelled(["readAll", "read-all", "rye/HTTPServer"])
        ['read_all', 'read_all', 'rye/http_server']
    """
    # all chunks in one text, a line each; those that are their own spelling leave an empty line
    plain = [chunk[:1].isalnum() and chunk[-1] not in SIGNS and is_short(chunk) for chunk in chunks]
    text = _parted("\n".join([chunk if is_plain else "" for chunk, is_plain in zip(chunks, plain, strict=True)]))
    text = text.lower().translate(ONE_JOINER)
    if any(marks in text for marks in _TOO_MANY):
        for pattern, instead in _ONE_EACH:
            text = pattern.sub(instead, text)
    return [spelling or _BY_ITSELF + chunk for chunk, spelling in zip(chunks, text.split("\n"), strict=True)]


def _parted(text: str) -> str:
    """Return ASCII text with ``_`` at the borders fooBar → foo_Bar, HTTPServer → HTTP_Server and oauth2 → oauth_2."""
    units = _bytes(f"{text}\n")  # the newline is what follows the last character
    before, here, after = units[:-2], units[1:-1], units[2:]
    borders = _UPPER[here] & (_LOWER[before] | _DIGIT[before] | (_UPPER[before] & _LOWER[after]))
    borders[1:] |= _numbered(units)
    return np.insert(units[:-1], np.flatnonzero(borders) + 1, _UNDERSCORE).tobytes().decode("ascii")


def _numbered(units: Bytes) -> Bools:
    """Return of the third and each later byte but the last whether a number begins there that ends a piece."""
    letter, digit = _UPPER[units] | _LOWER[units], _DIGIT[units]
    begins = letter[:-3] & letter[1:-2] & digit[2:-1]
    places = np.flatnonzero(begins)
    others = np.flatnonzero(~digit)
    ends = others[np.searchsorted(others, places + 2)] if len(places) else places
    begins[places[letter[ends]]] = False
    return begins


def analyze_spelled(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the tokens of chunks given how they are spelled, in no order.

    Returns:
        The terms; which chunk each belongs to; its position relative to the chunk; and how many parts each chunk has.
    """
    # of most chunks the parts can be read off the spelling
    usual = np.asarray([spelling[0] != _BY_ITSELF for spelling in spellings], bool)
    single = np.fromiter(map(str.isalnum, spellings), bool, len(spellings)) & usual  # one part, the spelling itself
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
    sizes: list[int] = []
    places_of_others: list[int] = []
    for at in others.tolist():
        chunk, before = spellings[at][1:], len(terms)
        if analysis.is_row_of_letters(chunk):
            terms += chunk
            places_of_others += range(len(chunk))
            counts[at] = len(chunk)
            tokens = [Token(chunk, 0, part=False)] if len(chunk) > 1 else []
        else:
            tokens = analyze_chunk(chunk)
            counts[at] = sum(token.part for token in tokens)
        terms += [token.term for token in tokens]
        places_of_others += [token.offset for token in tokens]
        sizes.append(len(terms) - before)
    chunks.append(np.repeat(others, np.asarray(sizes, np.int64)))
    offsets.append(np.asarray(places_of_others, np.int64))
    return terms, np.concatenate(chunks), np.concatenate(offsets), counts


def _forms(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Do the same for chunks of several parts: the parts, all of them joined, and segments of more than one.

    Segments that end in a number are joined without it as well.

    For ``rye/file_system`` the parts are rye, file and system, the whole is ryefilesystem, the segment filesystem.
    """
    text = "\n".join(spellings)
    units = _bytes(text)
    marks = units[_MARK[units]]  # what stands between each two parts, of all chunks
    # per part of any chunk: does it begin a chunk, a segment; and the number of its chunk
    begins_chunk = np.concatenate([[True], marks == _NEWLINE])
    begins_segment = np.concatenate([[True], marks != _UNDERSCORE])
    owners, firsts, segments = np.cumsum(begins_chunk) - 1, np.flatnonzero(begins_chunk), np.flatnonzero(begins_segment)
    # per part: its position in its chunk; per chunk: its parts; per segment: its parts
    offsets, counts = np.arange(len(owners)) - firsts[owners], np.diff(firsts, append=len(owners))
    sizes = np.diff(segments, append=len(owners))
    # a segment is joined if it is neither one part, which is there already, nor the whole chunk
    inner = (sizes > 1) & (sizes < counts[owners[segments]])
    # a segment of letters that ends in a number is joined without that, too, unless one part is left
    is_number = np.bitwise_and.reduceat(_DIGIT[units] | _MARK[units], np.append(0, np.flatnonzero(_MARK[units]) + 1))
    words = np.append(0, np.cumsum(~is_number))  # before each part: how many are no numbers
    numbered = (sizes > len("ab")) & is_number[segments + sizes - 1] & (words[segments + sizes] > words[segments])
    joined = text.replace("_", "")
    parts = text.replace("/", "_").replace("\n", "_").split("_")
    whole = joined.replace("\n", "/").split("/")
    lasts = zip(np.flatnonzero(numbered).tolist(), (segments + sizes - 1)[numbered].tolist(), strict=True)
    terms = [
        *parts,
        *joined.replace("/", "").split("\n"),
        *compress(whole, inner.tolist()),
        *(whole[at][: -len(parts[last])] for at, last in lasts),
    ]
    of_segments = np.concatenate([segments[inner], segments[numbered]])
    return (
        terms,
        np.concatenate([owners, np.arange(len(firsts)), owners[of_segments]]),
        np.concatenate([offsets, np.zeros(len(firsts), np.int64), offsets[of_segments]]),
        counts,
    )


def grown(values: npt.NDArray[Number], size: int, fill: int) -> npt.NDArray[Number]:
    """Return an array with room for ``size`` values, or for twice as many where it has to be a new one."""
    if len(values) >= size:
        return values
    return np.concatenate([values, np.full(2 * size - len(values), fill, values.dtype)])


class Numbering:
    """Gives equal runs of ASCII bytes equal numbers, without an object for each: a hash table probed by whole arrays.

    A run is read as words of eight bytes. The first two are one key, which gets a number; that number and the next word
    are the key of the next step, and so on. So a number also stands for each beginning of a long run. Keys are compared
    whole: two that fall on one slot are distinguished, the later one moves on to the next slot (linear probing).

    The factors of the hash (multiply-shift: Dietzfelbinger and others, A Reliable Randomized Algorithm for the
    Closest-Pair Problem, 1997) are random, so that no file can be written whose words all fall on one slot.
    """

    def __init__(self) -> None:
        self._count = 1  # 0 marks a free slot
        self._before: Words = np.zeros(1, np.uint64)  # by number: the two words of its key
        self._word: Words = np.zeros(1, np.uint64)
        self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(2)]
        self._resize(_LEAST_BITS)

    def __len__(self) -> int:
        """Return a number above all that have been given."""
        return self._count

    def numbers(self, raw: bytes, starts: Ints, sizes: Ints) -> Int32s:
        """Return the number of each of some runs.

        Args:
            raw: ASCII text, with :data:`WORD` bytes behind the last run.
            starts: Where each run begins.
            sizes: How many bytes it has, at least one.
        """
        # the eight bytes that begin at every byte of the text, overlapping, without a copy
        words = np.ndarray((len(raw) - WORD + 1,), "<u8", raw, strides=(1,))
        rows = np.flatnonzero(sizes > WORD)
        second = np.zeros(len(starts), np.uint64)
        second[rows] = words[starts[rows] + WORD] & _LOWEST[np.minimum(sizes[rows] - WORD, WORD)]
        found = self._step(words[starts] & _LOWEST[np.minimum(sizes, WORD)], second)
        at = 2 * WORD
        # rows: the runs that go on beyond the bytes read so far
        while len(rows := rows[sizes[rows] > at]):
            following = words[starts[rows] + at] & _LOWEST[np.minimum(sizes[rows] - at, WORD)]
            found[rows] = self._step(found[rows].astype(np.uint64) | _NUMBER, following)
            at += WORD
        return found

    def _step(self, before: Words, word: Words) -> Int32s:
        """Return the number of each pair, which is given to it when it is new."""
        # room for all pairs to be new, while the table is never more than half full of those it has
        if 2 * self._count + len(before) > len(self._slots):
            self._resize((2 * self._count + len(before)).bit_length())
        room = self._count + len(before)
        self._before, self._word = grown(self._before, room, 0), grown(self._word, room, 0)
        at = self._slots_of(before, word)
        found = self._slots[at]
        # each round: pairs whose slot holds another key, or none; those that stay without one look at the next slot
        missing = np.flatnonzero((self._before[found] != before) | (self._word[found] != word))
        while len(missing):
            here = at[missing]
            self._claim(here, before[missing], word[missing])
            number = self._slots[here]
            other = (self._before[number] != before[missing]) | (self._word[number] != word[missing])
            found[missing] = number
            missing, here = missing[other], here[other]
            at[missing] = (here + 1) & (len(self._slots) - 1)
        return found

    def _claim(self, slots: Ints, before: Words, word: Words) -> None:
        """Give those slots that are free to one of the pairs that come to each."""
        free = np.flatnonzero(self._slots[slots] == 0)
        self._slots[slots[free]] = free  # of several that want one slot the last one written has it
        free = free[self._slots[slots[free]] == free]
        end = self._count + len(free)
        self._slots[slots[free]] = np.arange(self._count, end)
        self._before[self._count : end], self._word[self._count : end] = before[free], word[free]
        self._count = end

    def _slots_of(self, before: Words, word: Words) -> Ints:
        first, second = self._factors
        mixed: Words = before * first
        mixed += (word ^ (before >> np.uint64(32))) * second
        slots: Ints = (mixed >> self._shift).astype(np.int64)
        return slots

    def _resize(self, bits: int) -> None:
        """Make a table of ``1 << bits`` slots."""
        self._slots: Int32s = np.zeros(1 << bits, np.int32)
        self._shift = np.uint64(64 - bits)
        at = self._slots_of(self._before[1 : self._count], self._word[1 : self._count])
        waiting = np.arange(1, self._count, dtype=np.int32)  # the numbers that have no slot yet
        while len(waiting):
            here = at[waiting - 1]
            free = self._slots[here] == 0
            self._slots[here[free]] = waiting[free]
            waiting = waiting[self._slots[here] != waiting]
            at[waiting - 1] = (at[waiting - 1] + 1) & (len(self._slots) - 1)


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


def _classes(raw: bytes) -> Bytes:
    """Return the class of each byte of a text; where it changes, a run begins or ends."""
    units, buffer = np.frombuffer(raw, np.uint8), bytearray(raw.translate(_CLASS))
    classes = np.frombuffer(buffer, np.uint8)
    if b"+" in raw or b"#" in raw:
        _mark_signs(units, buffer)
    beside = np.frombuffer(raw.translate(_OPERATOR_SIGN), np.uint8)
    borders = np.flatnonzero(beside[1:] != beside[:-1]) + 1  # a text begins and ends with a blank
    starts, sizes = borders[::2], borders[1::2] - borders[::2]
    starts, sizes = starts[(sizes == 2) | (sizes == 3)], sizes[(sizes == 2) | (sizes == 3)]
    codes = units[starts] | units[starts + 1].astype(np.uint32) << 8
    codes |= np.where(sizes == 3, units[starts + 2].astype(np.uint32) << 16, 0).astype(np.uint32)
    kept = np.isin(codes, _OPERATOR_CODES)
    starts, sizes = starts[kept], sizes[kept]
    for places in (starts, starts + 1, starts[sizes == 3] + 2):
        classes[places] = _OPERATOR
    return classes


def _mark_signs(units: Bytes, buffer: bytearray) -> None:
    """Make signs before and behind a name part of its run: ``#tag``, ``C#``, ``C++``; what follows is another run."""
    classes, alnum = np.frombuffer(buffer, np.uint8), _UPPER | _LOWER | _DIGIT
    places = np.flatnonzero(np.frombuffer(units.tobytes().translate(_SIGN), np.uint8))
    breaks = np.flatnonzero(np.diff(places) > 1)
    firsts, lasts = places[np.append(0, breaks + 1)], places[np.append(breaks, len(places) - 1)]
    before, after, is_hash = units[firsts - 1], units[lasts + 1], units[firsts] == ord("#")
    is_one, is_plus = firsts == lasts, (units[firsts] == ord("+")) & (units[lasts] == ord("+"))
    behind = alnum[before] & ~alnum[after] & (after != ord("_")) & (after != ord("="))
    behind &= (is_hash & is_one) | (is_plus & (lasts - firsts < len("++")))
    ahead = is_hash & is_one & alnum[after] & ~(alnum | _IS_JOINER)[before]
    for kept in (firsts[ahead | behind], lasts[behind]):
        classes[kept] = 1
    following = lasts[behind] + 1
    for start in following[classes[following] == 1].tolist():  # few: a run that begins at a sign, as in C++-v
        classes[start : buffer.find(b"\0", start)] ^= _AFTER_SIGN


def _of_word(code: int) -> bool:
    """Return whether a character beyond ASCII may stand in a chunk."""
    return chr(code).isalnum() or unicodedata.category(chr(code))[0] == "M"


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
        self._spellings = Interned(_BY_ITSELF)
        self._runs = Numbering()
        self._chunk_of_run: Int32s = np.empty(0, np.int32)
        self._others: dict[str, int] = {}

    def read(self, texts: Sequence[str]) -> tuple[Int32s, Ints]:
        """Return the chunk numbers of all texts, one text after the other, and how many each text has."""
        texts = list(map(analysis.normalize, texts))
        joined = f"{_BLANK}{_BLANK.join(texts)}{_BLANK * WORD}"
        lone = np.empty(0, np.int64)
        if joined.isascii():
            raw, beyond = joined.encode("ascii"), lone
        else:  # a byte for each character; those beyond ASCII are looked at by kind
            codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
            wide = np.flatnonzero(codes >= _FIRST_WIDE)
            kinds, which = np.unique(codes[wide], return_inverse=True)
            beyond = wide[np.fromiter(map(_of_word, kinds.tolist()), bool, len(kinds))[which]]
            lone = wide[np.fromiter(map(analysis.is_symbol, map(chr, kinds.tolist())), bool, len(kinds))[which]]
            units = codes.astype(np.uint8)
            units[wide] = ord(_BLANK)
            units[beyond] = ord("x")
            units[lone] = np.frombuffer(_SYMBOL, np.uint8)[lone & 1]
            raw = units.tobytes()
        # cut where the class changes: runs of words, symbols and operators, and what is between them
        classes = _classes(raw)
        borders = np.flatnonzero(classes[1:] != classes[:-1]) + 1
        of_run = classes[borders] & ~np.uint8(_AFTER_SIGN) > 0
        starts, stops = borders[of_run], np.append(borders[1:], len(raw))[of_run]
        usual = stops - starts <= analysis.MAX_TERM  # short, and ASCII throughout
        for places in (beyond, lone):
            usual[np.searchsorted(starts, places, side="right") - 1] = False
        chunks = np.empty(len(starts), np.int32)
        chunks[usual] = self._chunks_of_runs(joined, raw, starts[usual], stops[usual])
        chunks[~usual] = self._chunks_of_others(_cut(joined, starts[~usual], stops[~usual]))
        # how many runs begin before each text ends, less those of the texts before it
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
        return chunks, np.diff(np.searchsorted(starts, ends), prepend=0)

    def _chunks_of_runs(self, text: str, raw: bytes, starts: Ints, stops: Ints) -> Int32s:
        """Return the chunk number of each run of word characters and joiners in ASCII text."""
        runs = self._runs.numbers(raw, starts, stops - starts)
        self._chunk_of_run = known = grown(self._chunk_of_run, len(self._runs), -1)
        chunks = known[runs]  # -1 for a run that was never met
        if len(fresh := np.flatnonzero(chunks < 0)):
            kinds, first = np.unique(runs[fresh], return_index=True)
            chosen = fresh[first]
            known[kinds] = self._learn(_cut(text, starts[chosen], stops[chosen]))
            chunks[fresh] = known[runs[fresh]]
        return chunks

    def _chunks_of_others(self, runs: Sequence[str]) -> Int32s:
        """Return the chunk number of each run that is not ASCII, or too long for a term."""
        known = self._others
        if fresh := [run for run in dict.fromkeys(runs) if run not in known]:
            known.update(zip(fresh, self._learn(fresh).tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, runs), np.int32, len(runs))

    def _learn(self, runs: Sequence[str]) -> Int32s:
        """Return the chunk number of each run, analyzing those that are spelled as none before."""
        joiners = analysis.JOINERS
        is_usual = [run[0].isalnum() and run[-1] not in SIGNS for run in runs]
        usual = zip(runs, is_usual, strict=True)
        spellings = spelled([run.strip(joiners) if is_one else _chunk_of(run) for run, is_one in usual])
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


def _chunk_of(run: str) -> str:
    """Return the chunk that a run is, without the joiners around it unless they are signs of it."""
    if not run.isascii():
        return run if analysis.is_symbol(run) else run.strip(analysis.JOINERS + SIGNS)
    chunk = next(iter(analysis.chunks(run)), "")
    return chunk if analysis.sign_form(chunk) or analysis.is_lone(chunk) else run.strip(analysis.JOINERS + SIGNS)


def _cut(text: str, starts: Ints, stops: Ints) -> list[str]:
    return [text[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
