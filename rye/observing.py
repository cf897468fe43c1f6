"""What is on disk below a root, as a manifest lists it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from rye import signing, spaces
from rye.errors import ItemError
from rye.manifest import ListedItem
from rye.spaces import ItemFile, Root

__all__ = ["Observed", "observe"]

Read = Callable[[Root, str], bytes]


@dataclass(slots=True)
class Observed:
    """The files of one root: no contents, but what a manifest says of them.

    Attributes:
        root: The root.
        found: What could be read, by path below the root.
        unread: What could not, by path below the root, and why: files, and folders with whatever is in them.
    """

    root: Root
    found: dict[str, ListedItem] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each file or folder that could not be read."""
        return tuple(self.unread.values())

    def read(self, file: ItemFile, read: Read = spaces.read_file) -> None:
        """Read a file and take it down."""
        try:
            data = read(self.root, file.rel_path)
        except ItemError as error:
            self.miss(error)
            return
        kind = str(file.item_type)
        origin = signing.Origin(str(self.root.space), self.root.bundle, kind, file.item_id)
        signed_at = signing.inspect(data, origin=origin, declared={}).signed_at
        digest = hashlib.sha256(data).hexdigest()
        self.take(ListedItem(file.rel_path, kind, file.item_id, len(data), digest, signed_at))

    def take(self, item: ListedItem) -> None:
        """Take down what was read of a file."""
        self.found[item.path] = item

    def miss(self, error: ItemError) -> None:
        """Take down that a file or folder could not be read."""
        self.unread[str(error.details.get("path", ""))] = f"{self.root.source}: {error.message}"


def observe(root: Root) -> Observed:
    """Read every item of a root."""
    observed, reader = Observed(root), spaces.FolderReader()
    files, faults = spaces.walk(root)
    for fault in faults:
        observed.miss(fault)
    try:
        for file in files:
            observed.read(file, reader.read)
    finally:
        reader.close()
    return observed
