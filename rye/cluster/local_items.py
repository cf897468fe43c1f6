"""The local items of one owner, with their marks and their documents for a registry on a cluster."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from rye.cluster.bulk import Action
from rye.cluster.documents import as_text, document, marks_of
from rye.cluster.lists import OwnList, own_lists
from rye.cluster.published import Owned
from rye.cluster.roots import RootFacts
from rye.cluster.vectors import ItemVectors
from rye.errors import EnvironmentFault, ItemError
from rye.index.build.reader import Part, Reader
from rye.index.build.store import Snapshot
from rye.index.storage.arrays import Bools
from rye.index.text.schema import ItemPlace
from rye.items.model import TYPE_NAMES, ItemType
from rye.items.references import beside
from rye.items.relations import edges_of
from rye.items.scope import EVERY_SCOPE, Scope
from rye.search.matching.predicates import in_scope
from rye.search.states.states import States
from rye.spaces.model import Root
from rye.spaces.read import FolderReader, Read
from rye.spaces.signed import read_item
from rye.trust.list import Skill, SkillFolder

STATES = ("shadowed", "shadowing", "signed")
"""States of items that are published, because the cluster cannot compute them."""


class Place(NamedTuple):
    """Where an item is: its root, and its path below that root."""

    root: RootFacts
    path: str


class LocalItems:
    """The items that one owner publishes.

    Args:
        reader: The items.
        states: Computes which items shadow which.
        owner: The owner.
        vectors: The vectors of the reader's documents; None to publish none.

    Attributes:
        marks: Mark → number of the document in the reader.
        vectors: The argument ``vectors``.
    """

    def __init__(self, reader: Reader, states: States, owner: str, vectors: ItemVectors | None = None) -> None:
        self._reader = reader
        self._owner = owner
        self.vectors = vectors
        self._published_states = {name: states.having(name) for name in STATES}
        self._states = self._published_states | ({vectors.state: vectors.having()} if vectors else {})
        self._skills: dict[str, SkillFolder] = {}
        self.marks: dict[str, int] = dict(self._marks())

    def _marks(self) -> Iterator[tuple[str, int]]:
        for part in self._reader.parts:
            docs = np.flatnonzero(part.live)
            masks = {name: mask[part.base : part.base + len(part.live)] for name, mask in self._states.items()}
            marks = marks_of(part.segment, docs, RootFacts.of(part.root, self._owner), masks)
            yield from zip(marks, (docs + part.base).tolist(), strict=True)

    @cached_property
    def digest(self) -> str:
        """SHA-256 hex of the sorted marks."""
        return digest_of(self.marks)

    @cached_property
    def places(self) -> frozenset[Place]:
        """The place of every item."""
        return frozenset(
            Place(facts, path)
            for part in self._reader.parts
            for facts in [RootFacts.of(part.root, self._owner)]
            for path in part.segment.paths.take(np.flatnonzero(part.live))
        )

    @property
    def roots(self) -> list[RootFacts]:
        """The roots that the items come from, highest priority first."""
        return [
            RootFacts.of(root, self._owner)
            for root, snapshot in self._reader.snapshots
            if any(listed.live.any() for listed in snapshot.segments)
        ]

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the roots that the items come from."""
        pairs = self._reader.snapshots
        return tuple(root.source for root, snapshot in pairs if any(listed.live.any() for listed in snapshot.segments))

    @cached_property
    def lists(self) -> tuple[OwnList, ...]:
        """The signed lists of the folders that the items come from."""
        return tuple(own_lists(self._reader, self._owner))

    def owned(self) -> Owned:
        """Return the registry's note about the items."""
        keys = self._reader.all_keys()
        has_copies = len(set(keys)) < len(keys)
        vectors = int((self.vectors.having() & self._reader.live).sum()) if self.vectors else 0
        return Owned(len(self.marks), self.digest, tuple(sorted(self._reader.keys)), has_copies, vectors)

    def place_of(self, doc: int) -> Place:
        """Return where a document is."""
        part, local = self._reader.locate(doc)
        return Place(RootFacts.of(part.root, self._owner), part.segment.paths[local])

    def key_of(self, doc: int) -> tuple[str, str]:
        """Return type and id of a document."""
        return self._reader.key_of(doc)

    def documents(self, marks: Collection[str], numbers: Mapping[RootFacts, int]) -> Iterator[Action]:
        """Yield the documents of some items.

        Args:
            marks: The marks of the items.
            numbers: The number of each root in the registry.

        Raises:
            EnvironmentFault: ``changed-meanwhile``: a file differs from the indexed one.
        """
        mark_of, files = {self.marks[mark]: mark for mark in marks}, FolderReader()
        try:
            for part, chosen in self._by_part(marks):
                shared = {"owner": self._owner, "root": numbers[RootFacts.of(part.root, self._owner)]}
                for local in np.flatnonzero(chosen).tolist():
                    doc = local + part.base
                    source = {"mark": mark_of[doc], "priority": part.root.priority} | shared
                    source |= self._document(part, local, files.read)
                    if states_of := [name for name, mask in self._published_states.items() if mask[doc]]:
                        source["state"] = states_of
                    if self.vectors:
                        source |= self.vectors.fields(doc)
                    yield Action(mark_of[doc], source)
        finally:
            files.close()

    def _by_part(self, marks: Collection[str]) -> Iterator[tuple[Part, Bools]]:
        mask = np.zeros(self._reader.size, bool)
        mask[[self.marks[mark] for mark in marks]] = True
        for part in self._reader.parts:
            part_mask = mask[part.base : part.base + len(part.live)]
            if part_mask.any():
                yield part, part_mask

    def _document(self, part: Part, local: int, read: Read) -> dict[str, Any]:
        """Return the document of an item, with the bytes of its file and signature.

        Raises:
            EnvironmentFault: ``changed-meanwhile``: the file differs from the indexed one.
        """
        root, segment = part.root, part.segment
        path, item_id = segment.paths[local], segment.ids[local]
        kind = ItemType(TYPE_NAMES[segment.types[local]])
        try:
            current = read_item(root, path, kind, item_id, read=read, skills=self._skills)
        except ItemError as error:
            raise _changed(part, path) from error
        if current.evidence.content_digest != segment.evidence.content_digest(local):
            raise _changed(part, path)
        place = ItemPlace(root.space, root.bundle, path, *root.describe(path))
        resolve_beside = partial(beside, root.client, path) if root.client else None
        edges = edges_of(current.item, current.suffix, current.data, beside=resolve_beside)
        fields = document(current.item, place, segment.evidence[local].fingerprint, edges) | as_text(current.data)
        detached = current.detached
        signature = detached.folder.data if isinstance(detached, Skill) else detached
        if signature is not None:
            fields["detached"] = base64.b64encode(signature).decode("ascii")
        return fields | ({"skill": detached.folder.id} if isinstance(detached, Skill) and signature is not None else {})


def select_items(snapshots: Sequence[tuple[Root, Snapshot]], scopes: Sequence[Scope]) -> Reader:
    """Return the items of some roots that are in a scope."""
    reader = Reader(snapshots)
    if tuple(scopes) == EVERY_SCOPE:
        return reader
    chosen = np.zeros(reader.size, bool)
    for scope in scopes:
        chosen |= in_scope(reader, scope)
    return reader.only(chosen)


def digest_of(marks: Collection[str]) -> str:
    """Return the SHA-256 hex of a set of marks; their order does not matter."""
    return hashlib.sha256("".join(sorted(marks)).encode()).hexdigest()


def _changed(part: Part, path: str) -> EnvironmentFault:
    message = f"{part.root.source}: {path} changed while it was published"
    return EnvironmentFault("changed-meanwhile", message, hint="publish again")
