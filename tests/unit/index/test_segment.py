"""A segment reads postings the same in every way it offers, and refuses a file of other fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.index import container
from rye.index.container import DamagedError
from rye.index.postings import POSITION_BITS
from rye.index.schema import FIELD_BITS, TEXT_FIELDS
from rye.index.segment import Segment
from tests.unit.index.segments import item, write


@pytest.mark.parametrize("docs", [1, 3])
def test_a_run_of_postings_is_read_as_their_numbers_are(tmp_path: Path, docs: int) -> None:
    """Slices and arrays give the same keys and frequencies, and terms that follow each other their positions."""
    bodies = ["deploy " * (3 * at + 1) + "it now deploy-it " * at for at in range(docs)]
    segment = Segment(write(tmp_path / "a", [item(f"x{at}", body=body) for at, body in enumerate(bodies)]))
    for term in range(len(segment.terms)):
        run = segment.run(term)
        numbers = np.arange(run.start, run.stop)
        assert segment.slots(run).tolist() == segment.slots(numbers).tolist()
        assert segment.frequencies(run).tolist() == segment.frequencies(numbers).tolist()
        keys, _ = segment.occurrences(numbers)
        assert segment.positions(term, term).tolist() == (keys & ((1 << POSITION_BITS) - 1)).tolist()
    every = np.arange(segment.term_postings.item(-1))
    keys, of = segment.occurrences(every)
    assert segment.occurrences(every[::2])[0].tolist() == keys[of % 2 == 0].tolist()


def test_postings_of_several_terms_are_those_of_each_in_turn(tmp_path: Path) -> None:
    """Of few terms and of many; each slot has the norm of its field."""
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
        assert (
            segment.norms.fields[segment.norms.by_slot.take(slots)].tolist()
            == (slots & ((1 << FIELD_BITS) - 1)).tolist()
        )


def test_a_segment_of_other_fields_is_damage(tmp_path: Path) -> None:
    """A file of a version with other fields, or without an array, is not read."""
    container.write(tmp_path / "a", {}, {"docs": 0, "fields": ["title"]})
    container.write(tmp_path / "b", {}, {"docs": 0, "fields": list(TEXT_FIELDS)})
    for name in ("a", "b"):
        with pytest.raises(DamagedError):
            Segment(tmp_path / name)
