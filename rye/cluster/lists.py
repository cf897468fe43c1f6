"""The signed lists of a registry on a cluster, which are published with the items and checked by the reader.

A list is a document beside those of the items. Its signatures are checked here, with the keys that the user trusts for
the registry. Which roots it covers is only a claim of the cluster.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rye.cluster.client import Cluster
from rye.cluster.faults import parsing, shown
from rye.cluster.published import Generation, ListNote
from rye.cluster.roots import ClusterRoot, RootFacts
from rye.errors import EnvironmentFault, SigningError
from rye.index.build.reader import Reader
from rye.spaces.lists import list_folder, list_key, read_list
from rye.spaces.model import Root, Space
from rye.spaces.signed import ReadItem
from rye.spaces.state import read_record, record_path, save_record
from rye.trust.judge import by_list, judge_list
from rye.trust.list import (
    LIST_FILE,
    MAX_SPACE_LIST,
    ListClaim,
    ListedFile,
    ListedSpace,
    ListFault,
    ListState,
    Seen,
    parse_list,
)
from rye.trust.trust_set import TrustSet

MOST_LISTS = 1_000
"""Maximum lists of one registry that are read and remembered."""

_LINK, _OLDER = "120000", "list-rollback"


class OwnList(NamedTuple):
    """A signed list that is published with the items of an owner.

    Attributes:
        owner: The owner.
        source: The name of the first root that it covers.
        roots: All roots that it covers.
        data: The bytes of the file.
    """

    owner: str
    source: str
    roots: tuple[RootFacts, ...]
    data: bytes

    @property
    def document(self) -> str:
        """The id of its document, which changes with its content."""
        return hashlib.sha256(f"{self.owner}\n".encode() + self.data).hexdigest()

    @property
    def text(self) -> str:
        """The content of its document: the file, compressed."""
        return base64.b64encode(zlib.compress(self.data)).decode("ascii")


def own_lists(reader: Reader, owner: str) -> Iterator[OwnList]:
    """Yield the lists of the folders that items of an owner come from.

    Raises:
        SigningError: ``list-malformed``, ``list-conflict``.
        EnvironmentFault: ``unreadable``.
    """
    folders: dict[Path, list[Root]] = {}
    for root in dict.fromkeys(part.root for part in reader.parts if part.live.any()):
        folder = list_folder(root)
        if folder and os.path.lexists(folder / LIST_FILE):
            folders.setdefault(folder, []).append(root)
    for folder, roots in folders.items():
        if (data := read_list(folder)) is not None:
            parse_list(data)
            yield OwnList(owner, roots[0].source, tuple(RootFacts.of(root, owner) for root in roots), data)


def documents_of(cluster: Cluster, index: str, names: Sequence[str]) -> dict[str, str]:
    """Return the encoded list of each document of an index with one of these ids; those not found are left out."""
    if not names:
        return {}
    body = {"query": {"ids": {"values": list(names)}}, "size": len(names), "_source": ["list"]}
    answer = cluster.search(index, body)
    with cluster.faults(), parsing():
        return {str(hit["_id"]): str(hit["_source"]["list"]) for hit in answer["hits"]["hits"]}


def _content(text: str, room: int) -> bytes:
    """Decode the bytes of a list.

    Raises:
        ValueError: The text is not an encoded list, or the list is larger than ``room``.
    """
    try:
        decoder = zlib.decompressobj()
        data = decoder.decompress(base64.b64decode(text, validate=True), max(room, 1))
    except (zlib.error, binascii.Error) as error:
        raise ValueError(str(error)) from None
    if not (data and decoder.eof):
        message = "it is cut off, too large, or one of two for the same folder"
        raise ValueError(message)
    return data


class _Remembered(NamedTuple):
    """The last valid list of a place in a registry: its name, number and digest."""

    name: str
    number: int
    digest: str


class HeldList:
    """One list as the cluster holds it.

    Args:
        note: The entry for the list in the registry's notes.
        roots: The roots that it covers, by number.
        text: The content of its document; None if the cluster did not return it, empty if two lists cover one root.
        room: Maximum bytes of the list.

    Attributes:
        size: Bytes of the list.
        fault: Code and message if it cannot be read; else both empty.
        listed: The parsed list; None if it cannot be read.
    """

    def __init__(
        self,
        note: ListNote,
        roots: Mapping[int, ClusterRoot],
        text: str | None,
        *,
        room: int,
    ) -> None:
        self.roots, self.listed, self.size, self.fault = roots, None, 0, ("", "")
        self.root = next(iter(roots.values()))
        facts = (note.owner, self.root.space, self.root.bundle, self.root.prefix, "client" if self.root.client else "")
        self.place = "\n".join(facts)
        try:
            if text is None:
                self.fault = "list-gone", "the cluster does not hand it out"
            else:
                data = _content(text, room)
                self.size = len(data)
                self.listed = parse_list(data)
        except SigningError as error:
            self.fault = error.code, shown(error.message)
        except ValueError as error:
            self.fault = "list-malformed", shown(error)

    def state(self, trust: TrustSet, now: datetime, seen: _Remembered | None) -> ListState:
        """Return what the list proves, given the last list that was seen in its place."""
        if self.listed is None:
            return ListFault(*self.fault)
        root, before = self.root, Seen(seen.number, seen.digest) if seen else None
        named = root.bundle if root.space is Space.SYSTEM else ""
        state = judge_list(self.listed, place=root.list_place, trust=trust, now=now, named=named, seen=before)
        is_other = seen and seen.name != self.listed.name and (isinstance(state, ListClaim) or state.code == _OLDER)
        if seen and is_other:
            words = f"the list is that of {self.listed.name!r}, this is {shown(seen.name)!r}"
            return ListFault("list-name", words, self.listed)
        return state

    def row(self, path: str) -> ListedFile | None:
        """Return the row of a file, given its path as in :class:`rye.trust.model.Place`."""
        inside = f"{self.root.list_place.path}/".lstrip("/")
        return self.listed.files.get(path.removeprefix(inside)) if self.listed else None


@dataclass(frozen=True, slots=True)
class CheckedLists:
    """The lists of a registry, checked with some keys.

    Attributes:
        warnings: Sentences on lists that are ignored.
        spaces: By the number of a root: its list, a trust set with the state of that list, and whether a trusted key
            signed the list.
    """

    warnings: tuple[str, ...] = ()
    spaces: Mapping[int, tuple[HeldList, TrustSet, bool]] = field(default_factory=dict)

    def check(self, number: int, path: str, read: ReadItem) -> tuple[ReadItem, str]:
        """Return an item with the evidence of its list, and a sentence if it differs from that list.

        Args:
            number: The number of the root that the item claims to be from.
            path: The path below that root.
            read: The item.
        """
        held, trust, counts = self.spaces.get(number, (None, None, False))
        if held is None or trust is None:
            return read, ""
        read = read._replace(evidence=by_list(read.evidence, read.origin, trust))
        row = held.row(read.origin.path)
        # a link is listed with its target, which is not known here
        is_listed = row is not None and (row.mode == _LINK or row.sha256 == hashlib.sha256(read.data).hexdigest())
        if not counts or is_listed:
            return read, ""
        name = f"the signed list of {held.root.source}"
        if row is None:
            return read, f"{shown(path)} is not on {name}: it was added there"
        return read, f"{shown(path)} has other bytes than {name} says: older or altered ones"


class RegistryLists:
    """The lists of one generation of a registry, fetched once.

    Args:
        generation: The generation.

    Raises:
        EnvironmentFault: The answer of the cluster is incomplete.
    """

    def __init__(self, generation: Generation) -> None:
        notes, roots = generation.notes.lists, dict(enumerate(generation.roots))
        self._address = generation.cluster.address
        known = [(note, {at: root for at in note.roots if (root := roots.get(at))}) for note in notes[:MOST_LISTS]]
        known = [(note, covered) for note, covered in known if covered]
        self.held: list[HeldList] = []
        if known:
            texts = documents_of(generation.cluster, generation.index_name, [note.document for note, _ in known])
            counts, room = Counter(at for _, covered in known for at in covered), 2 * MAX_SPACE_LIST
            for note, covered in known:
                text = "" if max(map(counts.__getitem__, covered)) > 1 else texts.get(note.document)
                self.held.append(HeldList(note, covered, text, room=room))
                room -= self.held[-1].size
        self._seen: dict[str, _Remembered] = {}
        self._unkept = ""
        try:
            record = read_record(self._record())
            with parsing():
                self._seen = {place: _Remembered(*row) for place, row in record["lists"].items()} if record else {}
        except (EnvironmentFault, ValueError) as error:
            if self.held or getattr(error, "code", "") != "no-home":
                self._unkept = f"which signed lists of {self._address} were seen before is not known: {error}"

    def _record(self) -> Path:
        return record_path("lists", str(self._address))

    def under(self, trust: TrustSet, now: datetime) -> CheckedLists:
        """Check the lists with some keys; remember the valid ones."""
        warnings, spaces, good = list[str](), dict[int, tuple[HeldList, TrustSet, bool]](), dict[str, _Remembered]()
        for held in self.held:
            state = held.state(trust, now, self._seen.get(held.place))
            whose = f"the signed list of {held.root.source} in {self._address}"
            if isinstance(state, ListFault):
                code, words = state.code, state.words
                forget = f"; if its owner began again, remove {self._record()}" if held.place in self._seen else ""
                warnings.append(f"{whose} does not count: {words} [{code}]{forget}")
            else:
                listed = state.listed
                good[held.place] = _Remembered(listed.name, listed.number, listed.digest)
            is_gone = isinstance(state, ListFault) and state.code == "list-gone"
            space, roots = ListedSpace(held.root.list_place, state), held.roots.values()
            known = {} if is_gone else dict.fromkeys(map(list_key, roots), space)
            spaces |= dict.fromkeys(held.roots, (held, replace(trust, lists=known), isinstance(state, ListClaim)))
        places = {held.place for held in self.held}
        for place in self._seen.keys() - places:
            words = shown(" ".join(filter(None, place.split("\n"))))
            forget = f"if its owner gave it up, remove {self._record()}"
            warnings.append(f"{self._address} had a signed list of {words}, and it is gone [list-gone]; {forget}")
        self._remember(good)
        return CheckedLists((*warnings, *filter(None, [self._unkept])), spaces)

    def _remember(self, good: Mapping[str, _Remembered]) -> None:
        """Save the numbers of valid lists."""
        seen = {**self._seen, **good}
        if len(seen) > MOST_LISTS:
            self._unkept = f"{self._address} has or had more signed lists than are remembered: remove {self._record()}"
        if seen == self._seen or self._unkept:
            return
        try:
            save_record(self._record(), {"lists": seen})
            self._seen = seen
        except EnvironmentFault as error:
            self._unkept = f"the numbers of the signed lists of {self._address} could not be kept: {error.message}"
