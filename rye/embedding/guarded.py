"""An embedder that a caller made: each attribute and each answer is checked before it is used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Final, TypeVar

from rye._text import inline
from rye.embedding.protocol import Embedder, Floats, failed, unit_rows
from rye.errors import ArgumentError, RyeError

logger = logging.getLogger(__name__)

TOLERANCE: Final = 1e-2
"""How far the length of a vector may be off 1."""

_MAX_SHOWN: Final = 200
_HINT: Final = "fix the embedder that was given, or choose another one"

T = TypeVar("T")


def _is_dimensions(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) > 0


_ATTRIBUTES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "model": (
        lambda value: isinstance(value, str) and value.strip() != "" and value.isprintable(),
        "a printable text that is not empty",
    ),
    "threshold": (
        lambda value: not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) <= 1,
        "a number from 0 to 1",
    ),
    "dimensions": (_is_dimensions, "a whole number from 1"),
    "embed": (callable, "a method"),
    "embed_query": (lambda value: value is None or callable(value), "a method"),
}
"""Each attribute of an embedder: the check of its value, and what it must be in words."""


def _attribute(embedder: Any, name: str) -> Any:
    """Return a checked attribute; None for ``dimensions`` that raise, as they are read again later."""
    is_valid, wanted = _ATTRIBUTES[name]
    subject = f"{name} of embedder, of type {type(embedder).__name__},"
    try:
        value = getattr(embedder, name, None) if name == "embed_query" else getattr(embedder, name)
    except AttributeError:
        raise _bad(f"embedder is of type {type(embedder).__name__}, which has no {name}") from None
    except Exception as error:
        if name != "dimensions":
            raise _bad(f"{subject} {_raised(error)}") from error
        return None
    if not is_valid(value):
        raise _bad(f"{subject} is {_shown(repr(value))}; it must be {wanted}")
    return value


def _bad(message: str) -> ArgumentError:
    return ArgumentError("bad-embedder", message, hint="give the line of one, or what rye.Embedder describes")


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {_shown(str(error))}"


def _shown(text: str) -> str:
    return inline(text)[:_MAX_SHOWN]


class GuardedEmbedder:
    """Wraps an embedder that a caller made, and checks every answer of it.

    Args:
        embedder: Has what :class:`rye.embedding.protocol.Embedder` describes, and maybe ``embed_query``.

    Raises:
        ArgumentError: ``bad-embedder``: it lacks an attribute, or one is not what it should be.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        attributes = {name: _attribute(embedder, name) for name in _ATTRIBUTES}
        self.model: str = attributes["model"]
        self.threshold = float(attributes["threshold"])
        self._embed_query = attributes["embed_query"]

    @property
    def dimensions(self) -> int:
        """Length of a vector, as the embedder states it.

        Raises:
            UnavailableError: It raises, or states something that is not a whole number above 0.
        """
        dimensions = self._answer(lambda: self._embedder.dimensions)
        if not _is_dimensions(dimensions):
            raise failed(self.model, f"says that its dimensions are {_shown(repr(dimensions))}", hint=_HINT)
        return int(dimensions)

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.protocol.Embedder`.

        Raises:
            UnavailableError: It raises, or does not answer with one vector of length 1 for each text.
        """
        answer = self._answer(lambda: self._embedder.embed(texts))
        return unit_rows(self.model, answer, (len(texts), self.dimensions), tolerance=TOLERANCE, hint=_HINT)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query, by ``embed_query`` where the embedder has that; otherwise as :meth:`embed`."""
        if self._embed_query is None:
            vector: Floats = self.embed([text])[0]
            return vector
        answer = self._answer(lambda: self._embed_query(text))
        return unit_rows(self.model, answer, (self.dimensions,), tolerance=TOLERANCE, hint=_HINT)

    def _answer(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except RyeError:
            raise
        except Exception as error:
            logger.info("the embedder %s raised", self.model, exc_info=True)
            raise failed(self.model, _raised(error), hint=_HINT) from error
