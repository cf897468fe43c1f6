"""The one word by which a caller names items to verify or sign; it is never taken for a path."""

from __future__ import annotations

import re

from rye.errors import ArgumentError

__all__ = ["read_target"]

_GLOB = re.compile(r"[\[\]*?]")


def read_target(text: str) -> tuple[str, ...]:
    """Return ``type:id`` references, where the id may hold ``*`` and ``?``, for such a reference or for a scope.

    Raises:
        ArgumentError: ``bad-scope``, ``bad-target``.
    """
    from rye.index.schema import TYPE_NAMES
    from rye.items.scope import parse_scope

    kind, colon, item_id = text.partition(":")
    if colon:
        if kind not in TYPE_NAMES or not item_id:
            hint = f"use TYPE:ID with a type of {', '.join(TYPE_NAMES)}, or a scope such as tool.rye.*"
            raise ArgumentError("bad-target", f"target is {text!r}", hint=hint, valid=list(TYPE_NAMES))
        return (text,)
    found = []
    for scope in parse_scope(text):
        kinds = (scope.item_type,) if scope.item_type else TYPE_NAMES
        found += [f"{kind}:{_escaped(scope.prefix)}*" for kind in kinds]
        found += [f"{scope.item_type}:{_escaped(scope.itself)}"] if scope.itself else []
    return tuple(found)


def _escaped(text: str) -> str:
    return _GLOB.sub(lambda match: f"[{match[0]}]", text)
