"""The skills of a reader, and the files that are parts of each: its scripts, references and other items."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.index.build.reader import Part, Reader
from rye.index.storage.arrays import Bools, Ints
from rye.index.text.schema import fold_value
from rye.items.clients import SKILL_FILE


class Skills(NamedTuple):
    """The documents by skill.

    Attributes:
        of: Shape ``(size,)``: the document of the ``SKILL.md`` in the nearest folder that has one; a document outside
            a skill, and a ``SKILL.md``, stand for themselves.
        is_part: Shape ``(size,)``: whether a document belongs to another one.
        grouped: Shape ``(size,)``: whether a document is a part or has parts.
    """

    of: Ints
    is_part: Bools
    grouped: Bools


_kept: WeakKeyDictionary[Reader, Skills | None] = WeakKeyDictionary()


def skills_of(reader: Reader) -> Skills | None:
    """Return the skills of a reader, read once; None if no document is a part of one."""
    if reader not in _kept:
        of = np.arange(reader.size)
        for root, _ in reader.snapshots:
            parts = [part for part in reader.parts if part.root is root]
            mains = {folder: doc for part in parts for folder, doc in _mains(part)}
            for folder in sorted(mains, key=lambda folder: folder.count("/")):  # a skill inside another one comes later
                for part in parts:
                    of[part.segment.having("skill", fold_value(folder)) + part.base] = mains[folder]
        is_part = of != np.arange(reader.size)
        grouped = is_part.copy()
        grouped[of[is_part]] = True
        _kept[reader] = Skills(of, is_part, grouped) if is_part.any() else None
    return _kept[reader]


def _mains(part: Part) -> list[tuple[str, int]]:
    """Return the folder and document of each live ``SKILL.md`` of a segment."""
    docs = part.segment.having("format", "skill")
    docs = docs[part.live[docs]]
    paths = zip(docs.tolist(), part.segment.paths.take(docs), strict=True)
    return [
        (folder, doc + part.base)
        for doc, path in paths
        for folder, _, name in [path.rpartition("/")]
        if name == SKILL_FILE
    ]
