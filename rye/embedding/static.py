"""Means of token vectors: the embedded model, WordLlama's of 256 dimensions, and folders of model2vec.

WordLlama's own loader imports an HTTP client and a schema library, and downloads a tokenizer that its package has in
another folder. That of model2vec needs ``huggingface-hub`` and ``joblib``, which unpickles. Reading the two files of a
model takes half the time and no network.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from rye.embedding.choice import Choice
from rye.embedding.local import LocalEmbedder, Tensors, parse_model, reading, require
from rye.embedding.protocol import Floats, missing

WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
"""The files of WordLlama's package."""

THRESHOLD: Final = 0.15
"""See the knowledge item rye/embedding for what it was measured on."""

_TEXTS_AT_A_TIME: Final = 256
_NO_TOKEN: Final = -1


class StaticEmbedder(LocalEmbedder):
    """Means of token vectors; of a text nothing is cut off. Safe to use from several threads.

    WordLlama reads texts in lower case, which it knows best. A folder of model2vec has a vector for each token in
    ``model.safetensors``, and ``tokenizer.json``; unknown tokens count for nothing.

    Args:
        choice: ``wordllama``, or ``model2vec`` with the folder as the model.

    Raises:
        UnavailableError: ``embedder-missing``: a library or a file is missing, or is not what it should be.
    """

    def __init__(self, choice: Choice | None = None) -> None:
        choice = choice or Choice()
        super().__init__(choice, THRESHOLD)
        self._is_wordllama = choice.kind == "wordllama"
        folder = wordllama_folder() if self._is_wordllama else Path(os.path.expanduser(choice.model))
        names = (WEIGHTS, TOKENIZER) if self._is_wordllama else ("model.safetensors", "tokenizer.json")
        with reading(choice, folder):
            weights, tokenizer = ((folder / name).read_bytes() for name in names)
            tensors, self._tokenizer = parse_model(weights, tokenizer)
            self._digest, self._unknown = hashlib.sha256(tokenizer), _NO_TOKEN
            if self._is_wordllama:
                self._vectors = tensors["embedding.weight"]
            else:
                self._vectors = _token_vectors(tensors)
                self._digest.update(f"{self._vectors.shape} {choice.document_prefix!r}".encode())
                vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
                self._unknown = vocabulary.get(json.loads(tokenizer)["model"].get("unk_token"), _NO_TOKEN)
                self._vectors[max(vocabulary.values(), default=0)]  # a tokenizer may know more tokens than there are

    @cached_property
    def model(self) -> str:
        """The name of the model, with a digest of its files; its folder may move."""
        digest = self._digest.copy()
        digest.update(np.ascontiguousarray(self._vectors).data)
        name = "wordllama:l2_supercat_256:lower" if self._is_wordllama else self._choice.kind
        return f"{name}:{digest.hexdigest()[:16]}{self._chunks}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._vectors.shape[1])

    def _cleaned(self, text: str) -> str:
        if not self._is_wordllama:
            return super()._cleaned(text)
        return text.lower() if text.isascii() else super()._cleaned(text).lower()

    def _sums(self, texts: Sequence[str]) -> Floats:
        sums = np.zeros((len(texts), self.dimensions), np.float32)
        # WordLlama's vectors are narrower than float32; converting all of them pays only for many texts
        vectors = self._vectors if len(texts) < _TEXTS_AT_A_TIME else self._vectors.astype(np.float32, copy=False)
        for start in range(0, len(texts), _TEXTS_AT_A_TIME):
            batch = [self._cleaned(text) for text in texts[start : start + _TEXTS_AT_A_TIME]]
            for row, encoding in enumerate(self._tokenizer.encode_batch_fast(batch, add_special_tokens=False), start):
                if ids := [token for token in encoding.ids if token != self._unknown]:
                    sums[row] = vectors[ids].astype(np.float32, copy=False).sum(axis=0)
        return sums


def _token_vectors(tensors: Tensors) -> Floats:
    """Return the vectors of tokens, shape ``(tokens, dimensions)``: some models share and weight vectors."""
    vectors = tensors["embeddings"].astype(np.float32, copy=False)
    is_table = vectors.ndim == 2 and bool(np.isfinite(vectors).all())
    require(is_table, "its embeddings are not finite numbers, one row for each token")
    if (mapping := tensors.get("mapping")) is not None:
        vectors = vectors[mapping.astype(np.int64)]
    if (weights := tensors.get("weights")) is not None:
        vectors = vectors * weights.astype(np.float32)[:, np.newaxis]
    return vectors


def wordllama_folder() -> Path:
    """Return the folder of the installed package; none of its code is run."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise missing("wordllama", "it is not installed")
    return Path(next(iter(spec.submodule_search_locations)))
