"""Texts → vectors, behind one protocol; knows neither items nor indexes.

The embedded model is the default and needs no network; Ollama and OpenAI-compatible servers are asked over HTTP. Which
one is used is a :class:`Choice`, written on one line::

    embedder = open_embedder(Choice.parse("ollama:nomic-embed-text@http://127.0.0.1:11434"))
    vectors = embedder.embed(["deploy a service"])  # float32, shape (1, embedder.dimensions), unit rows
"""

from rye.embedding.choice import Choice
from rye.embedding.guarded import GuardedEmbedder, has_minilm, is_there, open_embedder
from rye.embedding.protocol import Embedder, Floats

__all__ = ["Choice", "Embedder", "Floats", "GuardedEmbedder", "has_minilm", "is_there", "open_embedder"]
