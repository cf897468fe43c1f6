"""The arrays of a segment out of documents, runs or merged segments; :mod:`rye.index.segment` says what they are.

A *run* is a file of what a builder has collected of some documents: their words numbered as they were met, tokens not
yet sorted. Runs are joined to one segment without tokenizing again (:mod:`rye.index.parallel_build`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rye._process import check_cancelled
from rye.index import container
from rye.index.analysis import VALUE_GAP, stem_arrays
from rye.index.arrays import Array, Arrays, Ints, Numbers, ends_of, fresh, pack_strings, ranges, ranked, smallest
from rye.index.bulk_analysis import Vocabulary
from rye.index.docvalues import compress_strings, pack_paths, rank_arrays
from rye.index.evidence_column import EvidenceWriter
from rye.index.postings import pack_positions, pack_postings
from rye.index.schema import FIELD_BITS, TEXT_FIELDS, text_columns
from rye.index.segment import Documents
from rye.index.terms import term_arrays
from rye.items.model import Item

BLOCK = 1 << 20
"""Tokens of which postings are made at a time."""

_SLOTS = 1 << FIELD_BITS
_WORD_BITS = 64


class Columns:
    """What a segment has one of per document: id, path, type number, time of last change, evidence."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.paths: list[str] = []
        self.types: list[int] = []
        self.times: list[float] = []
        self.evidence = EvidenceWriter()

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, documents: Documents, docs: Ints) -> None:
        """Add some documents of a file, ascending."""
        self.ids.extend(documents.ids.take(docs))
        self.paths.extend(documents.paths.take(docs))
        self.types.extend(documents.types[docs].tolist())
        self.times.extend(documents.times[docs].tolist())
        self.evidence.take(documents.evidence, docs)

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return {
            "doc.type": np.asarray(self.types, np.uint8),
            "doc.time": np.asarray(self.times, np.float64),
            **pack_strings("id", self.ids),
            **pack_paths(self.paths, self.types, self.ids),
            **self.evidence.arrays(),
        }

    def arrays(self) -> Arrays:
        """Return the arrays of a segment."""
        arrays = self.run_arrays()
        check_cancelled()
        return arrays | rank_arrays(self.ids, self.types, self.paths)


def pack_terms(ordered: list[str], counts: Ints, postings: Sequence[Array], docs: int) -> tuple[Arrays, int]:
    """Return the arrays of terms, postings, positions and stems, and the bits that tf has.

    Args:
        ordered: The terms in byte order.
        counts: How many postings each term has.
        postings: In order of term, document and field: slot (:func:`rye.index.postings.slot_keys`) and tf of each
            posting, and the positions of all.
        docs: How many documents the segment has.
    """
    slots, tf, positions = postings
    ends = ends_of(counts)
    packed, bits = pack_postings(slots, tf, docs)
    check_cancelled()
    arrays = {
        **pack_strings("term", ordered),
        "term.postings": smallest(ends),
        "term.positions": smallest(ends_of(np.add.reduceat(tf, ends[:-1], dtype=np.int64))),
        **packed,
        **pack_positions(positions),
    }
    check_cancelled()
    arrays |= stem_arrays(ordered)
    check_cancelled()
    return arrays | term_arrays(ordered, ends, slots >> FIELD_BITS), bits


def pack_keywords(ordered: Sequence[str], owners: Ints, docs: Ints) -> Arrays:
    """Return the arrays ``entry.*`` of keyword terms in byte order and of ``(term, document)`` pairs in order."""
    counts = np.bincount(owners, minlength=len(ordered))
    return {
        **compress_strings("entry", ordered),
        "entry.postings": smallest(ends_of(counts)),
        "entry.doc": smallest(docs),
    }


def write_segment(path: Path, arrays: Arrays, docs: int, tf_bits: int) -> None:
    """Write a segment to a new file."""
    container.write(path, arrays, {"docs": docs, "fields": list(TEXT_FIELDS), "tf_bits": tf_bits})


class _Tokens(NamedTuple):
    """Some tokens: the number of the word of each, less ``base``, its slot and its position."""

    base: int
    words: Numbers
    slots: Numbers
    places: Numbers


class PostingWriter:
    """Collects the tokens of documents, in their order, and packs them.

    Documents are added, or runs are taken, never both: each numbers words by itself.
    """

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._taken: list[str] = []
        self._tokens: list[_Tokens] = []
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

    def take(self, run: Documents) -> None:
        """Add the words of the documents of a run."""
        slots = run.array("token.slot").astype(np.int32) + np.int32(self._docs << FIELD_BITS)
        self._tokens.append(_Tokens(len(self._taken), run.array("token.word"), slots, run.array("token.place")))
        self._taken += run.strings("word").everything
        self._lengths.append(run.array("doc.lengths"))
        self._docs += len(run.types)

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run; nothing is kept."""
        words = self._release_words()
        tokens, self._tokens = self._tokens, []
        return {
            **pack_strings("word", words),
            "token.word": smallest(np.concatenate([some.words + some.base for some in tokens])),
            "token.slot": smallest(np.concatenate([some.slots for some in tokens])),
            "token.place": smallest(np.concatenate([some.places for some in tokens])),
            "doc.lengths": smallest(np.concatenate(self._lengths, axis=1)),
        }

    def _release_words(self) -> list[str]:
        """Return all words by number; none is kept."""
        words = [*self._vocabulary.terms, *self._taken]
        self._vocabulary, self._taken = Vocabulary(), []
        return words

    def _place(self, chunks: Numbers, sizes: Ints, slots: Ints, docs: int) -> Ints:
        """Keep the tokens of chunks, each at its chunk's first position plus its offset; return the parts by slot.

        Args:
            chunks: The chunks of all values, one value after the other.
            sizes: How many each value has.
            slots: Slot of each value, as if the first document added now were the first of all.
            docs: How many are added.
        """
        vocabulary = self._vocabulary
        before = ends_of(np.asarray(vocabulary.part_counts)[chunks])
        ends = np.cumsum(sizes)
        value_before = before[ends - sizes]
        value_parts = before[ends] - value_before
        places = before[:-1] + np.repeat(_value_bases(slots, value_parts) - value_before, sizes)
        starts = np.asarray(vocabulary.starts)
        first, last = starts[chunks], starts[chunks + 1]
        token, widths = ranges(first, last), last - first
        owners = np.repeat(slots + (self._docs << FIELD_BITS), sizes)
        words, offsets = np.asarray(vocabulary.token_terms)[token], np.asarray(vocabulary.token_offsets)[token]
        positions = np.repeat(places.astype(np.int32), widths) + offsets
        self._tokens.append(_Tokens(0, words, np.repeat(owners.astype(np.int32), widths), positions))
        return np.bincount(slots, value_parts, docs * _SLOTS).astype(np.int64)

    def arrays(self) -> tuple[Arrays, int]:
        """Return the arrays of terms, postings, positions and lengths, and the bits that tf has; nothing is kept."""
        check_cancelled()
        ordered, ranks = ranked(self._release_words())
        check_cancelled()
        width = (self._docs << FIELD_BITS).bit_length()
        counts = np.zeros(len(ordered), np.int64)
        found = []
        for keys, positions in self._in_order(ranks << width, width):
            check_cancelled()
            first = np.flatnonzero(fresh(keys))
            posting, tf = keys[first], np.diff(first, append=len(keys))
            counts += np.bincount(posting >> width, minlength=len(ordered))
            found.append((smallest(posting & ((1 << width) - 1)), smallest(tf), smallest(positions)))
        arrays, tf_bits = pack_terms(ordered, counts, [*map(np.concatenate, zip(*found, strict=True))], self._docs)
        return arrays | {"doc.lengths": smallest(np.concatenate(self._lengths, axis=1))}, tf_bits

    def _in_order(self, starts: Ints, width: int) -> Iterator[tuple[Ints, Ints]]:
        """Yield the tokens sorted, some terms at a time: of each the start of its term plus its slot, and its position.

        Term, slot and position are sorted as one number where 64 bits hold them. What is made of all tokens is made in
        place, because memory that is touched first costs more than sorting.

        Args:
            starts: By number of the word: the rank of the term above ``width`` bits of zeros.
            width: Bits that slots have.
        """
        tokens, self._tokens = self._tokens, []
        low = max(int(some.places.max(initial=0)) for some in tokens).bit_length()
        if int(starts.max(initial=0)).bit_length() + low >= _WORD_BITS:
            keys = np.concatenate([starts[some.base :][some.words] + some.slots for some in tokens])
            positions = np.concatenate([some.places for some in tokens]).astype(np.int64)
            order = np.lexsort((positions, keys))
            yield keys[order], positions[order]
            return
        borders = ends_of([len(some.words) for some in tokens])
        rows = np.empty(int(borders[-1]), np.int64)
        for (begin, end), some in zip(pairwise(borders.tolist()), tokens, strict=True):
            row = rows[begin:end]
            np.take(starts[some.base :], some.words, out=row, mode="clip")
            row += some.slots
            row <<= low
            row |= some.places
        rows.sort()
        term = width + low
        cuts = np.searchsorted(rows, rows[::BLOCK] >> term << term)
        for begin, end in pairwise([*sorted({0, *cuts.tolist()}), len(rows)]):
            block = rows[begin:end]
            positions = block & ((1 << low) - 1)
            block >>= low
            yield block, positions


def _value_bases(slots: Ints, value_parts: Ints) -> Ints:
    """Return the first position of every value: the values of one field follow each other with a gap."""
    reach = np.where(value_parts > 0, value_parts + VALUE_GAP, 0)
    before: Ints = np.cumsum(reach) - reach
    first = np.flatnonzero(np.diff(slots, prepend=-1))
    return before - np.repeat(before[first], np.diff(first, append=len(slots)))
