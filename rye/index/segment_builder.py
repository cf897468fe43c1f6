"""Items → the arrays of one segment, with numpy sorts and no Python object per posting.

Items are taken in batches, column by column: each of the writers below turns its part of them into arrays. The arrays
are described in :mod:`rye.index.segment`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path

import numpy as np

from rye import _process as stopping
from rye.index import analysis, container
from rye.index.arrays import Array, Arrays, Ints, Numbers, pack_strings, ranked, smallest
from rye.index.bulk_analysis import Interned, Vocabulary
from rye.index.relation_columns import EdgeWriter
from rye.index.relations import Edge
from rye.index.schema import (
    FIELD_BITS,
    OWN_KEYS,
    SEPARATOR,
    SHARED_KEYS,
    TEXT_FIELDS,
    TYPE_NUMBER,
    Place,
    entries,
    fold_value,
    keyword_columns,
    shared_columns,
    sort_time,
    text_columns,
)
from rye.index.segment_writer import Columns, Posted, Run, meta_of, pack_entries, pack_terms
from rye.index.terms import ranges
from rye.items.model import Item
from rye.signing import Evidence

# -- The words of the documents of a segment: cut in batches, placed by array arithmetic, sorted once, packed as
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


# -- The keyword entries of the documents of a segment, collected in columns and packed.
class _Once(dict[str, int]):
    """What is written → number of its keyword entry, asked for once however many items have it."""

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, written: str) -> int:
        found = self[written] = self._number(written)
        return found


class EntryWriter:
    """Collects the entries of documents, in their order, and packs them."""

    def __init__(self) -> None:
        self._shared = Interned()
        self._of_value: dict[str, _Once] = {}
        self._numbers: list[Ints] = []
        self._docs: list[Ints] = []
        self._names: list[str] = []
        self._titles: list[str] = []

    def _number(self, key: str, value: str) -> int:
        return self._shared[f"{key}{SEPARATOR}{fold_value(value)}"] if value else -1

    def add(self, items: Sequence[Item], places: Sequence[Place]) -> None:
        """Add the entries of further documents."""
        each = range(len(items))
        for key, values in zip(SHARED_KEYS, shared_columns(items, places), strict=True):
            self._add(key, values, each)
        for key, some, owners in keyword_columns(items):
            self._add(key, some, owners)
        self._names += map(attrgetter("name"), items)
        self._titles += map(attrgetter("title"), items)

    def _add(self, key: str, values: Sequence[str], owners: Sequence[int]) -> None:
        """Add what is written under one key, and which of the items added now each value belongs to."""
        if key not in self._of_value:
            self._of_value[key] = _Once(partial(self._number, key))
        numbers = np.fromiter(map(self._of_value[key].__getitem__, values), np.int64, len(values))
        given = numbers >= 0
        self._numbers.append(numbers[given])
        self._docs.append(np.asarray(owners, np.int64)[given] + len(self._names))

    def take(self, run: Run) -> None:
        """Add the entries of the documents of a run."""
        shared = run.texts("shared")
        numbers = np.fromiter(map(self._shared.__getitem__, shared), np.int64, len(shared))
        self._numbers.append(numbers[run.array("pair.entry")])
        self._docs.append(run.array("pair.doc").astype(np.int64) + len(self._names))
        self._names += run.texts("name")
        self._titles += run.texts("title")

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return {
            **pack_strings("shared", list(self._shared)),
            "pair.entry": smallest(np.concatenate(self._numbers)),
            "pair.doc": smallest(np.concatenate(self._docs)),
            **pack_strings("name", self._names),
            **pack_strings("title", self._titles),
        }

    def arrays(self, columns: Columns) -> Arrays:
        """Return the arrays ``entry.*``, given the columns of the same documents."""
        own = (columns.keys(), columns.paths, columns.ids, self._names, self._titles)
        owners, texts = list(self._docs), []
        for key, values in zip(OWN_KEYS, own, strict=True):
            owners.append(np.flatnonzero(np.fromiter(map(bool, values), bool, len(values))))
            texts.append(entries(key, [value for value in values if value]))
        ordered, numbers = ranked([*self._shared, *chain.from_iterable(texts)])
        shared = numbers[np.concatenate(self._numbers)]
        pairs = (np.concatenate([shared, numbers[len(self._shared) :]]) << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_entries(ordered, pairs >> 32, pairs & 0xFFFFFFFF)


BATCH = 1 << 21
"""Characters of text that are read at a time."""

_LEAST = 100
"""For so many characters an item counts at least."""


class DocumentWriter:
    """Collects all of documents but their words: what one has one of, its keyword entries, and what it refers to."""

    def __init__(self) -> None:
        self.columns = Columns()
        self._entries = EntryWriter()
        self._edges = EdgeWriter()

    def __len__(self) -> int:
        return len(self.columns)

    def refer(self, doc: int, edges: Sequence[Edge]) -> None:
        """Add what a document refers to."""
        self._edges.add(doc, edges)

    def add(self, items: Sequence[Item], places: Sequence[Place], evidence: Sequence[Evidence]) -> None:
        """Add further documents."""
        columns = self.columns
        ids, types = [item.id for item in items], [TYPE_NUMBER[item.type] for item in items]
        self._entries.add(items, places)
        self._edges.name(types, ids)
        columns.ids.extend(ids)
        columns.paths.extend(place.path for place in places)
        columns.types.extend(types)
        columns.times.extend(sort_time(item.updated, item.created) for item in items)
        columns.records.add(evidence)

    def take(self, run: Run) -> None:
        """Add the documents of a run."""
        docs = run.docs
        self._edges.take(run.edges, docs + len(self))
        self._entries.take(run)
        self.columns.take(run, docs)

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return self.columns.run_arrays() | self._entries.run_arrays() | self._edges.arrays()

    def lists(self) -> Arrays:
        """Return the arrays of a segment that hold keyword entries and references."""
        return self._entries.arrays(self.columns) | self._edges.arrays()


class SegmentBuilder:
    """Collects items and writes them as one segment; document numbers are given in the order of adding."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._places: list[Place] = []
        self._evidence: list[Evidence] = []
        self._waiting = 0
        self._postings = PostingWriter()
        self._documents = DocumentWriter()

    def __len__(self) -> int:
        return len(self._documents) + len(self._items)

    def add(self, item: Item, place: Place, evidence: Evidence, edges: Sequence[Edge] = ()) -> None:
        """Add one item; ``evidence`` is what its bytes prove, ``edges`` are what it refers to."""
        if edges:
            self._documents.refer(len(self), edges)
        self._items.append(item)
        self._places.append(place)
        self._evidence.append(evidence)
        self._waiting += len(item.body) + len(item.description) + _LEAST
        if self._waiting >= BATCH:
            self._read()

    def _read(self) -> None:
        """Take what has been added into columns."""
        self._postings.add(self._items)
        self._documents.add(self._items, self._places, self._evidence)
        self._items, self._places, self._evidence, self._waiting = [], [], [], 0

    def spill(self, path: Path) -> None:
        """Write what has been added to a new file, as a run; the builder is not used any more."""
        self._read()
        container.write(path, self._documents.run_arrays() | self._postings.run_arrays(), {}, lasting=False)

    def write(self, path: Path) -> int:
        """Write the segment to a new file and return how many documents it holds."""
        self._read()
        texts, tf_bits = self._postings.arrays()
        stopping.check()
        documents = self._documents.lists() | self._documents.columns.arrays()
        container.write(path, texts | documents, meta_of(len(self), tf_bits))
        return len(self)
