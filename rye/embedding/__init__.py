"""Texts → vectors, behind one protocol; knows neither items nor indexes.

The embedded model is the default and needs no network; Ollama and OpenAI-compatible servers are asked over HTTP. Which
one is used is a :class:`Choice`, written on one line::

    embedder = open_embedder(Choice.parse("ollama:nomic-embed-text@http://127.0.0.1:11434"))
    vectors = embedder.embed(["deploy a service"])  # float32, shape (1, embedder.dimensions), unit rows
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from rye.embedding.choice import MINILM, VARIABLE, Choice
from rye.embedding.guarded import GuardedEmbedder
from rye.embedding.protocol import Embedder, Floats
from rye.errors import UnavailableError

__all__ = ["Choice", "Embedder", "Floats", "GuardedEmbedder", "has_minilm", "is_there", "open_embedder"]


def is_there(choice: Choice) -> bool:
    """Return whether there is an embedder, without opening it: only the default one may not be installed."""
    needs = ("wordllama", "tokenizers", "safetensors") if choice.kind == "wordllama" else ()
    return choice.kind != "none" and all(map(find_spec, needs))


def has_minilm() -> bool:
    """Return whether the package of all-MiniLM-L6-v2 is installed, without opening it."""
    return find_spec(MINILM) is not None


def open_embedder(choice: Choice, by: str = "") -> Embedder:
    """Return the embedder that is chosen; a server is not asked before it is needed.

    Args:
        choice: Which one.
        by: What chose it, for the message that says that it is none.

    Raises:
        UnavailableError: ``embedder-off``, ``embedder-missing`` or ``embedder-insecure``.
    """
    match choice.kind:
        case "none":
            hint = f"name an embedder {'there' if by else f'with {VARIABLE}'}"
            raise UnavailableError("embedder-off", f"searching by meaning is turned off{by and f' by {by}'}", hint=hint)
        case "wordllama" | "model2vec":
            from rye.embedding.static import StaticEmbedder

            return StaticEmbedder(choice)
        case "minilm" | "sentence-transformers":
            from rye.embedding.transformer import TransformerEmbedder

            return TransformerEmbedder(choice)
        case _:
            from rye.embedding.server import ServerEmbedder

            return ServerEmbedder(choice, os.environ.get(choice.key_variable, ""))
