"""From a choice to the embedder; each kind is loaded when it is chosen."""

from __future__ import annotations

import os

from rye.embedding.choice import VARIABLE, Choice
from rye.embedding.protocol import Embedder
from rye.errors import UnavailableError

__all__ = ["open_embedder"]


def open_embedder(choice: Choice, by: str = "") -> Embedder:
    """Return the embedder that is chosen; a server is not asked before it is needed.

    Args:
        choice: Which one.
        by: What chose it, for the message that says that it is none.

    Raises:
        UnavailableError: ``embedder-off``, ``embedder-missing`` or ``embedder-insecure``.
    """
    if choice.kind == "none":
        message = f"searching by meaning is turned off{by and f' by {by}'}"
        raise UnavailableError(
            "embedder-off", message, hint=f"name an embedder {'there' if by else f'with {VARIABLE}'}"
        )
    if choice.kind == "wordllama":
        from rye.embedding.static import THRESHOLD, StaticEmbedder

        return StaticEmbedder(THRESHOLD if choice.threshold is None else choice.threshold)
    from rye.embedding.server import ServerEmbedder

    return ServerEmbedder(choice, os.environ.get(choice.key_variable, ""))
