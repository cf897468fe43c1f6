"""While items are verified: which of them hide one of another signer in a space of lower priority."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from rye.items import ItemType
from rye.items.files import split_name
from rye.reports import VerifiedItem
from rye.signing.foreign import MAX_HIDING_WARNINGS, cut_short, foreign_copy
from rye.spaces import ItemFile, Root
from rye.verification.verifier import Verifier

__all__ = ["Shadowing"]

_FOLDERS: Final = 1 << 10

_Folder = tuple[Root, str, list[str]]
"""A root, a folder below it, and the names in that."""


class Shadowing:
    """Looks for the hidden copies of verified items. Memory does not grow with their number.

    Args:
        roots: All spaces, highest priority first.
        verifier: Judges the copies as it judges the items.
    """

    def __init__(self, roots: Sequence[Root], verifier: Verifier) -> None:
        self._roots = roots
        self._verifier = verifier
        self._place = {root.source: at for at, root in enumerate(roots)}
        self._said: list[str] = []
        self._more = 0
        self._below = lru_cache(_FOLDERS)(self._find_below)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each of the first, and how many more there are."""
        return cut_short(self._said, self._more)

    def look(self, item: VerifiedItem) -> None:
        """Note it if an item hides one that another key signed."""
        category, _, stem = item.id.rpartition("/")
        for root, folder, names in self._below(item.space, item.bundle, item.type, category):
            for name in names if root.holds(item.id) else ():
                if name.startswith(stem) and split_name(ItemType(item.type), name)[0] == stem:
                    self._compare(item, root, ItemFile.at(f"{folder}/{name}"))

    def _compare(self, item: VerifiedItem, root: Root, file: ItemFile) -> None:
        copy = self._verifier.check(root, file)
        if not isinstance(copy, VerifiedItem):
            return
        text = foreign_copy(item.ref, (item.source, item.signature), (root.source, copy.signature))
        if text and len(self._said) < MAX_HIDING_WARNINGS:
            self._said.append(text)
        elif text:
            self._more += 1

    def _find_below(self, space: str, bundle: str, item_type: str, category: str) -> list[_Folder]:
        """Return the folders of lower spaces that could hold copies of the items in one: mostly there are none."""
        source = f"{space}:{bundle}" if bundle else space
        kind = ItemType(item_type)
        folder = f"{kind.folder}/{category}" if category else kind.folder
        found = []
        for root in self._roots[self._place.get(source, len(self._roots)) + 1 :]:
            with suppress(OSError):
                names = os.listdir(os.path.join(root.path, folder))  # noqa: PTH118, PTH208 - names only, for every folder
                found.append((root, folder, names))
        return found
