"""Compressed tables of strings and paths are read back; a damaged block is reported."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index.arrays import Arrays, pack, pack_strings
from rye.index.container import DamagedError
from rye.index.docvalues import BLOCK, CompressedStrings, Paths, compress_strings, pack_paths
from rye.index.schema import SEPARATOR, TYPE_NAMES
from rye.index.terms import Strings, escape
from rye.items.model import ItemType


def strings(arrays: Arrays, name: str) -> Strings:
    """Return a table of strings out of arrays."""
    return Strings(arrays[f"{name}.offsets"], memoryview(arrays[f"{name}.buffer"].tobytes()))


def compressed(arrays: Arrays, name: str) -> CompressedStrings:
    """Return a compressed table out of arrays."""
    return CompressedStrings(name, arrays.__getitem__, lambda name: memoryview(arrays[name].tobytes()))


WORDS = st.text(st.sampled_from("ab*?\\é\U0001f600 "), max_size=4)


TABLES = st.one_of(st.sets(WORDS, max_size=9), st.integers(0, 300).map(lambda n: {f"a{at * 7}" for at in range(n)}))


@given(TABLES, WORDS)
def test_a_compressed_table_answers_as_a_plain_one(words: set[str], asked: str) -> None:
    """Lookups, prefixes, globs, ranges and access are those of the same strings uncompressed."""
    ordered = sorted(f"k{SEPARATOR}{word}" for word in words)
    table = compressed(compress_strings("t", pack(ordered)), "t")
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


def test_a_damaged_block_raises() -> None:
    """A block that zlib cannot unpack is damage, by whatever method it is read."""
    arrays = compress_strings("t", pack([f"{at:04}" for at in range(3 * BLOCK)]))
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
