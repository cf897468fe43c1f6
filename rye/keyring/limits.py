"""What a key may sign by all of the user's trust files together: each of them has to allow it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from rye.trust.trust_entry import TrustEntry


def together(entries: Iterable[TrustEntry]) -> TrustEntry | None:
    """Return the first trust file of a key, with the limits of all of the user's files of it; None without one.

    Files of a project or a bundle are limits on that project or bundle, and stay there.
    """
    return combined([entry for entry in entries if entry.is_users])


def combined(entries: Sequence[TrustEntry]) -> TrustEntry | None:
    """Return the first of some trust files of a key, with the limits of all, revoked if one is; None without one."""
    if not entries:
        return None
    first, *others = entries
    for entry in others:
        ends = [end for end in (first.not_after, entry.not_after) if end is not None]
        patterns, revoked = _both(first.patterns, entry.patterns), first.revoked or entry.revoked
        first = dataclasses.replace(first, patterns=patterns, not_after=min(ends, default=None), revoked=revoked)
    return first


def _both(left: Sequence[str] | None, right: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return patterns for what two limits both allow; where no pattern says it exactly, for less."""
    if left is None or right is None:
        both = right if left is None else left
        return None if both is None else tuple(both)
    met = (_meet(one, other) for one in left for other in right)
    return tuple(dict.fromkeys(pattern for pattern in met if pattern))


def _meet(one: str, other: str) -> str:
    """Return the pattern for the items that two patterns both match; empty if there is none."""
    if one == other:
        return one
    kind, _, path = one.rpartition(":")
    other_kind, _, other_path = other.rpartition(":")
    if kind and other_kind and kind != other_kind:
        return ""
    both = _meet_paths(path.split("/"), other_path.split("/"))
    if "bundle" in {kind, other_kind} and kind != other_kind:
        return ""
    if "skill" in {kind, other_kind} and kind != other_kind and not both.endswith("*"):
        return ""  # skill:a is everything below it, and a without a kind is not
    return f"{kind or other_kind}:{both}".removeprefix(":") if both else ""


def _meet_paths(one: Sequence[str], other: Sequence[str]) -> str:
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < len(longer) and shorter[-1] != "*":
        return ""
    met = []
    for at, segment in enumerate(longer):
        above = shorter[at] if at < len(shorter) else "*"
        if "*" not in {above, segment} and above != segment:
            return ""
        met.append(above if segment == "*" else segment)
    return "/".join(met)
