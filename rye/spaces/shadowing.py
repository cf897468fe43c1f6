"""Warnings about items that shadow another signer's item of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rye.trust.model import Signature, Verdict, signer_words

MAX_HIDING_WARNINGS: Final = 20
"""Maximum number of shadowing items named in warnings; the rest are counted."""

_UNPROVEN = frozenset({Verdict.UNSIGNED, Verdict.TAMPERED})


def foreign_copy(name: str, hider: tuple[str, Signature], hidden: tuple[str, Signature]) -> str:
    """Return a warning if two copies of an item have different signers; empty if the hidden copy is not signed.

    Args:
        name: ``type:id`` of both copies.
        hider: Source and signature of the copy that is used.
        hidden: Source and signature of the copy that is shadowed.
    """
    (above, upper), (below, lower) = hider, hidden
    if lower.verdict in _UNPROVEN or (upper.verdict not in _UNPROVEN and upper.signer == lower.signer):
        return ""
    return f"{name} of {above} hides that of {below}: {_signed_by(upper)} here, {_signed_by(lower)} there"


def cut_short(sentences: Sequence[str], more: int = 0) -> tuple[str, ...]:
    """Return the first :data:`MAX_HIDING_WARNINGS` warnings, and a count of the rest."""
    more += max(len(sentences) - MAX_HIDING_WARNINGS, 0)
    rest = (f"and {more} more items that hide those of another signer",) if more else ()
    return (*sentences[:MAX_HIDING_WARNINGS], *rest)


def _signed_by(signature: Signature) -> str:
    if signature.verdict in _UNPROVEN:
        return str(signature.verdict)
    owner = f" of {signature.owner}" if signature.owner else ""
    return f"signed with {signer_words(signature.signer)}{owner}"
