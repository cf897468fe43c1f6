"""The verdict on one file from its bytes, by the code that search and show use; shared by all processes of a run."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Final

from rye import items, signing, spaces
from rye._text import BOM
from rye.errors import ItemError
from rye.items import ItemType
from rye.items.reader import split_name
from rye.signing import EnvelopeFormat, Evidence, Origin, TrustSet, Verdict
from rye.signing.reasons import MAX_HIDING_WARNINGS, cut_short, foreign_copy
from rye.spaces import ItemFile, Root, Space
from rye.verify.reports import Outcome, Unchecked, VerifiedItem

Read = Callable[[Root, str], bytes]

_Inspected = tuple[str, ItemFile, bytes, Origin, Evidence]
"""The whole path of a file, its place, its bytes, where these count, and what they prove."""

_NOTHING: Mapping[str, str] = {}
_TYPES = {each: each.value for each in ItemType}
_SPACES = {each: each.value for each in Space}
_V2 = EnvelopeFormat.V2.value
_TRUSTED, _UNSIGNED = Verdict.TRUSTED, Verdict.UNSIGNED
_SHEBANGS = (b"#!", BOM + b"#!")


@dataclass(frozen=True, slots=True)
class Verifier:
    """Judges files under the trust set and the moment of one run; ``digests`` gives trusted items a ``digest`` too.

    What the file says of itself (name, category, type, id) is read only where it could change the verdict. Where the
    bytes are at fault, it cannot. A v2 line binds type and id, so there it only helps to know a file that was moved
    from one whose line was altered. An unsigned file is read too: what is no item at all is not
    an item that lacks a signature.
    """

    trust: TrustSet
    now: datetime
    digests: bool = True

    def check(self, root: Root, file: ItemFile, read: Read = spaces.read_file) -> Outcome:
        """Read one file and return the verdict on exactly these bytes, or why there is none."""
        return self.check_all(root, [file], read)[0]

    def check_all(self, root: Root, files: Iterable[ItemFile], read: Read) -> list[Outcome]:
        """Return the outcome of each of some files of a root, in their order.

        All are read, then all inspected, before the first signature is checked: going from the one to the other for
        every file would empty the processor's caches of both, and takes a tenth longer.
        """
        base = f"{root.path}/"
        contents = [(file, _content(root, file, read)) for file in files]
        inspected = [_inspect(root, base + file.rel_path, file, content) for file, content in contents]
        return [each if isinstance(each, Unchecked) else self._judge(each) for each in inspected]

    def _judge(self, inspected: _Inspected) -> Outcome:
        path, file, data, origin, evidence = inspected
        trust, now = self.trust, self.now
        signature = signing.judge(evidence, origin=origin, trust=trust, now=now)
        if signature.code == "signature" or signature.verdict is _UNSIGNED:
            try:
                evidence = _with_declared(evidence, data, file, origin)
            except ItemError as error:
                return _unchecked(error, path)
            signature = signing.judge(evidence, origin=origin, trust=trust, now=now)
        space, bundle, kind, item_id = origin
        digest = sha256(data).hexdigest() if self.digests or signature.verdict is not _TRUSTED else ""
        return VerifiedItem(kind, item_id, space, bundle, path, signature, _line(data, evidence), digest, len(data))


def _content(root: Root, file: ItemFile, read: Read) -> bytes | ItemError:
    try:
        return read(root, file.rel_path)
    except ItemError as error:
        return error


def _inspect(root: Root, path: str, file: ItemFile, content: bytes | ItemError) -> _Inspected | Unchecked:
    """Return what :meth:`Verifier._judge` needs, or why there can be no verdict."""
    if isinstance(content, ItemError):
        return _unchecked(content, path)
    origin = Origin(_SPACES[root.space], root.bundle, _TYPES[file.item_type], file.item_id)
    evidence = signing.inspect(content, origin=origin, declared=_NOTHING, suffix=file.suffix, content_digest="")
    if evidence.format != _V2 and not evidence.code:
        try:
            evidence = _with_declared(evidence, content, file, origin)
        except ItemError as error:
            return _unchecked(error, path)
    return path, file, content, origin, evidence


def _unchecked(error: ItemError, path: str) -> Unchecked:
    return Unchecked(error.message, error.code, error.hint, path)


def _with_declared(evidence: Evidence, data: bytes, file: ItemFile, origin: Origin) -> Evidence:
    """Return the evidence with the name, category, type and id that the file states."""
    declared = items.declared(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix)
    return signing.with_declared(evidence, declared, origin)


def _line(data: bytes, evidence: Evidence) -> int:
    """Return the 1-based line on which the signature stands, or would have to."""
    if evidence.code == "envelope-elsewhere":
        return int(evidence.detail)
    return 2 if data.startswith(_SHEBANGS) and b"\n" in data else 1


_Group = dict[tuple[ItemType, str], list[str]]


def with_duplicates(
    walked: Iterable[ItemFile | ItemError], root: Root, warnings: list[str]
) -> Iterator[ItemFile | ItemError]:
    """Yield what a walk of one root yields, folder by folder, and ``ambiguous-item`` for each duplicate.

    One signature holds for all of them, since it binds type and id in Unicode normal form C. Duplicates lie in one
    folder, so memory does not grow with the number of files; only folders whose names may be spelled in two ways are
    kept.

    Args:
        walked: What the walk yields.
        root: The root.
        warnings: Takes a sentence instead where it is clear which file is meant.
    """
    here: _Group = {}
    kept: _Group = {}
    folder = ""
    for file in walked:
        if isinstance(file, ItemFile):
            inside = file.rel_path.rpartition("/")[0]
            if inside != folder:
                yield from _ambiguous(here, root, warnings)
                here, folder = {}, inside
            item_id = file.item_id if file.item_id.isascii() else unicodedata.normalize("NFC", file.item_id)
            group = here if inside.isascii() else kept
            group.setdefault((file.item_type, item_id), []).append(file.rel_path)
        yield file
    yield from _ambiguous(here, root, warnings)
    yield from _ambiguous(kept, root, warnings)


def _ambiguous(group: _Group, root: Root, warnings: list[str]) -> Iterator[ItemError]:
    for (item_type, item_id), paths in group.items():
        if len(paths) > 1:
            # escapes distinguish letters that only look the same
            names = ", ".join(path if path.isascii() else f"{path} ({path!a})" for path in paths)
            message = f"{item_type} {item_id!r} is in {len(paths)} files: {names}"
            if taken := spaces.taken_by_ryeos(root, paths):
                warnings.append(f"{root.source}: {message}; as for RyeOS, {taken} is meant")
                continue
            hint = "keep one of them; it is not clear which one is meant"
            for path in paths:
                yield ItemError("ambiguous-item", f"{path}: {message}", hint=hint, path=path, paths=paths)


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
        """Record a warning if an item hides one that another key signed."""
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
