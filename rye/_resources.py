"""The only reader of what is bundled with rye: the query grammar and rye's own signed items.

A wheel holds both below ``rye/_bundled``; a checkout holds them at its top level.

    >>> grammar_text().lstrip().startswith("//")
    True
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _root() -> Path:
    """Return the folder that holds ``grammar`` and ``items``."""
    bundled = _PACKAGE / "_bundled"
    return bundled if bundled.is_dir() else _PACKAGE.parent


def grammar_text() -> str:
    """Return the grammar of the query language, as Lark reads it."""
    return (_root() / "grammar" / "query.lark").read_text(encoding="utf-8")


def items_root() -> Path:
    """Return the root of the system space that comes with rye: the folder that holds its signed items."""
    return _root() / "items"
