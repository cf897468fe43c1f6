"""The embedded model: means of token vectors, from the package's files alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.embedding import static
from rye.embedding.static import StaticEmbedder
from rye.errors import UnavailableError
from tests.support.files import lay

TEXTS = ["deploy a service", "", "Grüße aus Köln 東京 🎉", "a\x00b", "\ud800 half a pair", "x" * 5_000, "deploy " * 300]


@pytest.fixture(scope="session")
def embedder() -> StaticEmbedder:
    """Return the model, where the extra is installed."""
    return StaticEmbedder()


def brute_force(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the mean of a text's token vectors in double precision, by other means than rye's."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = static.wordllama_folder()
    weights = load_file(folder / static.WEIGHTS)["embedding.weight"].astype(np.float64)
    tokens = Tokenizer.from_file(str(folder / static.TOKENIZER)).encode(text, add_special_tokens=False).ids
    mean = np.array([weights[token] for token in tokens]).mean(axis=0)
    return np.asarray(mean / np.sqrt((mean**2).sum()))


def test_a_vector_is_the_mean_of_the_tokens_of_a_text(embedder: StaticEmbedder) -> None:
    """The same as a computation in double precision, for text of any kind."""
    found = embedder.embed(TEXTS)
    assert found.shape == (len(TEXTS), embedder.dimensions) == (len(TEXTS), 256)
    assert found.dtype == np.float32
    for row, text in zip(found, TEXTS, strict=True):
        if text:
            assert np.abs(row - brute_force(text.encode("utf-8", "replace").decode().lower())).max() < 1e-5, text
    assert not found[1].any()


@pytest.mark.parametrize("spoilt", [static.WEIGHTS, static.TOKENIZER])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff" * 100])
def test_unreadable_files_are_reported_as_missing(
    spoilt: str, content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package whose files are gone or damaged counts as not installed, and does not crash."""
    real = static.wordllama_folder()
    lay(tmp_path, {"wordllama/__init__.py": "raise AssertionError\n"})
    for name in (static.WEIGHTS, static.TOKENIZER):
        file = tmp_path / "wordllama" / name
        file.parent.mkdir()
        if name != spoilt:
            file.symlink_to(real / name)
        elif content is not None:
            file.write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnavailableError) as caught:
        StaticEmbedder()
    assert caught.value.code == "embedder-missing"
