"""The embedded model: WordLlama's 256 dimensions, from the files of its installed package and nowhere else.

A text's vector is the mean of the vectors of its tokens, in lower case, of which the model knows most. WordLlama's own
loader imports an HTTP client and a schema library, and looks for the tokenizer in a folder its package does not have,
so it would download one; opening the two files directly takes half the time and no network. None of the
package's code is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rye.embedding.protocol import Floats
from rye.errors import UnavailableError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
THRESHOLD = 0.15
"""See the knowledge item rye/embedding for what it was measured on."""

_AT_A_TIME = 256


class StaticEmbedder:
    """Means of token vectors; opened from disk, used without a network. Safe to use from several threads.

    Args:
        threshold: Similarity below which nothing is found.

    Raises:
        UnavailableError: ``embedder-missing``: the extra is not installed, or its files are not there.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self.threshold = threshold
        folder = _folder()
        try:
            from safetensors import SafetensorError, safe_open
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _missing(f"{error.name} is not installed") from None
        try:
            with safe_open(folder / WEIGHTS, framework="numpy") as file:
                self._weights = file.get_tensor("embedding.weight")
            tokenizer = (folder / TOKENIZER).read_bytes()
            self._tokenizer: Tokenizer = Tokenizer.from_buffer(tokenizer)
        except (OSError, SafetensorError, ValueError) as error:
            raise _missing(f"its files cannot be read: {error}") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer_digest = hashlib.sha256(tokenizer)

    @cached_property
    def model(self) -> str:
        """The name of the model, with a digest of its files."""
        digest = self._tokenizer_digest.copy()
        digest.update(self._weights.data)
        return f"wordllama:l2_supercat_256:lower:{digest.hexdigest()[:16]}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: 256."""
        return int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`; nothing is cut off."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        # shape (tokens of the model, dimensions), narrower than float32; converted whole only where texts are many
        weights = self._weights if len(texts) < _AT_A_TIME else self._weights.astype(np.float32)
        for start in range(0, len(texts), _AT_A_TIME):
            some = [_encodable(text) for text in texts[start : start + _AT_A_TIME]]
            for row, one in enumerate(self._tokenizer.encode_batch_fast(some, add_special_tokens=False), start):
                if one.ids:
                    found[row] = weights[one.ids].astype(np.float32, copy=False).sum(axis=0)
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return found


def _encodable(text: str) -> str:
    """Return a text in lower case, with halves of surrogate pairs replaced, which are no characters."""
    return text.lower() if text.isascii() else text.encode("utf-8", "replace").decode().lower()


def _folder() -> Path:
    try:
        return Path(str(distribution("wordllama").locate_file("wordllama")))
    except PackageNotFoundError:
        raise _missing("it is not installed") from None


def _missing(problem: str) -> UnavailableError:
    message = f"the embedded model cannot be used: {problem}"
    hint = "pip install 'rye-search[semantic]', or choose a server with RYE_EMBEDDER"
    return UnavailableError("embedder-missing", message, hint=hint, embedder="wordllama")
