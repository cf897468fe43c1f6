"""What to say of an item that hides another of the same type and id which a different key signed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rye.signing import Signature, Verdict

MAX_HIDING_WARNINGS: Final = 20
"""Items named for hiding another signer's; the rest are counted."""

_UNPROVEN = frozenset({Verdict.UNSIGNED, Verdict.TAMPERED})


def foreign_copy(name: str, hider: tuple[str, Signature], hidden: tuple[str, Signature]) -> str:
    """Return a sentence where two copies of an item do not have the same signer; nothing where the hidden has none.

    Args:
        name: ``type:id`` of both.
        hider: Source of the one that wins, and its signature.
        hidden: The same of the one that does not.
    """
    (above, upper), (below, lower) = hider, hidden
    if lower.verdict in _UNPROVEN or _signer(upper) == lower.signer:
        return ""
    return f"{name} of {above} hides that of {below}: {_said(upper)} here, {_said(lower)} there"


def cut_short(sentences: Sequence[str], more: int = 0) -> tuple[str, ...]:
    """Return the first of some sentences, and how many others there are besides."""
    more += max(len(sentences) - MAX_HIDING_WARNINGS, 0)
    rest = (f"and {more} more items that hide those of another signer",) if more else ()
    return (*sentences[:MAX_HIDING_WARNINGS], *rest)


def _signer(signature: Signature) -> str:
    return "" if signature.verdict in _UNPROVEN else signature.signer


def _said(signature: Signature) -> str:
    """Return who signed, in words."""
    if signature.verdict in _UNPROVEN:
        return str(signature.verdict)
    owner = f" of {signature.owner}" if signature.owner else ""
    return f"signed with key {signature.signer[:16]}{owner}"
