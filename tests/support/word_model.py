"""An embedder for tests without a package: a vector counts words, each by a number made of its letters."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from rye.embedding.protocol import Floats
from rye.index.text import analysis


class WordModel:
    """Texts that share words are similar; models of other names have other vectors."""

    threshold = 0.3
    dimensions = 30

    def __init__(self, name: str = "words") -> None:
        self.model = name

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text; zeros for a text without words."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in analysis.parts(text):
                row[crc32(f"{self.model} {word}".encode()) % self.dimensions] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        found: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return found
