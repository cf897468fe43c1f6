"""Files of a page as they are on disk at this moment; what the very same bytes gave before is not made again.

Every file is read and hashed each time it is shown. Only what is a function of its bytes and of where they are is kept:
the item, and what the bytes prove. Whether that is to be trusted is asked anew each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from rye import spaces
from rye.index.reading import take_item
from rye.items import Item, ItemType
from rye.signing import Evidence, Origin
from rye.spaces import Root

KEPT_ITEMS = 4096
KEPT_BYTES = 8 << 20
"""How many items are kept in one process, and how large they may be together."""

LARGEST_KEPT = 1 << 16
"""How large an item may be to be kept: the bytes of its file, and :data:`_VALUE_BYTES` a tag, symbol and section."""

_VALUE_BYTES = 256

Key = tuple[bytes, Origin, str]
"""SHA-256 of all bytes of a file, where they were found, and the path, whose extension decides the format."""


class Read(NamedTuple):
    """One file: the item as a page shows it, without metadata and texts of sections, and what its bytes prove."""

    item: Item
    evidence: Evidence
    origin: Origin


class Shelf:
    """What was read lately, the least recently used forgotten first. Safe to use from several threads.

    Args:
        most: How many files are kept.
        most_bytes: How large they may be together.
    """

    def __init__(self, most: int = KEPT_ITEMS, most_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Read, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, root: Root, path: str, item_type: ItemType, item_id: str) -> Read:
        """Read one file, and parse and inspect its bytes unless that was done to the same bytes at the same place.

        Args:
            root: The space root.
            path: Path of the file relative to the root.
            item_type: What the path says it is.
            item_id: The id that the path gives it.

        Raises:
            ItemError: The file cannot be read, or is no item.
        """
        data = spaces.read_file(root, path)
        digest = sha256(data)
        key = (digest.digest(), Origin(root.space, root.bundle, str(item_type), item_id), path)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        taken = take_item(data, key[1], path, content_digest=digest.hexdigest())
        item = taken.item
        outline = tuple(replace(section, text="") for section in item.sections)
        found = Read(replace(item, metadata={}, declared={}, sections=outline), taken.evidence, taken.origin)
        self._keep(key, found, len(data) + _VALUE_BYTES * (len(item.tags) + len(item.symbols) + len(outline)))
        return found

    def _keep(self, key: Key, found: Read, size: int) -> None:
        if size > LARGEST_KEPT:
            return
        with self._lock:
            _, before = self._kept.pop(key, (found, 0))
            self._kept[key] = found, size
            self._bytes += size - before
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]
