"""What a search by meaning reads: a model, and the vectors of a reader's items under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rye.embedding import Embedder, Floats
from rye.embedding.protocol import failed, query_vector
from rye.errors import UnavailableError
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

    def query(self, text: str) -> Floats:
        """Return the vector of a query.

        Raises:
            UnavailableError: The model cannot be used now, or is another one than the vectors were made with.
        """
        query = query_vector(self.embedder, text)
        if len(self.vectors) and query.shape != (self.vectors.dimensions,):
            problem = f"answers with {len(query)} numbers where the items have {self.vectors.dimensions}"
            raise failed(self.embedder.model, problem)
        length = float(np.linalg.norm(query.astype(np.float64)))
        if not (abs(length - 1) < _INEXACT or length == 0):
            raise failed(self.embedder.model, "answers with what is no vector of length 1")
        return query


def no_meaning() -> Meaning:
    """Stand in where nothing is searched by meaning.

    Raises:
        UnavailableError: Always.
    """
    message = "there are no vectors here"
    raise UnavailableError("embedder-off", message, hint="search through rye.Registry")
