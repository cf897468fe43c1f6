"""Opens the chosen embedder; each kind is imported only when it is needed."""

from __future__ import annotations

import os
from importlib.util import find_spec

from rye.embedding.choice import MINILM, VARIABLE, Choice
from rye.embedding.protocol import Embedder
from rye.errors import UnavailableError


def is_there(choice: Choice) -> bool:
    """Return whether the embedder is available, without opening it.

    Only the packages of the default embedder are looked for; any other embedder counts as available, except ``none``.
    """
    needs = ("wordllama", "tokenizers", "safetensors") if choice.kind == "wordllama" else ()
    return choice.kind != "none" and all(map(find_spec, needs))


def has_minilm() -> bool:
    """Return whether the package of all-MiniLM-L6-v2 is installed, without opening it."""
    return find_spec(MINILM) is not None


def open_embedder(choice: Choice, by: str = "") -> Embedder:
    """Return the chosen embedder. A server is not contacted before the first request.

    Args:
        choice: The choice.
        by: Where the choice was made, for the message if it is ``none``.

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
