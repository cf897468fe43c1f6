"""Wraps an embedder supplied by a caller, and checks its attributes and every answer before use."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Final, TypeVar

from rye._text import inline
from rye.embedding.protocol import Embedder, Floats, failed, unit_rows
from rye.errors import ArgumentError, RyeError

logger = logging.getLogger(__name__)

TOLERANCE: Final = 1e-2
"""How far the length of a vector may differ from 1."""

_MAX_SHOWN: Final = 200
_HINT: Final = "fix the embedder that was given, or choose another one"

T = TypeVar("T")


def _is_dimensions(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) > 0


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {_shown(str(error))}"


def _shown(text: str) -> str:
    return inline(text)[:_MAX_SHOWN]


def _bad(embedder: object, why: str = "") -> ArgumentError:
    message = f"embedder, of type {type(embedder).__name__}, is not what rye.embedding.protocol.Embedder describes{why}"
    hint = "give it model, a printable text; threshold, a number from 0 to 1; dimensions; and embed"
    return ArgumentError("bad-embedder", message, hint=hint)


def _size(embedder: object, name: str, least: int) -> int | None:
    """Return a size attribute of an embedder; None if it has none.

    Raises:
        ValueError: It is not a whole number, or it is too small.
    """
    size = getattr(embedder, name, None)
    if size is not None and (isinstance(size, bool) or not isinstance(size, Integral) or int(size) < least):
        message = f"{name} is {size!r}, not a whole number from {least} on"
        raise ValueError(message)
    return None if size is None else int(size)


class GuardedEmbedder:
    """Wraps an embedder supplied by a caller, and checks its every answer.

    Args:
        embedder: Must have the attributes of :class:`rye.embedding.protocol.Embedder`, except the optional ones.

    Attributes:
        model: Its name.
        threshold: Least cosine at which a text matches.
        batch, chunk_chars, overlap_chars: Its sizes; None for a size it does not define.
        is_token: Returns whether a word is a token of its model; None if the embedder cannot tell.

    Raises:
        ArgumentError: ``bad-embedder``: an attribute is missing or not valid.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        try:
            model: object = embedder.model
            self.model, self.threshold = str(model), float(embedder.threshold)
            self._embed_query: Any = getattr(embedder, "embed_query", None)
            self._is_token: Any = getattr(embedder, "is_token", None)
            self.batch, self.chunk_chars = _size(embedder, "batch", 1), _size(embedder, "chunk_chars", 1)
            self.overlap_chars = _size(embedder, "overlap_chars", 0)
            is_named = model == self.model and self.model.strip() and self.model.isprintable()
            is_embedder = is_named and 0 <= self.threshold <= 1 and callable(embedder.embed)
        except Exception as error:
            raise _bad(embedder, f": {_raised(error)}") from error
        if not is_embedder:
            raise _bad(embedder)

    @property
    def is_token(self) -> Callable[[str], bool] | None:
        """Returns whether a word is a token of the model; None if the embedder cannot tell."""
        return self._is_token and (lambda word: bool(self._answer(lambda: self._is_token(word))))

    @property
    def dimensions(self) -> int:
        """Length of a vector, as the embedder states it.

        Raises:
            UnavailableError: The embedder raises, or its value is not a whole number above 0.
        """
        dimensions = self._answer(lambda: self._embedder.dimensions)
        if not _is_dimensions(dimensions):
            raise failed(self.model, f"says that its dimensions are {_shown(repr(dimensions))}", hint=_HINT)
        return int(dimensions)

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.protocol.Embedder`.

        Raises:
            UnavailableError: The embedder raises, or does not return one vector of length 1 per text.
        """
        answer = self._answer(lambda: self._embedder.embed(texts))
        return unit_rows(self.model, answer, (len(texts), self.dimensions), tolerance=TOLERANCE, hint=_HINT)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query, by ``embed_query`` if the embedder has it, else by :meth:`embed`."""
        if self._embed_query is None:
            vector: Floats = self.embed([text])[0]
            return vector
        answer = self._answer(lambda: self._embed_query(text))
        return unit_rows(self.model, answer, (self.dimensions,), tolerance=TOLERANCE, hint=_HINT)

    def _answer(self, ask: Callable[[], T]) -> T:
        """Call a function of the embedder; raise any other exception of it as an error of rye."""
        try:
            return ask()
        except RyeError:
            raise
        except Exception as error:
            logger.info("the embedder %s raised", self.model, exc_info=True)
            raise failed(self.model, _raised(error), hint=_HINT) from error
