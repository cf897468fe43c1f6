"""Open the chosen embedder, and check the answers of one that a caller made."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from rye._text import inline
from rye.embedding.choice import MINILM, VARIABLE, Choice
from rye.embedding.protocol import Embedder, Floats
from rye.errors import ArgumentError, RyeError, UnavailableError

logger = logging.getLogger(__name__)

INEXACT = 1e-2
"""How far the length of a vector may be off."""

_MAX_SHOWN = 200

_DEFAULT_NEEDS = ("wordllama", "tokenizers", "safetensors")

T = TypeVar("T")


class GuardedEmbedder:
    """Wraps an embedder that a caller made, and checks every answer of it.

    Args:
        embedder: Has what :class:`rye.embedding.Embedder` describes, and maybe ``embed_query``.

    Raises:
        ArgumentError: ``bad-embedder``: it lacks an attribute, or one is not what it should be.
    """

    def __init__(self, embedder: Embedder) -> None:
        found = _attributes(embedder)
        self._embedder = embedder
        self.model: str = found["model"]
        self.threshold = float(found["threshold"])

    @property
    def dimensions(self) -> int:
        """Length of a vector, as the embedder states it.

        Raises:
            UnavailableError: It raises, or states something that is not a whole number above 0.
        """
        found = self._answer(lambda: self._embedder.dimensions)
        if not _is_dimensions(found):
            raise self._failed(f"says that its dimensions are {_shown(found)}")
        return int(found)

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`.

        Raises:
            UnavailableError: It raises, or does not answer with one vector of length 1 for each text.
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
            raise self._failed(f"raised {type(error).__name__}: {_shown(error, str)}") from error

    def _checked(self, answer: Any, shape: tuple[int, ...]) -> Floats:
        try:
            found = np.asarray(answer)
        except (ValueError, TypeError, OverflowError):
            raise self._failed("answered with something that is not an array") from None
        if found.dtype.kind not in "fiu":
            raise self._failed(f"answered with values of type {found.dtype}, not numbers")
        if found.shape != shape:
            raise self._failed(f"answered with an array of shape {found.shape} where it should be {shape}")
        with np.errstate(over="ignore"):
            rows: Floats = found.astype(np.float32)
            lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
        if not ((abs(lengths - 1) < INEXACT) | (lengths == 0)).all():
            raise self._failed("answered with vectors that do not have length 1")
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0, casting="same_kind")
        return unit

    def _failed(self, problem: str) -> UnavailableError:
        name = inline(self.model)
        hint = "fix the embedder that was given, or choose another one"
        return UnavailableError("embedder-failed", f"the embedder {name} {problem}", hint=hint, embedder=name)


def _is_dimensions(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) > 0


_ATTRIBUTES: dict[str, tuple[Callable[[Any], bool], str]] = {
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
    "embed_query": (callable, "a method"),
}
"""Each attribute of an embedder: the check of its value, and what it must be in words."""

_HINT = "give the line of one, or what rye.Embedder describes"


def _attributes(embedder: Any) -> dict[str, Any]:
    """Check the attributes of an embedder and return them; ``dimensions`` may raise, as it is read again later."""
    found: dict[str, Any] = {}
    lacking = []
    kind = type(embedder).__name__
    for name in _ATTRIBUTES:
        try:
            found[name] = getattr(embedder, name)
        except AttributeError:
            lacking.append(name)
        except Exception as error:
            if name != "dimensions":
                message = f"{name} of embedder, of type {kind}, raised {type(error).__name__}: {_shown(error, str)}"
                raise ArgumentError("bad-embedder", message, hint=_HINT) from error
    if found.get("embed_query", lacking) is None:  # as good as none
        del found["embed_query"]
    if lacking := [name for name in lacking if name != "embed_query"]:
        message = f"embedder is of type {kind}, which has no {' and no '.join(lacking)}"
        raise ArgumentError("bad-embedder", message, hint=_HINT)
    for name, value in found.items():
        is_valid, wanted = _ATTRIBUTES[name]
        if not is_valid(value):
            message = f"{name} of embedder, of type {kind}, is {_shown(value)}; it must be {wanted}"
            raise ArgumentError("bad-embedder", message, hint=_HINT)
    return found


def _shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    return inline(form(value))[:_MAX_SHOWN]


def is_there(choice: Choice) -> bool:
    """Return whether there is an embedder, without opening it: only the default one may not be installed."""
    return choice.kind != "none" and (choice.kind != Choice().kind or all(map(find_spec, _DEFAULT_NEEDS)))


def has_minilm() -> bool:
    """Return whether the package of all-MiniLM-L6-v2 is installed, without opening it."""
    return find_spec(MINILM) is not None


def open_embedder(choice: Choice, by: str = "") -> Embedder:
    """Return the embedder that is chosen; a server is not asked before it is needed.

    Args:
        choice: Which one.
        by: What chose it, for the message that says that it is none.

    Raises:
        UnavailableError: ``embedder-off``, ``embedder-missing`` or ``embedder-insecure``.
    """
    if choice.kind == "none":
        message = f"searching by meaning is turned off{by and f' by {by}'}"
        raise UnavailableError(
            "embedder-off", message, hint=f"name an embedder {'there' if by else f'with {VARIABLE}'}"
        )
    if choice.kind == "wordllama":
        from rye.embedding.static import StaticEmbedder

        return StaticEmbedder(choice)
    if choice.kind == "model2vec":
        from rye.embedding.static import FolderEmbedder

        return FolderEmbedder(choice)
    if choice.kind in {"minilm", "sentence-transformers"}:
        from rye.embedding.transformer import TransformerEmbedder

        return TransformerEmbedder(choice)
    from rye.embedding.server import ServerEmbedder

    return ServerEmbedder(choice, os.environ.get(choice.key_variable, ""))
