"""What the words after ``rye verify`` and ``rye sign`` name: paths, ``type:id`` references, or scopes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from rye import spaces
from rye.errors import ArgumentError
from rye.index.schema import TYPE_NAMES
from rye.layout import Layout
from rye.search.request import parse_scope
from rye.spaces import FileStat, Root

Accepts = Callable[[Root, FileStat], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """One of the words: the text itself, the roots to look in, and which of their files it names."""

    text: str
    roots: tuple[Root, ...]
    accepts: Accepts


def read_targets(texts: tuple[str, ...], layout: Layout, space: str) -> tuple[Target, ...]:
    """Return what each word names; no words name everything.

    A word is a reference when it starts with an item type and a colon, or is an id with a slash and a ``*``; a path
    when it exists on disk or looks like one; else a scope.

    Raises:
        ArgumentError: ``bad-scope`` or ``bad-target``.
    """
    given: tuple[object, ...] = texts
    wrong = [text for text in given if not (isinstance(text, str) and text.strip())]
    if wrong:
        message = f"target is {wrong[0]!r}"
        raise ArgumentError("bad-target", message, hint="name a path, TYPE:ID, or a scope, each as a text of its own")
    roots = layout.in_space(space)
    if not texts:
        return (Target("*", roots, lambda _root, _file: True),)
    return tuple(_read(text, roots, layout) for text in texts)


def _read(text: str, roots: tuple[Root, ...], layout: Layout) -> Target:
    kind, separator, item_id = text.partition(":")
    if separator and kind in TYPE_NAMES:
        return Target(text, roots, lambda _root, file: file.item_type == kind and fnmatchcase(file.item_id, item_id))
    path = Path(text)
    if "/" in text and "*" in text and not path.exists():
        return Target(text, roots, lambda _root, file: fnmatchcase(file.item_id, text))
    if path.exists() or text.startswith((".", "/", "~")) or path.suffix in spaces.SUFFIXES:
        return _path_target(text, path.expanduser(), layout)
    scopes = parse_scope(text)
    return Target(text, roots, lambda _root, file: any(scope.holds(file.item_type, file.item_id) for scope in scopes))


def _path_target(text: str, path: Path, layout: Layout) -> Target:
    """A file or folder: inside a known root its items, else a bundle or project of its own."""
    place = os.path.abspath(path)  # noqa: PTH100 - a link is judged where it stands, not where it leads
    if not os.path.lexists(place):
        message = f"there is no file or folder {text!r}"
        raise ArgumentError("bad-target", message, hint="name a path, TYPE:ID, or a scope such as tool.rye.*")
    inside = [root for root in layout.roots if _within(place, os.path.abspath(root.path))]  # noqa: PTH100 - as above
    if inside:
        return Target(text, tuple(inside), lambda root, file: _within(str(root.path / file.rel_path), place))
    around = tuple(root for root in layout.roots if _within(os.path.abspath(root.path), place))  # noqa: PTH100 - as above
    taken = {root.bundle for root in layout.roots}
    others, _ = spaces.named_roots([path], taken=taken) if path.is_dir() else ((), ())
    known = {root.path for root in around}
    roots = (*around, *(root for root in others if root.path not in known))
    if not roots:
        message = f"{text!r} is in none of the spaces, and no items lie below it"
        raise ArgumentError(
            "bad-target", message, hint="name a file below .ai or a bundle's root, or a bundle's folder"
        )
    return Target(text, roots, lambda _root, _file: True)


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
