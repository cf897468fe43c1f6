"""The files on disk below a root, as a manifest lists them: items and trust files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rye import signing, spaces
from rye.errors import EnvironmentFault, ItemError, SigningError
from rye.manifest.model import TRUST, ListedItem, ManifestFinding
from rye.spaces import ItemFile, Root

Read = Callable[[Root, str], bytes]


@dataclass(slots=True)
class Observed:
    """The files of one root, each with the facts that a manifest lists.

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
        """Read a file and record it."""
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
        """Read and record the trust files; anything but a regular file is ignored, as it is for trust."""
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
        """Record a file that was read."""
        self.found[item.path] = item

    def miss(self, error: ItemError) -> None:
        """Record a file or folder that could not be read."""
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


def compare(
    listed: Mapping[str, ListedItem], found: Iterable[ListedItem], unread: Collection[str] = ()
) -> tuple[ManifestFinding, ...]:
    """Return how files differ from the list, by path: one finding for each file, one for both paths of a rename.

    There is no finding for what is listed at or below a path that could not be read.
    """
    here = {item.path: item for item in found}
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for item in listed.values():
        homes[item.sha256].append(item.path)
    findings = [_changed(listed[path], item, homes) for path, item in here.items() if path in listed]
    gone = {path for path in listed if path not in here and not _below(path, unread)}
    findings += _unlisted([item for path, item in here.items() if path not in listed], gone, homes)
    findings += [_finding("item-removed", listed[path], f"{path} is listed, but not there") for path in gone]
    return tuple(sorted((each for each in findings if each is not None), key=lambda each: (each.path, each.code)))


def _below(path: str, others: Collection[str]) -> bool:
    parts = path.split("/")
    return bool(others) and any("/".join(parts[:count]) in others for count in range(1, len(parts) + 1))


def _finding(code: str, item: ListedItem, message: str) -> ManifestFinding:
    return ManifestFinding(code, message, item.path, item.item_type, item.item_id, item.sha256)


def _changed(listed: ListedItem, item: ListedItem, homes: Mapping[str, list[str]]) -> ManifestFinding | None:
    if (item.sha256, item.length) == (listed.sha256, listed.length):
        if (item.item_type, item.item_id) == (listed.item_type, listed.item_id):
            return None
        words = f"{item.path} is listed as {listed.item_type}:{listed.item_id}"
        return _finding("item-mislabelled", item, words)
    if others := homes.get(item.sha256):
        return _finding("item-swapped", item, f"{item.path} has the content that is listed for {', '.join(others)}")
    if _earlier(item.signed_at, listed.signed_at):
        words = f"{item.path} was signed at {item.signed_at}, the one listed at {listed.signed_at}"
        return _finding("item-rolled-back", item, words)
    return _finding("item-changed", item, f"{item.path} is not the content that is listed")


def _unlisted(items: list[ListedItem], gone: set[str], homes: Mapping[str, list[str]]) -> Iterator[ManifestFinding]:
    """Yield a finding per item that is not listed; a rename takes the listed path off those that are gone."""
    for item in items:
        others = homes.get(item.sha256, [])
        moved = next((path for path in others if path in gone), "")
        if moved:
            gone.discard(moved)
            yield _finding("item-renamed", item, f"{item.path} has the content that is listed for {moved}")
        elif others:
            yield _finding("item-copied", item, f"{item.path} is a copy of {', '.join(others)} and not listed")
        else:
            yield _finding("item-unlisted", item, f"{item.path} is not listed")


def _earlier(one: str, other: str) -> bool:
    try:
        return datetime.fromisoformat(one) < datetime.fromisoformat(other)
    except (ValueError, TypeError):  # not a time, or only one of them has a time zone
        return False
