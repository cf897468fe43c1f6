"""What is on disk below a root, as a manifest lists it: its items, and the trust files that say whose word counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from rye import signing, spaces
from rye.errors import EnvironmentFault, ItemError, SigningError
from rye.manifest import TRUST, ListedItem
from rye.spaces import ItemFile, Root

__all__ = ["Observed", "observe"]

Read = Callable[[Root, str], bytes]


@dataclass(slots=True)
class Observed:
    """The files of one root: no contents, but what a manifest says of them.

    Attributes:
        root: The root.
        found: The items that could be read, by path below the root.
        trusted: The same of the trust files.
        unread: What could not, by path below the root, and why: files, and folders with whatever is in them.
    """

    root: Root
    found: dict[str, ListedItem] = field(default_factory=dict)
    trusted: dict[str, ListedItem] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[ListedItem, ...]:
        """Everything that a manifest lists."""
        return (*self.found.values(), *self.trusted.values())

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
        self.take(self._listed(file.rel_path, str(file.item_type), file.item_id, data))

    def _listed(self, path: str, kind: str, item_id: str, data: bytes) -> ListedItem:
        origin = signing.Origin(str(self.root.space), self.root.bundle, kind, item_id)
        signed_at = signing.inspect(data, origin=origin, declared={}).signed_at
        return ListedItem(path, kind, item_id, len(data), hashlib.sha256(data).hexdigest(), signed_at)

    def read_trust(self) -> None:
        """Read the trust files and take them down; what is no file counts as none, as it does for trust."""
        folder = self.root.path / signing.TRUSTED_FOLDER
        try:
            paths = signing.trust_paths(folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as fault:
            self._miss_trust(signing.TRUSTED_FOLDER.as_posix(), f"the folder cannot be read: {fault.strerror}")
            return
        for path in paths:
            rel = f"{signing.TRUSTED_FOLDER.as_posix()}/{path.name}"
            try:
                self.trusted[rel] = self._listed(rel, TRUST, path.stem, signing.read_trust_bytes(path))
            except SigningError:
                continue
            except EnvironmentFault as fault:
                self._miss_trust(rel, fault.message)

    def _miss_trust(self, path: str, why: str) -> None:
        self.unread[path] = f"{self.root.source}: {path}: {why}"

    def take(self, item: ListedItem) -> None:
        """Take down what was read of a file."""
        self.found[item.path] = item

    def miss(self, error: ItemError) -> None:
        """Take down that a file or folder could not be read."""
        self.unread[str(error.details.get("path", ""))] = f"{self.root.source}: {error.message}"


def observe(root: Root) -> Observed:
    """Read every item and every trust file of a root."""
    observed, reader = Observed(root), spaces.FolderReader()
    files, faults = spaces.walk(root)
    for fault in faults:
        observed.miss(fault)
    observed.read_trust()
    try:
        for file in files:
            observed.read(file, reader.read)
    finally:
        reader.close()
    return observed
