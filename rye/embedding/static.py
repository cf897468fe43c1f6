"""WordLlama's model of 256 dimensions, the default: a text's vector is the mean of the vectors of its tokens.

Its own loader imports an HTTP client and a schema library, and downloads a tokenizer that its package has in another
folder. Reading the two files here takes half the time and no network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from rye.embedding.choice import Choice
from rye.embedding.local import LocalEmbedder, parse_model, reading
from rye.embedding.protocol import Floats, missing

WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
"""The files of WordLlama's package."""

THRESHOLD: Final = 0.15
"""The page ``rye/meaning`` has the measurements."""

_TEXTS_AT_A_TIME: Final = 256


class StaticEmbedder(LocalEmbedder):
    """Means of token vectors of whole texts, however long; thread-safe.

    Texts are lowercased, which gives the best results with this model.

    Raises:
        UnavailableError: ``embedder-missing``: a library or a file is missing or damaged.
    """

    def __init__(self, choice: Choice | None = None) -> None:
        choice = choice or Choice()
        super().__init__(choice, THRESHOLD)
        folder = wordllama_folder()
        with reading(choice, folder):
            weights, tokenizer = ((folder / name).read_bytes() for name in (WEIGHTS, TOKENIZER))
            tensors, self._tokenizer = parse_model(weights, tokenizer)
            self._vectors = tensors["embedding.weight"]
            self._digest = hashlib.sha256(tokenizer)

    @cached_property
    def model(self) -> str:
        """The name of the model, with a digest of its files."""
        digest = self._digest.copy()
        digest.update(np.ascontiguousarray(self._vectors).data)
        return f"wordllama:l2_supercat_256:lower:{digest.hexdigest()[:16]}{self._chunks}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._vectors.shape[1])

    def _cleaned(self, text: str) -> str:
        return text.lower() if text.isascii() else super()._cleaned(text).lower()

    def _raw_vectors(self, texts: Sequence[str]) -> Floats:
        """Return the sum of the token vectors of each text, not normalized."""
        sums = np.zeros((len(texts), self.dimensions), np.float32)
        # WordLlama's vectors are narrower than float32; converting all of them pays only for many texts
        vectors = self._vectors if len(texts) < _TEXTS_AT_A_TIME else self._vectors.astype(np.float32, copy=False)
        for start in range(0, len(texts), _TEXTS_AT_A_TIME):
            batch = [self._cleaned(text) for text in texts[start : start + _TEXTS_AT_A_TIME]]
            for row, encoding in enumerate(self._tokenizer.encode_batch_fast(batch, add_special_tokens=False), start):
                if encoding.ids:
                    sums[row] = vectors[encoding.ids].astype(np.float32, copy=False).sum(axis=0)
        return sums


def wordllama_folder() -> Path:
    """Return the folder of the installed package, without running its code."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise missing("wordllama", "it is not installed")
    return Path(next(iter(spec.submodule_search_locations)))
