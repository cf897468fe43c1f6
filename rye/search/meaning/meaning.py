"""The model and the vectors that semantic search uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rye.embedding.protocol import Embedder, Floats, failed, query_vector
from rye.errors import UnavailableError
from rye.index.build.reader import Reader
from rye.index.vectors.vectors import Vectors

if TYPE_CHECKING:
    from rye.search.meaning.rerank import Reranker


class Meaning(NamedTuple):
    """A model, and the vectors made with it.

    Attributes:
        vectors: One row for each chunk of a section of the reader's items.
        warnings: Vectors that had to be made anew, are missing, or cannot be made.
        recheck: Called when the model fails, so that it is compared with the vectors again before the next query.
    """

    embedder: Embedder
    vectors: Vectors
    warnings: tuple[str, ...] = ()
    recheck: Callable[[], None] = lambda: None

    def query(self, text: str) -> Floats:
        """Return the vector of a query, shape ``(dimensions,)``.

        Raises:
            UnavailableError: The model is not available, or is not the model that made the vectors.
        """
        return self._checked(lambda: query_vector(self.embedder, text), self.vectors.dimensions)

    def cosines(self, texts: Sequence[str], query: Floats) -> Floats:
        """Return the cosine of each text with a query, shape ``(len(texts),)``.

        Raises:
            UnavailableError: As for :meth:`query`.
        """
        cosines: Floats = self._checked(lambda: self.embedder.embed(texts), len(query)) @ query
        return cosines

    def _checked(self, embed: Callable[[], Floats], dimensions: int) -> Floats:
        try:
            vectors = embed()
            if dimensions and vectors.shape[-1] != dimensions:
                problem = f"answers with {vectors.shape[-1]} numbers where the items have {dimensions}"
                raise failed(self.embedder.model, problem)
        except UnavailableError:
            self.recheck()
            raise
        return vectors


class Embeddings(Protocol):
    """Makes and keeps the vectors of the items that are searched."""

    @property
    def can_embed(self) -> bool:
        """Whether there is an embedder, for mode ``auto``."""

    @property
    def reranker(self) -> Reranker | None:
        """The model that re-ranks hits; None if no second model is installed.

        Raises:
            UnavailableError: It cannot be used.
        """

    def meaning(self, reader: Reader) -> Meaning:
        """Return the vectors of a reader's items, after making those that are missing.

        Raises:
            UnavailableError: The embedder cannot be used.
            EnvironmentFault: The vectors cannot be written.
        """

    def meaning_for_auto(self, reader: Reader) -> Meaning:
        """Like :meth:`meaning`, for mode ``auto``, which waits only if few vectors are missing.

        Raises:
            UnavailableError: Too many are missing; or as :meth:`meaning`.
            EnvironmentFault: As :meth:`meaning`.
        """


class NoEmbeddings:
    """Used if there is no embedder."""

    can_embed = False
    reranker = None

    def meaning(self, _reader: Reader) -> Meaning:
        """Raise UnavailableError."""
        raise UnavailableError("embedder-off", "there are no vectors here", hint="search through rye.Registry")

    meaning_for_auto = meaning
