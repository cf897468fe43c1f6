"""What a search by meaning reads: a model, and the vectors of a reader's items under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed
from rye.errors import UnavailableError
from rye.index.segment import Bools
from rye.index.vectors import Vectors

_INEXACT = 1e-2

__all__ = ["Meaning", "no_meaning"]


@dataclass(frozen=True, eq=False)
class Meaning:
    """A model and the vectors made with it.

    Attributes:
        embedder: The model.
        vectors: One row for each chunk of a section of the reader's items.
        warnings: What had to be made anew, or is missing.
    """

    embedder: Embedder
    vectors: Vectors
    warnings: tuple[str, ...] = ()

    def similarities(self, text: str, allowed: Bools | None = None) -> Floats:
        """Return the cosine between a text and each row, as :meth:`rye.index.vectors.Vectors.similarities`.

        Raises:
            UnavailableError: The model cannot be used now, or is another one than the vectors were made with.
        """
        query = self.embedder.embed([text])[0]
        if len(self.vectors) and query.shape != (self.vectors.dimensions,):
            problem = f"answers with {len(query)} numbers where the items have {self.vectors.dimensions}"
            raise failed(self.embedder.model, problem)
        length = float(np.linalg.norm(query.astype(np.float64)))
        if not (abs(length - 1) < _INEXACT or length == 0):
            raise failed(self.embedder.model, "answers with what is no vector of length 1")
        return self.vectors.similarities(query, allowed)


def no_meaning() -> Meaning:
    """Stand in where nothing is searched by meaning.

    Raises:
        UnavailableError: Always.
    """
    message = "there are no vectors here"
    raise UnavailableError("embedder-off", message, hint="search through rye.Registry")
