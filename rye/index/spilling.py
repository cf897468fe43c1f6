"""A run: what a builder has collected of some documents, in a file, until all runs are laid out as one segment.

Nothing in it is sorted or compressed, because that is done once, when runs are joined. It has the columns of a segment
(:class:`rye.index.documents.Documents`), and beside them

====================  =======  ==============================================================================
array                 shape    meaning
====================  =======  ==============================================================================
word.offsets/buffer   W        words in the order in which they were met
token.word            tokens   word of each token
token.slot            tokens   its document and field (:func:`rye.index.segment.slot_keys`)
token.place           tokens   its position
doc.lengths           F × N    parts per field
shared.offsets/buffer E        keyword entries that documents may share, in the order in which they were met
pair.entry/.doc       pairs    which of them which document has
name.*, title.*       N        of each document
====================  =======  ==============================================================================
"""

from __future__ import annotations

import numpy as np

from rye.index.documents import Array, Documents
from rye.index.packing import Ints


class Run(Documents):
    """Reads a run."""

    @property
    def docs(self) -> Ints:
        """The number of every document: all that are in a run are live."""
        return np.arange(len(self.types))

    def array(self, name: str) -> Array:
        """Return one of the arrays above."""
        return self._array(name)

    def texts(self, name: str) -> list[str]:
        """Return the strings of one of the tables above."""
        return self._strings(name).everything
