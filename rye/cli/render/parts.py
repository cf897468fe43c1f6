"""Small pieces that several answers show alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.signing import REASONS
from rye.signing.model import Signature

if TYPE_CHECKING:
    from rye.registry.reports import LoadedItem

__all__ = ["plural", "remedy", "signed_by", "size", "source_label", "standing", "verdict_label", "warning_lines"]

_SELF_EXPLAINING = {"trusted", "unsigned"}


def source_label(space: str, bundle: str) -> str:
    """Return ``project``, ``user`` or ``system:BUNDLE``, or ``project:NAME`` of one named by its path."""
    return inline(f"{space}:{bundle}" if bundle else space)


def verdict_label(signature: Signature, terminal: Terminal) -> str:
    """Return the mark, the verdict and, where the word does not say it all, the code of the reason."""
    verdict = str(signature.verdict)
    label = terminal.verdict(verdict)
    return label if verdict in _SELF_EXPLAINING or not signature.code else f"{label} ({inline(signature.code)})"


def standing(states: Sequence[str], successor: str, terminal: Terminal) -> str:
    """Return whether an item is superseded, deprecated or yanked, and what takes its place; nothing for others."""
    instead = f", see {inline(successor)}" if successor else ""
    return terminal.style(f"{', '.join(states)}{instead}", "magenta") if states else ""


def signed_by(signature: Signature) -> str:
    """Return who signed, when and in which format, as far as known, marking what is only said by the line."""
    proven = signature.verdict != "tampered" and signature.code != "unknown-key"
    parts = []
    if signature.owner:
        parts.append(f"by {signature.owner}")
    if signature.signer:
        parts.append(f"{'with' if proven else 'names'} key {signature.signer[:16]}")
    if signature.signed_at:
        dated = proven and signature.format == "v2"
        parts.append(f"at {signature.signed_at}" if dated else f"says at {signature.signed_at}")
    if signature.format:
        parts.append(f"as {signature.format}")
    return inline(", ".join(parts))


def remedy(loaded: LoadedItem) -> str:
    """Return the command that would make the verdict better; nothing where the reader cannot, as in a bundle."""
    reason = REASONS.get(loaded.signature.code)
    if reason is None or (loaded.space == "system" and reason.remedy.startswith("rye sign")):
        return ""
    from rye.verify.fixes import Fixing

    return Fixing.find().of_item(loaded, loaded.signature.code)


def plural(count: int, noun: str) -> str:
    """Return ``1 item``, ``2 items``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size(count: int) -> str:
    """Return a number of bytes in the unit that reads best."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def warning_lines(warnings: Sequence[str], *, stale: bool, terminal: Terminal) -> Iterator[str]:
    """Yield what there is to be warned of, a line each."""
    warning = terminal.style("warning:", "yellow")
    if stale:
        yield f"{warning} the index could not be refreshed; an older state of the files answered"
    for text in warnings:
        yield f"{warning} {inline(text)}"
