"""The words of the documents of a segment: cut in batches, placed by array arithmetic, sorted once, packed as postings.

A chunk of text is analyzed once per segment, however often it occurs (see :mod:`rye.index.tokens`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from rye.index import analysis, stopping
from rye.index.laying import Posted, pack_terms
from rye.index.numbering import Numbers
from rye.index.packing import Array, Arrays, Ints, pack_strings, smallest
from rye.index.ranking import ranked
from rye.index.schema import FIELD_BITS, TEXT_FIELDS, text_columns
from rye.index.spilling import Run
from rye.index.strings import ranges
from rye.index.tokens import Vocabulary
from rye.items.model import Item

_SLOTS = 1 << FIELD_BITS
_WORD = 64

AT_A_TIME = 1 << 20
"""Tokens of which postings are made at a time."""


class PostingWriter:
    """Collects the tokens of documents, in their order, and packs them.

    A token is the number of its term, its slot (see :func:`rye.index.segment.slot_keys`) and its position. Words are
    numbered in several tables: that of the documents added, and those of the runs taken.
    """

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._taken: list[list[str]] = []
        self._tokens: list[tuple[int, Numbers, Numbers, Array]] = []
        self._lengths: list[Array] = []
        self._docs = 0

    def add(self, items: Sequence[Item]) -> None:
        """Add the words of further documents."""
        texts: list[str] = []
        slots: list[Ints] = []
        for number, values, owners in text_columns(items):
            texts += values
            slots.append((owners << FIELD_BITS) + number)
        chunks, sizes = self._vocabulary.read(texts)
        parts = self._place(chunks, sizes, np.concatenate(slots), len(items))
        self._lengths.append(parts.reshape(len(items), _SLOTS).T[: len(TEXT_FIELDS)])
        self._docs += len(items)

    def take(self, run: Run) -> None:
        """Add the words of the documents of a run."""
        self._taken.append(run.texts("word"))
        lengths = run.array("doc.lengths")
        slots = run.array("token.slot").astype(np.int32) + np.int32(self._docs << FIELD_BITS)
        self._tokens.append((len(self._taken), run.array("token.word"), slots, run.array("token.place")))
        self._lengths.append(lengths)
        self._docs += lengths.shape[1]

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run; nothing is kept."""
        tables = self._tables()
        bases = np.cumsum([0, *map(len, tables)]).tolist()
        tokens, self._tokens = self._tokens, []
        return {
            **pack_strings("word", list(chain.from_iterable(tables))),
            "token.word": smallest(np.concatenate([words + bases[table] for table, words, _, _ in tokens])),
            "token.slot": smallest(np.concatenate([slots for _, _, slots, _ in tokens])),
            "token.place": smallest(np.concatenate([places for _, _, _, places in tokens])),
            "doc.lengths": self._all_lengths(),
        }

    def _tables(self) -> list[list[str]]:
        """Return the tables of words; none is kept."""
        tables = [list(self._vocabulary.terms), *self._taken]
        self._vocabulary, self._taken = Vocabulary(), []
        return tables

    def _all_lengths(self) -> Array:
        return smallest(np.concatenate(self._lengths, axis=1))

    def _place(self, chunks: Numbers, sizes: Ints, slots: Ints, docs: int) -> Ints:
        """Keep the tokens of chunks, each at its chunk's first position plus its offset; return the parts by slot.

        Args:
            chunks: The chunks of all values, one value after the other.
            sizes: How many each value has.
            slots: Where each value stands, as if the first document added now were the first of all.
            docs: How many are added.
        """
        vocabulary = self._vocabulary
        before = np.concatenate([[0], np.cumsum(np.asarray(vocabulary.part_counts)[chunks], dtype=np.int64)])
        ends = np.cumsum(sizes)
        value_before = before[ends - sizes]
        value_parts = before[ends] - value_before
        places = before[:-1] + np.repeat(_value_bases(slots, value_parts) - value_before, sizes)
        starts = np.asarray(vocabulary.starts)
        first, last = starts[chunks], starts[chunks + 1]
        token, widths = ranges(first, last), last - first
        owners = np.repeat(slots + (self._docs << FIELD_BITS), sizes)
        self._tokens.append((
            0,
            np.asarray(vocabulary.token_terms)[token],
            np.repeat(owners.astype(np.int32), widths),
            np.repeat(places.astype(np.int32), widths) + np.asarray(vocabulary.token_offsets)[token],
        ))  # fmt: skip
        return np.bincount(slots, value_parts, docs * _SLOTS).astype(np.int64)

    def arrays(self) -> tuple[Arrays, int]:
        """Return the arrays of terms, postings, positions and lengths, and the bits that tf has; nothing is kept."""
        stopping.check()
        tables = self._tables()
        ordered, ranks = ranked(list(chain.from_iterable(tables)))
        stopping.check()
        width = (self._docs << FIELD_BITS).bit_length()
        counts = np.zeros(len(ordered), np.int64)
        found = []
        for keys, positions in self._in_order(np.split(ranks << width, np.cumsum(list(map(len, tables)))[:-1]), width):
            stopping.check()
            fresh = np.ones(len(keys), bool)
            np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
            first = np.flatnonzero(fresh)
            posting, tf = keys[first], np.diff(first, append=len(keys))
            counts += np.bincount(posting >> width, minlength=len(ordered))
            found.append((smallest(posting & ((1 << width) - 1)), smallest(tf), smallest(positions)))
        slots, tfs, places = map(np.concatenate, zip(*found, strict=True))
        arrays, tf_bits = pack_terms(ordered, Posted(counts, slots, tfs, places), self._docs)
        return arrays | {"doc.lengths": self._all_lengths()}, tf_bits

    def _in_order(self, starts: Sequence[Ints], width: int) -> Iterator[tuple[Ints, Ints]]:
        """Yield the tokens sorted, some terms at a time: of each the start of its term plus its slot, and its position.

        Both are sorted as one number where 64 bits hold them. What is made of all tokens is made in place, because
        memory that is touched first costs more than sorting.

        Args:
            starts: By table and number of the term, as it was met.
            width: Bits that slots have.
        """
        sizes = [len(terms) for _, terms, _, _ in self._tokens]
        low = max(int(places.max(initial=0)) for *_, places in self._tokens).bit_length()
        high = max(int(each.max(initial=0)) for each in starts).bit_length()
        tokens, self._tokens = self._tokens, []
        if high + low >= _WORD:
            keys = np.concatenate([starts[table][terms] + slots for table, terms, slots, _ in tokens])
            positions = np.concatenate([places for *_, places in tokens]).astype(np.int64)
            order = np.lexsort((positions, keys))
            yield keys[order], positions[order]
            return
        rows = np.empty(sum(sizes), np.int64)
        for end, size, (table, terms, slots, places) in zip(np.cumsum(sizes).tolist(), sizes, tokens, strict=True):
            row = rows[end - size : end]
            np.take(starts[table], terms, out=row, mode="clip")
            row += slots
            row <<= low
            row |= places
        rows.sort()
        term = width + low
        borders = np.searchsorted(rows, rows[::AT_A_TIME] >> term << term)
        for begin, end in pairwise([*sorted({0, *borders.tolist()}), len(rows)]):
            some = rows[begin:end]
            positions = some & ((1 << low) - 1)
            some >>= low
            yield some, positions


def _value_bases(slots: Ints, value_parts: Ints) -> Ints:
    """Return the first position of every value: the values of one field follow each other with a gap."""
    reach = np.where(value_parts > 0, value_parts + analysis.VALUE_GAP, 0)
    before: Ints = np.cumsum(reach) - reach
    first = np.flatnonzero(np.diff(slots, prepend=-1))
    return before - np.repeat(before[first], np.diff(first, append=len(slots)))
