"""Opens the embedder that was chosen; each kind is imported only when it is needed."""

from __future__ import annotations

import os
from importlib.util import find_spec

from rye.embedding.choice import MINILM, VARIABLE, Choice
from rye.embedding.protocol import Embedder
from rye.errors import UnavailableError


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
        case "wordllama":
            from rye.embedding.static import StaticEmbedder

            return StaticEmbedder(choice)
        case "minilm":
            from rye.embedding.transformer import TransformerEmbedder

            return TransformerEmbedder(choice)
        case _:
            from rye.embedding.server import ServerEmbedder

            return ServerEmbedder(choice, os.environ.get(choice.key_variable, ""))
