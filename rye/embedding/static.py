"""Means of token vectors: the embedded model, and folders of model2vec.

The embedded model is WordLlama's, of 256 dimensions, from the files of its installed package and nowhere else.
A text's vector is the mean of the vectors of its tokens, in lower case, of which the model knows most. WordLlama's own
loader imports an HTTP client and a schema library, and looks for the tokenizer in a folder its package does not have,
so it would download one; opening the two files directly takes half the time and no network. None of the
package's code is run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from rye.embedding.choice import Choice
from rye.embedding.protocol import Floats, Tensors, missing, read_model

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
THRESHOLD = 0.15
"""See the knowledge item rye/embedding for what it was measured on."""

_AT_A_TIME = 256


class StaticEmbedder:
    """Means of token vectors; opened from disk, used without a network. Safe to use from several threads.

    Args:
        choice: Its threshold and the size of chunks.

    Raises:
        UnavailableError: ``embedder-missing``: the package is not installed, or its files are not there.
    """

    def __init__(self, choice: Choice | None = None) -> None:
        self._choice = choice or Choice()
        self.threshold = THRESHOLD if self._choice.threshold is None else self._choice.threshold
        self.chunk_chars, self.overlap_chars, self._chunks = self._choice.chunks()
        self._read()

    def _read(self) -> None:
        folder = _folder()
        try:
            tokenizer = (folder / TOKENIZER).read_bytes()
            tensors, self._tokenizer = read_model("wordllama", (folder / WEIGHTS).read_bytes(), tokenizer)
            self._weights = tensors["embedding.weight"]
        except (OSError, KeyError, ValueError) as error:
            raise missing("wordllama", f"its files cannot be read: {error}") from None
        self._tokenizer_digest = hashlib.sha256(tokenizer)

    @cached_property
    def model(self) -> str:
        """The name of the model, with a digest of its files."""
        digest = self._tokenizer_digest.copy()
        digest.update(self._weights.data)
        return f"wordllama:l2_supercat_256:lower:{digest.hexdigest()[:16]}{self._chunks}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: 256."""
        return int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`; nothing is cut off."""
        return self._means([_encodable(text) for text in texts])

    def is_token(self, word: str) -> bool:
        """Return whether a word is one token of the model."""
        return len(self._tokenizer.encode(_encodable(word), add_special_tokens=False).ids) == 1

    def _means(self, texts: Sequence[str], without: int = -1) -> Floats:
        """Return the direction of the mean of the tokens of each text, without one token."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        # shape (tokens of the model, dimensions), narrower than float32; converted whole only where texts are many
        weights = self._weights if len(texts) < _AT_A_TIME else self._weights.astype(np.float32)
        for start in range(0, len(texts), _AT_A_TIME):
            some = self._tokenizer.encode_batch_fast(list(texts[start : start + _AT_A_TIME]), add_special_tokens=False)
            for row, one in enumerate(some, start):
                if ids := one.ids if without < 0 else [token for token in one.ids if token != without]:
                    found[row] = weights[ids].astype(np.float32, copy=False).sum(axis=0)
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return found


class FolderEmbedder(StaticEmbedder):
    """A model2vec folder: ``model.safetensors`` with a vector for each token, ``tokenizer.json`` and ``config.json``.

    Args:
        choice: ``model2vec`` with the folder as the model.

    Raises:
        UnavailableError: ``embedder-missing``: a library or a file is missing, or is not what model2vec writes.
    """

    def _read(self) -> None:
        folder = Path(os.path.expanduser(self._choice.model))
        try:
            tokenizer = (folder / "tokenizer.json").read_bytes()
            weights = (folder / "model.safetensors").read_bytes()
            tensors, self._tokenizer = read_model(self._choice.kind, weights, tokenizer)
            self._weights = _token_vectors(tensors)
            vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
            unknown = json.loads(tokenizer)["model"].get("unk_token")
            self._weights[max(vocabulary.values(), default=0)]  # a tokenizer may know more tokens than there are
        except (OSError, KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise missing(self._choice.kind, f"the model in {folder} cannot be used: {error}") from None
        self._unknown = vocabulary.get(unknown, -1)
        self._tokenizer_digest = hashlib.sha256(tokenizer)

    @cached_property
    def model(self) -> str:
        """The name of the model, with a digest of its files; its folder may move."""
        digest = self._tokenizer_digest.copy()
        digest.update(f"{self._weights.shape} {self._choice.document_prefix!r}".encode())
        digest.update(np.ascontiguousarray(self._weights).data)
        return f"model2vec:{digest.hexdigest()[:16]}{self._chunks}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`; nothing is cut off, and unknown tokens count for nothing."""
        sendable = [f"{self._choice.document_prefix}{text}".encode("utf-8", "replace").decode() for text in texts]
        return self._means(sendable, self._unknown)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query."""
        sendable = f"{self._choice.query_prefix}{text}".encode("utf-8", "replace").decode()
        found: Floats = self._means([sendable], self._unknown)[0]
        return found


def _token_vectors(tensors: Tensors) -> Floats:
    """Return the vector of each token: some models share one among several tokens, and weight each token."""
    found = tensors["embeddings"].astype(np.float32, copy=False)
    if found.ndim != 2 or not np.isfinite(found).all():
        message = "its embeddings are not finite numbers, one row for each token"
        raise ValueError(message)
    if (mapping := tensors.get("mapping")) is not None:
        found = found[mapping.astype(np.int64)]
    if (weights := tensors.get("weights")) is not None:
        found = found * weights.astype(np.float32)[:, np.newaxis]
    return found


def _encodable(text: str) -> str:
    """Return a text in lower case, with halves of surrogate pairs replaced, which are no characters."""
    return text.lower() if text.isascii() else text.encode("utf-8", "replace").decode().lower()


def _folder() -> Path:
    spec = find_spec("wordllama")  # which runs nothing of the package
    if spec is None or not spec.submodule_search_locations:
        raise missing("wordllama", "it is not installed")
    return Path(next(iter(spec.submodule_search_locations)))
