"""The files on disk below a root, as a manifest lists them: items, trust files, and all others."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from rye import spaces
from rye.errors import EnvironmentFault, ItemError, SigningError
from rye.items import TYPE_OF_FOLDER, is_item_file
from rye.manifest.model import FILE, TRUST, ListedItem, ManifestFinding
from rye.spaces import ItemFile, Root, Space
from rye.spaces.alias import own_path
from rye.spaces.beside import CACHE, FOLDER, LINK, MAX_FILES, MODULES, PLAIN, PRIVATE_KEYS, FileMode, all_files
from rye.spaces.client_walker import folders_alike, is_found_elsewhere
from rye.spaces.model import LIBRARY, is_of_ryeos, is_within
from rye.spaces.obeyed import uncovered_imports
from rye.spaces.read import Read, is_detached, read_chunks, skill_of, suffix_of
from rye.spaces.signed import Detached, read_signed
from rye.trust import DETACHED_SUFFIX, TRUSTED_FOLDER, inspect, read_trust_bytes, real_path, trust_paths

_KEY = re.compile(
    rb"-----BEGIN ((?:(?:ENCRYPTED )?PRIVATE|PUBLIC) KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----\s*"
)
_MAX_KEY = 1 << 16


@dataclass(slots=True)
class Observed:
    """The files of one root, each with the facts that a manifest lists.

    Attributes:
        root: The root.
        found: The items that could be read, by path below the root.
        trusted: The same of the trust files.
        others: The same of all other files.
        unread: What could not, by path below the root, and why: files, and folders with whatever is in them.
    """

    root: Root
    found: dict[str, ListedItem] = field(default_factory=dict)
    trusted: dict[str, ListedItem] = field(default_factory=dict)
    others: dict[str, ListedItem] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[ListedItem, ...]:
        """Everything that a manifest lists."""
        return (*self.found.values(), *self.trusted.values(), *self.others.values())

    @property
    def unproven(self) -> list[ListedItem]:
        """All other files but the detached signatures of items, and the files of skills that are signed as a whole."""
        signed = {f"{path}{DETACHED_SUFFIX}" for path in self.found if is_detached(path)}
        others = [item for path, item in self.others.items() if path not in signed]
        return [item for item in others if not self._is_of_skill(item.path)] if self.root.client else others

    def _is_of_skill(self, path: str) -> bool:
        """Return whether the signature of a whole skill covers a file: of what is in its folder all but ``.git``."""
        skill = skill_of(self.root, path)
        return bool(skill) and path != f"{skill}/.git"

    def read(self, file: ItemFile, read: Read = spaces.read_file) -> None:
        """Read a file and record it."""
        try:
            data, detached = read_signed(self.root, file.rel_path, read)
        except ItemError as error:
            self.miss(error)
        else:
            found = self._listed(file.rel_path, str(file.item_type), file.item_id, data, detached=detached)
            self.found[file.rel_path] = found

    def _listed(self, path: str, kind: str, item_id: str, data: bytes, *, detached: Detached = None) -> ListedItem:
        origin = self.root.origin(kind, item_id)
        evidence = inspect(data, origin=origin, declared={}, suffix=suffix_of(path), detached=detached)
        return ListedItem(path, kind, item_id, len(data), evidence.content_digest, evidence.signed_at)

    def read_trust(self) -> None:
        """Read and record the trust files; anything but a regular file is ignored, as it is for trust."""
        where = TRUSTED_FOLDER.as_posix()
        try:
            paths = trust_paths(self.root.path / where)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as fault:
            self.unread[where] = f"{self.root.source}: {where}: the folder cannot be read: {fault.strerror}"
            return
        for path in paths:
            rel = f"{where}/{path.name}"
            try:
                self.trusted[rel] = self._listed(rel, TRUST, path.stem, read_trust_bytes(path))
            except SigningError:
                continue
            except EnvironmentFault as fault:
                self.unread[rel] = f"{self.root.source}: {rel}: {fault.message}"

    def read_others(self) -> dict[str, str]:
        """Read and record all other files, and the modes of items; return what could not be read, and why.

        The user's own keys are left out, and the byte code of rye's own tools, which an installer made.
        """
        unread: dict[str, str] = {}
        root = self.root
        leads_out = root.client and not is_within(real_path(root.path), real_path(root.around))
        if leads_out and root.space is not Space.USER:
            return unread  # a link out, which the walk has reported
        items = [root.file(path) for path in self.found if root.client and root.client.identify(path)]
        imports = {path for each in items for path in uncovered_imports(root, each)}
        imported = (FileMode(path, PLAIN) for path in sorted(imports) if not path.startswith(os.pardir))
        for number, file in enumerate(chain(all_files(root), imported)):
            if isinstance(file, OSError):
                path = os.path.relpath(str(file.filename), self.root.path)
                unread[path] = f"{self.root.source}: {path}: the folder cannot be read: {file.strerror}"
            elif number >= MAX_FILES:
                unread["."] = f"{self.root.source}: more than {MAX_FILES:,} files are below {self.root.path}"
                break
            elif file.path in self.found:
                self.found[file.path] = self.found[file.path]._replace(mode=file.mode)
            elif file.path in self.trusted or file.path in self.unread or self._is_own(file):
                continue
            elif not self._is_item(file):
                self._read_other(file, unread)
        self.unread |= unread
        return unread

    def _is_item(self, file: FileMode) -> bool:
        """Return whether a file is an item: of another bundle with the same root, or one that has just come.

        In the folder of a client there is none but those listed, and links to where another client keeps the same one.
        A link with the name of an item that the walk did not take for one leads to a folder.
        """
        real = real_path(self.root.path / file.path) if file.mode == LINK else ""
        if real and own_path(self.root, real):  # another name of that item
            return True
        if self.root.client is not None:
            return bool(real) and is_found_elsewhere(real, file.path, folders_alike(self.root))
        top, _, rest = file.path.partition("/")
        *folders, name = rest.split("/")
        kind = TYPE_OF_FOLDER.get(top)
        skipped = {MODULES, CACHE, *([LIBRARY] if top == "tools" and is_of_ryeos(self.root) else ())}
        walked = file.mode != LINK and not any(each[0] == "." or each in skipped for each in folders)
        return kind is not None and walked and is_item_file(kind, name)

    def _is_own(self, file: FileMode) -> bool:
        """Return whether a file is a key of the user's, or byte code of rye's own tools."""
        return self._is_own_key(file) or (f"/{CACHE}/" in file.path and spaces.is_own(self.root))

    def _is_own_key(self, file: FileMode) -> bool:
        """Return whether a file is a key of the user's, and nothing else, in the folder of their keys."""
        folder, _, name = file.path.rpartition("/")
        if self.root.space is not Space.USER or f"{folder}/" != PRIVATE_KEYS or file.mode != PLAIN:
            return False
        try:
            data = next(read_chunks(self.root, file.path, _MAX_KEY), b"")
        except (OSError, ItemError):
            return False
        return name.endswith((".pem", ".pub")) and len(data) < _MAX_KEY and _KEY.fullmatch(data) is not None

    def _read_other(self, file: FileMode, unread: dict[str, str]) -> None:
        path, (length, digest) = file.path, (0, hashlib.sha256())
        try:
            if file.mode == LINK:
                target = os.fsencode(os.readlink(self.root.path / path))  # noqa: PTH115 - a Path would drop "./"
                length, digest = len(target), hashlib.sha256(target)
            elif file.mode not in {"", FOLDER}:
                for chunk in read_chunks(self.root, path):
                    length += len(chunk)
                    digest.update(chunk)
        except FileNotFoundError:
            return
        except (OSError, ItemError) as error:
            why = (
                error.message if isinstance(error, ItemError) else f"{path}: the file cannot be read: {error.strerror}"
            )
            unread[path] = f"{self.root.source}: {why}"
            return
        self.others[path] = ListedItem(path, FILE, path, length, digest.hexdigest(), "", file.mode)

    def miss(self, error: ItemError) -> None:
        """Record a file or folder that could not be read."""
        self.unread[str(error.details.get("path", ""))] = f"{self.root.source}: {error.message}"


def observe(root: Root) -> Observed:
    """Read every file of a root that a manifest lists."""
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
    observed.read_others()
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
    for item in [item for path, item in here.items() if path not in listed]:
        others = homes.get(item.sha256, [])
        if moved := next((path for path in others if path in gone), ""):
            gone.discard(moved)
            words = f"{item.path} has the content that is listed for {moved}"
            findings.append(_finding("item-renamed", item, words))
        elif item.item_type == FILE:
            findings.append(_finding("uncovered", item, f"{item.path} is no item, and no manifest lists it"))
        elif others:
            words = f"{item.path} is a copy of {', '.join(others)} and not listed"
            findings.append(_finding("item-copied", item, words))
        else:
            findings.append(_finding("item-unlisted", item, f"{item.path} is not listed"))
    findings += [_finding("item-removed", listed[path], f"{path} is listed, but not there") for path in gone]
    return tuple(sorted((each for each in findings if each is not None), key=lambda each: (each.path, each.code)))


def signed_by_listing(listed: Mapping[str, ListedItem]) -> list[ListedItem]:
    """Return the items that can hold no signature line and have none beside them: a manifest signs them itself."""
    bare = (each for each in listed.values() if each.item_type not in {TRUST, FILE} and not each.signed_at)
    return [each for each in bare if is_detached(each.path) and f"{each.path}{DETACHED_SUFFIX}" not in listed]


def _below(path: str, others: Collection[str]) -> bool:
    """Return whether a path is at or below one of others, of which ``.`` is the root itself."""
    parts = path.split("/")
    return "." in others or any("/".join(parts[:count]) in others for count in range(1, len(parts) + 1))


def _finding(code: str, item: ListedItem, message: str) -> ManifestFinding:
    return ManifestFinding(code, message, item.path, item.item_type, item.item_id, item.sha256)


def _changed(listed: ListedItem, item: ListedItem, homes: Mapping[str, list[str]]) -> ManifestFinding | None:
    if (item.sha256, item.length) == (listed.sha256, listed.length):
        modes = {item.mode, listed.mode}
        if len(modes) > 1 and "" not in modes and (os.name == "posix" or LINK in modes):
            return _finding("item-changed", item, f"{item.path} has the mode {item.mode}, listed is {listed.mode}")
        if (item.item_type, item.item_id) == (listed.item_type, listed.item_id):
            return None
        words = f"{item.path} is listed as {listed.item_type}:{listed.item_id}"
        return _finding("item-mislabelled", item, words)
    if others := homes.get(item.sha256):
        return _finding("item-swapped", item, f"{item.path} has the content that is listed for {', '.join(others)}")
    with suppress(ValueError, TypeError):  # not a time, or only one of them has a time zone
        if datetime.fromisoformat(item.signed_at) < datetime.fromisoformat(listed.signed_at):
            words = f"{item.path} was signed at {item.signed_at}, the one listed at {listed.signed_at}"
            return _finding("item-rolled-back", item, words)
    return _finding("item-changed", item, f"{item.path} is not the content that is listed")
