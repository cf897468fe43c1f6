r"""The one loader for YAML that nobody vouches for: plain data, in bounded time, or one :class:`ItemError`.

No tag can name a type. Scalars follow the YAML 1.2 core schema: ``on`` and ``12:30`` are text, dates are ISO text. A
later duplicate key wins. Of several documents the first is read. Aliases work, but each use counts as much as what it
stands for.

    >>> load("tags: [on, 12:30]\nversion: 1.10", as_text=frozenset({"version"}))
    {'tags': ['on', '12:30'], 'version': '1.10'}
"""

from __future__ import annotations

from typing import Any

from rye.errors import ItemError
from rye.items._flat_yaml import read_flat
from rye.items._yaml_scalars import NOT_TEXT, plain

__all__ = ["MAX_CHARS", "ambiguity", "load"]

MAX_CHARS = 1 << 20
"""How long a YAML text may be."""

_NO_TEXT: frozenset[str] = frozenset()


def load(text: str, *, as_text: frozenset[str] = _NO_TEXT, first_line: int = 1) -> Any:
    """Return the first document of ``text`` as dicts with string keys, lists and scalars; None when it is empty.

    Args:
        text: YAML of at most :data:`MAX_CHARS` characters.
        as_text: Top-level keys whose plain scalars stay as written, so that ``version: 1.10`` is not a number.
        first_line: The line of the file on which ``text`` begins, for messages.

    Raises:
        ItemError: ``unparsable``, ``too-large``, ``too-deep`` or ``alias-bomb``.
    """
    if len(text) > MAX_CHARS:
        raise ItemError("too-large", f"YAML of {len(text):,} characters", hint=f"keep it below {MAX_CHARS:,}")
    if not text.strip(" \n"):
        return None
    flat = read_flat(text, lambda written, key: plain(written, raw=key in as_text))
    if flat is not None and NOT_TEXT.isdisjoint(flat):
        return flat
    from rye.items._yaml_events import parse  # PyYAML takes longer to import than most searches

    return parse(text, as_text, first_line)


def ambiguity(text: str, *, first_line: int = 1) -> tuple[str, int] | None:
    """Return what :func:`load` passes over in silence, and its line: a key that stands twice, a second document.

    For files in which a value must not be lost; asked of a text that :func:`load` has read.

    Raises:
        ItemError: ``unparsable``, for what follows the first document.
    """
    from rye.items._yaml_events import ambiguity as found

    return found(text, first_line)
