"""Numbers kept small are the numbers: postings of one word, positions of one byte, compressed tables, paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import postings
from rye.index.arrays import Arrays, pack_strings, ranges
from rye.index.container import DamagedError
from rye.index.docvalues import BLOCK, CompressedStrings, Paths, compress_strings, pack_paths
from rye.index.postings import LENGTH_BITS, POSITION_BITS, Positions, pack_positions, pack_postings
from rye.index.schema import FIELD_BITS, SEPARATOR, TYPE_NAMES
from rye.index.segment import Segment
from rye.index.terms import Strings, escape
from rye.items.model import ItemType
from tests.unit.index.laying import item, write

NUMBERS = st.one_of(st.integers(0, 300), st.sampled_from([255, 256, 65_535, 65_536, (1 << POSITION_BITS) - 1]))


def strings(arrays: Arrays, name: str) -> Strings:
    """Return a table of strings out of arrays."""
    return Strings(arrays[f"{name}.offsets"], memoryview(arrays[f"{name}.buffer"].tobytes()))


def compressed(arrays: Arrays, name: str) -> CompressedStrings:
    """Return a compressed table out of arrays."""
    return CompressedStrings(name, arrays.__getitem__, lambda name: memoryview(arrays[name].tobytes()))


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=40), max_size=8), st.data())
def test_positions_are_read_back_by_run_and_by_runs(groups: list[list[int]], data: st.DataObject) -> None:
    """Whether kept as wide numbers or as bytes with a table beside; runs come in any order and may recur."""
    flat = np.asarray([number for group in groups for number in group], np.int64)
    arrays = pack_positions(flat)
    kept = Positions(*(arrays[name] for name in ("position", "position.far", "position.high")))
    ends = np.cumsum([0, *map(len, groups)])
    assert kept.between(0, len(kept)).tolist() == flat.tolist()
    chosen = data.draw(st.lists(st.sampled_from(range(len(groups))), max_size=6)) if groups else []
    starts, stops = ends[:-1][chosen].astype(np.int64), ends[1:][chosen].astype(np.int64)
    assert kept.of(starts, stops).tolist() == flat[ranges(starts, stops)].tolist()
    assert [kept.between(a, b).tolist() for a, b in zip(starts, stops, strict=True)] == [groups[n] for n in chosen]


def test_few_far_positions_cost_little() -> None:
    """Short texts take one byte for each position, long ones no more than plain numbers would."""
    short = np.concatenate([np.arange(200)] * 50 + [np.asarray([70_000])])
    assert sum(array.nbytes for array in pack_positions(short).values()) < 1.01 * len(short)
    long = np.arange(60_000)
    assert sum(array.nbytes for array in pack_positions(long).values()) == 2 * len(long)


@pytest.mark.parametrize("docs", [1, 2, 60_000, 1 << 20, 1 << 24, 1 << 27])
@pytest.mark.parametrize("most", [1, 2, 15, 16, 255, 256, 500_000])
def test_postings_hold_document_field_and_tf(docs: int, most: int) -> None:
    """In 32 bits where that is enough; a tf that does not fit stands in the table."""
    slots = np.asarray([0, 8, ((docs - 1) << FIELD_BITS) | 3], np.int64)
    tf = np.asarray([1, most, max(most - 1, 1)], np.int64)
    arrays, bits = pack_postings(slots, tf, docs)
    packed, mask = arrays["posting"].astype(np.int64), (1 << bits) - 1
    assert (packed >> bits).tolist() == slots.tolist()
    read = dict(zip(arrays["posting.large"].tolist(), arrays["posting.tf"].tolist(), strict=True))
    assert [read.get(at, word & mask) for at, word in enumerate(packed.tolist())] == tf.tolist()
    assert arrays["posting"].dtype == (np.uint32 if docs <= 1 << 24 else np.uint64)


@pytest.mark.parametrize("docs", [1, 3])
def test_a_run_of_postings_is_read_as_their_numbers_are(tmp_path: Path, docs: int) -> None:
    """Slices and arrays give the same keys, frequencies and occurrences."""
    bodies = ["deploy " * (3 * at + 1) + "it now deploy-it " * at for at in range(docs)]
    segment = Segment(write(tmp_path / "a", [item(f"x{at}", body=body) for at, body in enumerate(bodies)]))
    for term in range(len(segment.terms)):
        run = segment.run(term)
        numbers = np.arange(run.start, run.stop)
        assert segment.slots(run).tolist() == segment.slots(numbers).tolist()
        assert segment.frequencies(run).tolist() == segment.frequencies(numbers).tolist()
        for one, other in zip(segment.occurrences(run), segment.occurrences(numbers), strict=True):
            assert one.tolist() == other.tolist()


def test_a_tf_beyond_its_bits_is_read_from_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a segment of very many documents, where few bits are left."""
    bodies = ["deploy " * 9, "deploy it", "it deploy " * 40]
    found = [item(f"x{at}", body=body) for at, body in enumerate(bodies)]
    plain = Segment(write(tmp_path / "plain", found))
    monkeypatch.setattr(postings, "MIN_TF_BITS", 99)
    monkeypatch.setattr(postings, "WIDE_TF_BITS", 2)
    tight = Segment(write(tmp_path / "tight", found))
    assert len(tight._large) == 3
    every = slice(0, len(plain.posting_doc))
    numbers = np.arange(every.stop)[::2]
    for asked in (every, numbers, slice(3, every.stop), numbers[:1]):
        assert tight.frequencies(asked).tolist() == plain.frequencies(asked).tolist()
        assert [each.tolist() for each in tight.occurrences(asked)] == [
            each.tolist() for each in plain.occurrences(asked)
        ]


@pytest.mark.parametrize("tight", [{}, {"MIN_TF_BITS": 99}, {"MIN_TF_BITS": 99, "WIDE_TF_BITS": 2}])
def test_rows_of_several_terms_are_those_of_each_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tight: dict[str, int]
) -> None:
    """In words of 32 bits and of 64, with a table of large tf and without; their norms once they are in order."""
    for name, value in tight.items():
        monkeypatch.setattr(postings, name, value)
    monkeypatch.setattr(postings, "ORDER_AFTER", 0)
    rng = np.random.default_rng(3)
    words = [f"w{number}x" for number in range(30)]
    items = [item(f"x{at}", title=words[at], body=" ".join(rng.choice(words, 60))) for at in range(30)]
    segment = Segment(write(tmp_path / "a", items))
    every = np.arange(len(segment.terms))
    for terms in (every[:0], every[3:4], every[2:9:3], every):
        slots, tf = segment.slots_and_tf(terms)
        runs = [segment.run(term) for term in terms.tolist()]
        assert slots.tolist() == [slot for run in runs for slot in segment.slots(run).tolist()]
        assert tf.tolist() == [count for run in runs for count in segment.frequencies(run).tolist()]
        assert segment.slots_of(terms).tolist() == slots.tolist()
        assert segment.norms is not None
        assert (segment.norms.take(slots) >> LENGTH_BITS).tolist() == (slots & ((1 << FIELD_BITS) - 1)).tolist()
        assert segment.norms_of(terms) is None
    monkeypatch.setattr(postings, "ORDER_AFTER", 1 << 40)
    monkeypatch.setattr(postings, "_BLOCK", 100)
    for terms in (every, every[:0], every[3:4], every[2:9:3]):
        found = segment.norms_of(terms)
        assert found is not None
        assert segment.norms is not None
        assert found.tolist() == segment.norms.take(segment.slots_and_tf(terms)[0]).tolist()


WORDS = st.text(st.sampled_from("ab*?\\é\U0001f600 "), max_size=4)
TABLES = st.one_of(st.sets(WORDS, max_size=9), st.integers(0, 300).map(lambda n: {f"a{at * 7}" for at in range(n)}))


@given(TABLES, WORDS)
def test_a_compressed_table_answers_as_a_plain_one(words: set[str], asked: str) -> None:
    """Lookups, prefixes, globs, ranges and access are those of the same strings uncompressed."""
    ordered = sorted(f"k{SEPARATOR}{word}" for word in words)
    table = compressed(compress_strings("t", ordered), "t")
    plain = strings(pack_strings("t", ordered), "t")
    assert table.everything == plain.everything == ordered
    assert len(table) == len(plain)
    assert table.take(np.arange(len(table))) == ordered
    for text in (f"k{SEPARATOR}{asked}", asked, "", *ordered):
        assert table.find(text) == plain.find(text)
        assert table.prefix_range(text) == plain.prefix_range(text)
        assert table.lower_bound(text.encode()) == plain.lower_bound(text.encode())
        assert table.matching(text).tolist() == plain.matching(text).tolist()
    within = (len(ordered) // 3, len(ordered) // 2)
    for glob in ("*a*", *map(escape, ordered)):
        assert table.matching(glob, within=within).tolist() == plain.matching(glob, within=within).tolist()


def test_a_damaged_block_is_told() -> None:
    """What zlib cannot unpack is damage, however it is asked for."""
    arrays = compress_strings("t", [f"{at:04}" for at in range(3 * BLOCK)])
    arrays["t.blocks"] = np.zeros_like(arrays["t.blocks"])
    table = compressed(arrays, "t")
    for ask in (lambda: table[0], lambda: table.find("0001"), lambda: table.matching("*1*"), lambda: table.everything):
        with pytest.raises(DamagedError):
            ask()


@given(st.lists(st.tuples(st.sampled_from(ItemType), st.sampled_from(["a", "b/c", "é"]), WORDS, st.booleans())))
def test_paths_are_read_back(rows: list[tuple[ItemType, str, str, bool]]) -> None:
    """Also a path that does not begin with folder and id."""
    kinds = [TYPE_NAMES.index(str(kind)) for kind, _, _, _ in rows]
    ids = [item_id for _, item_id, _, _ in rows]
    found = [f"{kind.folder}/{item_id}{end}" if usual else end for kind, item_id, end, usual in rows]
    arrays = pack_paths(found, kinds, ids) | pack_strings("id", ids)
    kept = Paths(arrays["path"], strings(arrays, "path"), np.asarray(kinds, np.uint8), strings(arrays, "id"))
    assert kept.everything == found == [kept[doc] for doc in range(len(kept))]
    assert kept.take(np.arange(len(kept))) == found
