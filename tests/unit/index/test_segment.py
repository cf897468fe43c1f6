"""A segment reads postings the same in every way it offers, and refuses a file of other fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.index import container, postings
from rye.index.container import DamagedError
from rye.index.postings import LENGTH_BITS
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


def test_a_segment_of_other_fields_is_damage(tmp_path: Path) -> None:
    """A file of a version with other fields, or without an array, is not read."""
    container.write(tmp_path / "a", {}, {"docs": 0, "fields": ["title"]})
    container.write(tmp_path / "b", {}, {"docs": 0, "fields": list(TEXT_FIELDS)})
    for name in ("a", "b"):
        with pytest.raises(DamagedError):
            Segment(tmp_path / name)
