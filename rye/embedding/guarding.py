"""An embedder that a caller made, held to what the protocol says: what comes of it is right, or a reason why not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from rye.embedding.protocol import Embedder, Floats
from rye.errors import RyeError, UnavailableError
from rye.escaping import inline

__all__ = ["GuardedEmbedder"]

logger = logging.getLogger(__name__)

INEXACT = 1e-2
"""How far the length of a vector may be off."""

_TOLD = 200

T = TypeVar("T")


class GuardedEmbedder:
    """Passes on what a caller's embedder answers, checked.

    Args:
        embedder: Has what :class:`rye.embedding.Embedder` describes, and maybe ``embed_query``.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = embedder.model
        self.threshold = embedder.threshold

    @property
    def dimensions(self) -> int:
        """What it says.

        Raises:
            UnavailableError: It raises instead.
        """
        return self._answer(lambda: self._embedder.dimensions)

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`.

        Raises:
            UnavailableError: It raises, or what it answers is not that many vectors of length 1.
        """
        return self._checked(self._answer(lambda: self._embedder.embed(texts)), (len(texts), self.dimensions))

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query, by ``embed_query`` where the embedder has that.

        Raises:
            UnavailableError: As for :meth:`embed`.
        """
        asked = getattr(self._embedder, "embed_query", None)
        if asked is None:
            found: Floats = self.embed([text])[0]
            return found
        return self._checked(self._answer(lambda: asked(text)), (self.dimensions,))

    def _answer(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except RyeError:
            raise
        except Exception as error:
            logger.info("the embedder %s raised", self.model, exc_info=True)
            raise self._failed(f"raised {type(error).__name__}: {inline(str(error))[:_TOLD]}") from error

    def _checked(self, answer: Any, shape: tuple[int, ...]) -> Floats:
        try:
            found = np.asarray(answer)
        except (ValueError, TypeError, OverflowError):
            raise self._failed("answered with what is no array") from None
        if found.dtype.kind not in "fiu":
            raise self._failed(f"answered with values of type {found.dtype}, not numbers")
        if found.shape != shape:
            raise self._failed(f"answered with an array of shape {found.shape} where it should be {shape}")
        with np.errstate(over="ignore"):
            rows: Floats = found.astype(np.float32)
            lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
        if not ((abs(lengths - 1) < INEXACT) | (lengths == 0)).all():
            raise self._failed("answered with what is no vector of length 1")
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0, casting="same_kind")
        return unit

    def _failed(self, problem: str) -> UnavailableError:
        name = inline(self.model)
        hint = "mend the embedder that was given, or choose another one"
        return UnavailableError("embedder-failed", f"the embedder {name} {problem}", hint=hint, embedder=name)
