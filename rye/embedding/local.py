"""Shared code of local models: reading files without running them, prefixes, and vectors of length 1.

A model is data: its tensors are safetensors and its tokenizer is JSON. Nothing is unpickled, imported or downloaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rye.embedding.choice import CHUNK, Choice
from rye.embedding.protocol import Floats, missing

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Tensors = dict[str, npt.NDArray[Any]]


@contextmanager
def reading(choice: Choice, folder: Path) -> Iterator[None]:
    """Convert every error of reading a model into one of rye's.

    Raises:
        UnavailableError: ``embedder-missing``.
    """
    try:
        yield
    except ImportError as error:
        raise missing(choice.kind, f"{error.name} is not installed") from None
    except (OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise missing(choice.kind, f"the model in {folder} cannot be used: {error}") from None


def parse_model(weights: bytes, tokenizer: bytes) -> tuple[Tensors, Tokenizer]:
    """Parse the files of a model: tensors as safetensors, and a tokenizer without padding and truncation.

    Raises:
        ImportError: A library is not installed.
        ValueError: A file is damaged, or has a number type that NumPy lacks.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load
    from tokenizers import Tokenizer

    try:
        tensors = load(weights)
    except (SafetensorError, KeyError) as error:  # KeyError: a number type that NumPy lacks
        message = f"its tensors cannot be read: {error}"
        raise ValueError(message) from None
    parsed: Tokenizer = Tokenizer.from_buffer(tokenizer)
    parsed.no_padding()
    parsed.no_truncation()
    return tensors, parsed


class LocalEmbedder(ABC):
    """A local model; thread-safe.

    A subclass reads its files, sets the tokenizer, and computes the vectors of texts.

    Args:
        choice: Its threshold, prefixes and chunks.
        threshold: The model's own threshold.
        chars: The chunk size that suits the model.
    """

    _tokenizer: Tokenizer

    def __init__(self, choice: Choice, threshold: float, chars: int = CHUNK) -> None:
        self._choice = choice
        self.threshold = threshold if choice.threshold is None else choice.threshold
        self.chunk_chars, self.overlap_chars, self._chunks = choice.chunks(chars)

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.protocol.Embedder`."""
        return self._unit_vectors([self._choice.document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query, shape ``(dimensions,)``."""
        vector: Floats = self._unit_vectors([self._choice.query_prefix + text])[0]
        return vector

    def is_token(self, word: str) -> bool:
        """Return whether a word is one token of the model."""
        return len(self._tokenizer.encode(self._cleaned(word), add_special_tokens=False).ids) == 1

    def _cleaned(self, text: str) -> str:
        """Return a text that the tokenizer accepts, without lone surrogates."""
        return text.encode("utf-8", "replace").decode()

    @abstractmethod
    def _raw_vectors(self, texts: Sequence[str]) -> Floats:
        """Return the sum of the token vectors of each text, not normalized, shape ``(len(texts), dimensions)``."""

    def _unit_vectors(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, scaled to length 1; zeros stay zeros."""
        rows = self._raw_vectors(texts)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        return rows
