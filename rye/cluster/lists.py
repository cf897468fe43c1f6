"""The signed lists of a registry on a cluster: they are published with the items, and the reader checks them.

A list is a document beside those of the items. Its signatures are checked here, with the keys that count for
the registry. Which roots it is for is the word of the cluster.
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
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rye._text import may_name_item
from rye.cluster.client import Cluster
from rye.cluster.faults import reading, shown
from rye.cluster.published import Generation, ListNote
from rye.cluster.roots import ClusterRoot, RootFacts
from rye.errors import EnvironmentFault, SigningError
from rye.index.reader import Reader
from rye.spaces.classify import is_skipped
from rye.spaces.lists import (
    ListedItem,
    items_of,
    list_folder,
    place_of,
    read_list,
    rows_of,
)
from rye.spaces.model import Root, Space
from rye.spaces.signed import ReadItem
from rye.spaces.state import read_record, record_path, save_record
from rye.trust.judge import by_list, judge_list
from rye.trust.list import LIST_FILE, MAX_SPACE_LIST, ListState, Seen, SpaceList, parse_list
from rye.trust.trust_set import TrustSet

MOST_LISTS = 1_000
"""Lists of one registry that are read and remembered."""

_LINK = "120000"


class OwnList(NamedTuple):
    """A list that goes with the items of an owner.

    Attributes:
        owner: Whose.
        source: The first root that it covers, in words.
        roots: All of them.
        data: The bytes of the file.
    """

    owner: str
    source: str
    roots: tuple[RootFacts, ...]
    data: bytes

    @property
    def document(self) -> str:
        """What the document is called: it changes with all that it holds."""
        return hashlib.sha256(f"{self.owner}\n".encode() + self.data).hexdigest()

    @property
    def text(self) -> str:
        """What it holds."""
        return base64.b64encode(zlib.compress(self.data)).decode("ascii")


def own_lists(reader: Reader, owner: str) -> Iterator[OwnList]:
    """Yield the lists of the folders that items of an owner are from.

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


def _items(listed: SpaceList, folder: Path, root: Root) -> Iterator[ListedItem]:
    """Yield the items of a root that a list names."""
    for row in rows_of(listed, folder, [root]):
        if may_name_item(row.file.rel_path) and not any(map(is_skipped, row.file.rel_path.split("/"))):
            yield row


def _is_as(row: ListedItem | None, digest: str) -> bool:
    """Return whether an item is on a list with these bytes; a link is listed with its target, which is not known."""
    return row is not None and (row.mode == _LINK or row.sha256 == digest)


def documents_of(cluster: Cluster, index: str, names: Sequence[str]) -> dict[str, str]:
    """Return those documents of lists that an index holds, as they were sent."""
    if not names:
        return {}
    body = {"query": {"ids": {"values": list(names)}}, "size": len(names), "_source": ["list"]}
    answer = cluster.search(index, body)
    with cluster.faults(), reading():
        return {str(hit["_id"]): str(hit["_source"]["list"]) for hit in answer["hits"]["hits"]}


def _content(text: str, room: int) -> bytes:
    """Return the bytes of a list.

    Raises:
        ValueError: The text is something else.
    """
    try:
        whole = zlib.decompressobj()
        data = whole.decompress(base64.b64decode(text, validate=True), max(room, 1))
    except (zlib.error, binascii.Error) as error:
        raise ValueError(str(error)) from None
    if not (data and whole.eof):
        message = "it is cut off, too large, or one of two for the same folder"
        raise ValueError(message)
    return data


class _Remembered(NamedTuple):
    """The last good list of a place in a registry: its name, number and digest."""

    name: str
    number: int
    digest: str


class HeldList:
    """One list as the cluster holds it.

    Args:
        note: What the registry notes of it.
        roots: The roots that it covers, by number.
        text: Its document; None where the cluster did not hand it out, empty where two lists cover one root.
        room: Bytes that the list may have.

    Attributes:
        size: How many bytes it has.
        fault: Why it cannot be read: a code, and words; empty if it can.
        listed: What it says; None if it cannot be read.
        rows: By number of the root and path, the items that it names.
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
        self.rows: dict[tuple[int, str], ListedItem] = {}
        folder = self.root.around if self.root.client else self.root.path
        try:
            if text is None:
                self.fault = "list-gone", "the cluster does not hand it out"
            else:
                data = _content(text, room)
                self.size = len(data)
                self.listed = parse_list(data)
                for number, root in roots.items():
                    self.rows |= {(number, row.file.rel_path): row for row in _items(self.listed, folder, root)}
        except SigningError as error:
            self.fault = error.code, shown(error.message)
        except ValueError as error:
            self.fault = "list-malformed", shown(error)

    @cached_property
    def items(self) -> dict[tuple[str, str, str, str], str]:
        """What it says of items without a signature of their own."""
        return items_of(row for row in self.rows.values() if not row.is_detached)

    def state(self, trust: TrustSet, now: datetime, seen: _Remembered | None) -> ListState:
        """Return what the list proves, beside the last one that was seen."""
        if self.listed is None:
            return ListState(None, *self.fault)
        before = Seen(seen.number, seen.digest) if seen else None
        state = judge_list(self.listed, origin=self.root.origin("list", ""), trust=trust, now=now, seen=before)
        name = self.root.bundle if self.root.space is Space.SYSTEM else seen.name if seen else ""
        if name and name != self.listed.name and not state.code:
            words = f"the list is that of {self.listed.name!r}, this is {shown(name)!r}"
            state = state._replace(code="list-name", detail=words, older="")
        return state._replace(items=self.items)


@dataclass(frozen=True, slots=True)
class CheckedLists:
    """The lists of a registry under some keys.

    Attributes:
        warnings: Sentences on lists that do not count.
        spaces: By the number of a root, its list, keys that know what that says, and whether one that counts signed it.
    """

    warnings: tuple[str, ...] = ()
    spaces: Mapping[int, tuple[HeldList, TrustSet, bool]] = field(default_factory=dict)

    def check(self, number: int, path: str, read: ReadItem) -> tuple[ReadItem, str]:
        """Return an item with the evidence that its list gives, and a sentence where it is not as that says.

        Args:
            number: Of the root that it is said to be from.
            path: Below that.
            read: The item.
        """
        held, trust, counts = self.spaces.get(number, (None, None, False))
        if held is None or trust is None:
            return read, ""
        read = read._replace(evidence=by_list(read.evidence, read.origin, trust))
        row = held.rows.get((number, path))
        if not counts or _is_as(row, hashlib.sha256(read.data).hexdigest()):
            return read, ""
        whose = f"the signed list of {held.root.source}"
        if row is None:
            return read, f"{shown(path)} is not on {whose}: it was added there"
        return read, f"{shown(path)} has other bytes than {whose} says: older or altered ones"


class RegistryLists:
    """The lists of one generation of a registry, fetched once.

    Args:
        generation: Which.

    Raises:
        EnvironmentFault: The cluster does not answer in full.
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
            with reading():
                self._seen = {place: _Remembered(*row) for place, row in record["lists"].items()} if record else {}
        except (EnvironmentFault, ValueError) as error:
            if self.held or getattr(error, "code", "") != "no-home":
                self._unkept = f"which signed lists of {self._address} were seen before is not known: {error}"

    def _record(self) -> Path:
        return record_path("lists", str(self._address))

    def under(self, trust: TrustSet, now: datetime) -> CheckedLists:
        """Return the lists under some keys, and remember those that are good."""
        warnings, spaces, good = list[str](), dict[int, tuple[HeldList, TrustSet, bool]](), dict[str, _Remembered]()
        for held in self.held:
            state = held.state(trust, now, self._seen.get(held.place))
            whose = f"the signed list of {held.root.source} in {self._address}"
            if not state.is_valid:
                code, words = state.code or "list-rollback", state.words
                forget = f"; if its owner began again,  remove {self._record()}" if held.place in self._seen else ""
                warnings.append(f"{whose} does not count: {words} [{code}]{forget}")
            elif held.listed:
                listed = held.listed
                good[held.place] = _Remembered(listed.name, listed.number, listed.digest)
            known = {} if state.code == "list-gone" else {place_of(root): state for root in held.roots.values()}
            spaces |= dict.fromkeys(held.roots, (held, replace(trust, lists=known), bool(state.signers)))
        places = {held.place for held in self.held}
        for place in self._seen.keys() - places:
            words = shown(" ".join(filter(None, place.split("\n"))))
            forget = f"if its owner gave it up, remove {self._record()}"
            warnings.append(f"{self._address} had a signed list of {words}, and it is gone [list-gone]; {forget}")
        self._remember(good)
        return CheckedLists((*warnings, *filter(None, [self._unkept])), spaces)

    def _remember(self, good: Mapping[str, _Remembered]) -> None:
        """Keep the numbers of good lists."""
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
