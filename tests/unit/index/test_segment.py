"""A segment reads postings the same in every way it offers, and refuses a file of other fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.index import container
from rye.index.container import DamagedError
from rye.index.postings import WIDE_TF_BITS, order_norms, pack_postings
from rye.index.schema import FIELD_BITS, TEXT_FIELDS
from rye.index.segment import Segment
from tests.unit.index.segments import item, write


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


def packed_for(path: Path, docs: int, tf_bits: int) -> Segment:
    """Return a segment whose postings are packed as in one with that many documents and bits of 64 for tf."""
    file, plain = container.Container(path), Segment(path)
    every = slice(0, len(plain.posting_doc))
    piece = (plain.slots(every), plain.frequencies(every), plain.positions(every))
    arrays, bits = pack_postings([piece], plain.totals(), docs, path.parent, wide_tf_bits=tf_bits)
    packed = path.with_name(f"{path.name}-{docs}-{tf_bits}")
    container.write(packed, file.arrays() | arrays, file.meta | {"tf_bits": bits})
    return Segment(packed)


MANY = 1 << 28
"""Documents for whose postings 32 bits are too few."""


def test_a_tf_beyond_its_bits_is_read_from_the_table(tmp_path: Path) -> None:
    """As in a segment of very many documents, where few bits are left."""
    bodies = ["deploy " * 9, "deploy it", "it deploy " * 40]
    found = [item(f"x{at}", body=body) for at, body in enumerate(bodies)]
    plain = Segment(write(tmp_path / "plain", found))
    tight = packed_for(tmp_path / "plain", MANY, 2)
    assert len(tight._large) == 3
    every = slice(0, len(plain.posting_doc))
    numbers = np.arange(every.stop)[::2]
    for asked in (every, numbers, slice(3, every.stop), numbers[:1]):
        assert tight.frequencies(asked).tolist() == plain.frequencies(asked).tolist()
        assert [each.tolist() for each in tight.occurrences(asked)] == [
            each.tolist() for each in plain.occurrences(asked)
        ]


@pytest.mark.parametrize(("docs", "tf_bits"), [(30, WIDE_TF_BITS), (MANY, WIDE_TF_BITS), (MANY, 2)])
def test_postings_of_several_terms_are_those_of_each_in_turn(tmp_path: Path, docs: int, tf_bits: int) -> None:
    """In words of 32 bits and of 64, with a table of large tf and without; their norms once they are in order."""
    rng = np.random.default_rng(3)
    words = [f"w{number}x" for number in range(30)]
    items = [item(f"x{at}", title=words[at], body=" ".join(rng.choice(words, 60))) for at in range(30)]
    segment = packed_for(write(tmp_path / "a", items), docs, tf_bits)
    assert segment._posting.dtype == (np.uint32 if docs < MANY else np.uint64)
    assert (len(segment._large) > 0) == (tf_bits == 2)
    every = np.arange(len(segment.terms))
    for terms in (every[:0], every[3:4], every[2:9:3], every):
        slots, tf = segment.slots_and_tf(terms)
        runs = [segment.run(term) for term in terms.tolist()]
        assert slots.tolist() == [slot for run in runs for slot in segment.slots(run).tolist()]
        assert tf.tolist() == [count for run in runs for count in segment.frequencies(run).tolist()]
        assert segment.slots_of(terms).tolist() == slots.tolist()
        assert segment.norms is not None
        assert (
            segment.norms.fields[segment.norms.by_slot.take(slots)].tolist()
            == (slots & ((1 << FIELD_BITS) - 1)).tolist()
        )
    assert segment.norms_of(every[3:4]) is None
    for terms in (every, every[:0], every[3:4], every[2:9:3]):
        found = segment.norms_of(terms)
        assert found is not None
        assert segment.norms is not None
        assert found.tolist() == segment.norms.by_slot.take(segment.slots_and_tf(terms)[0]).tolist()


def test_norms_are_put_in_order_block_by_block() -> None:
    """Of more postings than a block has, each gets the norm of its own slot."""
    rng = np.random.default_rng(3)
    norms, slots = rng.integers(0, 1 << 16, 1_000).astype(np.uint16), rng.integers(0, 1_000, 300_000)
    assert np.array_equal(order_norms(norms, slots.astype(np.uint32) << np.uint32(4), np.uint32(4)), norms[slots])


def test_a_segment_of_other_fields_is_damage(tmp_path: Path) -> None:
    """A file of a version with other fields, or without an array, is not read."""
    container.write(tmp_path / "a", {}, {"docs": 0, "fields": ["title"]})
    container.write(tmp_path / "b", {}, {"docs": 0, "fields": list(TEXT_FIELDS)})
    for name in ("a", "b"):
        with pytest.raises(DamagedError):
            Segment(tmp_path / name)
