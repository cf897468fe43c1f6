"""The notes of a registry on a cluster, stored in the mapping of its index."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from rye.cluster.client import Cluster
from rye.cluster.documents import FORMAT
from rye.cluster.faults import parsing, shown
from rye.cluster.query import ITEMS, NOTHING, Clause
from rye.cluster.roots import NOWHERE, ClusterRoot, RootFacts, read_roots
from rye.cluster.vectors import Model
from rye.errors import EnvironmentFault, NotFoundError


@dataclass(frozen=True, slots=True)
class Owned:
    """A registry's note about the items of one owner.

    Attributes:
        count: The number of items.
        digest: SHA-256 hex of their sorted marks.
        keys: The keys of their keyword terms.
        copies: Whether some have the same type and id.
        vectors: The number of items with vectors.
    """

    count: int
    digest: str
    keys: tuple[str, ...] = ()
    copies: bool = False
    vectors: int = 0

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Owned:
        """Read one entry of the notes."""
        keys, flag = tuple(map(str, row["keys"])), bool(row["copies"])
        return cls(int(row["count"]), str(row["digest"]), keys, flag, int(row["vectors"]))


class ListNote(NamedTuple):
    """A registry's note about a signed list.

    Attributes:
        owner: The owner of the list.
        roots: The numbers of the roots that it covers.
        document: The id of its document.
    """

    owner: str
    roots: tuple[int, ...]
    document: str

    @classmethod
    def read(cls, row: Sequence[Any]) -> ListNote:
        """Read one entry of the notes."""
        return cls(str(row[0]), tuple(map(int, row[1])), str(row[2]))


@dataclass(frozen=True, slots=True)
class PublishedNotes:
    """The notes of one generation of a registry.

    Attributes:
        count: The number of items.
        roots: The roots that the items were published from, by number; None for a root no longer used.
        owners: The note about each owner, by name.
        withdrawn: Whether some items are superseded, deprecated or yanked.
        model: The model of the vectors; None if no item has vectors.
        lists: The signed lists that go with the items.
    """

    count: int = 0
    roots: tuple[RootFacts | None, ...] = ()
    owners: Mapping[str, Owned] = field(default_factory=dict)
    withdrawn: bool = False
    model: Model | None = None
    lists: tuple[ListNote, ...] = ()

    def model_beside(self, owner: str) -> Model | None:
        """Return the model of the vectors that other owners published; None if they have none."""
        return self.model if any(owned.vectors for name, owned in self.owners.items() if name != owner) else None

    @property
    def copies(self) -> bool:
        """Whether some items may have the same type and id."""
        return len(self.owners) > 1 or any(owned.copies for owned in self.owners.values())

    @property
    def expected(self) -> int:
        """The number of items that the owners published."""
        return sum(owned.count for owned in self.owners.values())

    @property
    def vectors(self) -> int:
        """The number of items with vectors."""
        return sum(owned.vectors for owned in self.owners.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the notes as JSON."""
        return {
            "format": FORMAT,
            "count": self.count,
            "roots": [None if facts is None else list(facts) for facts in self.roots],
            "owners": {owner: asdict(owned) for owner, owned in self.owners.items()},
            "withdrawn": self.withdrawn,
            "model": self.model.to_dict() if self.model else None,
            "lists": [list(note) for note in self.lists],
        }

    @classmethod
    def read(cls, meta: Mapping[str, Any]) -> PublishedNotes:
        """Read what :meth:`to_dict` wrote.

        Raises:
            ValueError: The data is malformed.
        """
        with parsing():
            owners = {str(owner): Owned.read(row) for owner, row in meta["owners"].items()}
            roots = tuple(None if row is None else RootFacts(*map(str, row)) for row in meta["roots"])
            model = Model.read(meta["model"]) if meta["model"] is not None else None
            lists = tuple(map(ListNote.read, meta["lists"]))
            return cls(int(meta["count"]), roots, owners, bool(meta["withdrawn"]), model, lists)


class Generation(NamedTuple):
    """One generation of a registry, which never changes.

    Attributes:
        cluster: The cluster that has it.
        index_name: The name of its index.
        notes: Its notes.
        roots: The roots that its items were published from, by number; None for a root no longer used.
    """

    cluster: Cluster
    index_name: str
    notes: PublishedNotes
    roots: tuple[ClusterRoot | None, ...]

    def gap(self) -> str:
        """Return a sentence if documents are missing or somebody else added some, else an empty text."""
        count, expected = self.counts([ITEMS])[0], self.notes.expected
        if count == expected:
            return ""
        few, many = expected - count, count - expected
        what = f"{few:,} items are missing" if few > 0 else f"{many:,} items are too many"
        return f"{what} in {self.cluster.address}: who published them can repair that: rye publish --repair"

    def counts(self, clauses: Sequence[Clause]) -> list[int]:
        """Return how many items each clause matches."""
        return self.cluster.count(self.index_name, clauses)

    def within(self, space: str) -> Clause:
        """Return the clause for the items of a space; ``all`` stands for every space."""
        numbers = [number for number, root in enumerate(self.roots) if root and root.space == space]
        return ITEMS if space == "all" else {"terms": {"root": numbers}} if numbers else NOTHING

    def name_of(self, text: str) -> str:
        """Return the ``type:id`` of a published item, given its address; return other text unchanged."""
        for root in filter(None, self.roots):
            base = f"{self.address_of(str(root.path))}/"
            if text.startswith(base) and (file := root.find(text[len(base) :])):
                return f"{file.item_type}:{file.item_id}"
        return text

    def address_of(self, path: str) -> str:
        """Return the address of a file on the cluster, given its path below :data:`NOWHERE`."""
        return str(self.cluster.address) + path[len(str(NOWHERE)) :].replace(os.sep, "/")


def find_generation(cluster: Cluster) -> tuple[str, dict[str, Any]] | None:
    """Return the index that the registry's name points at, and its notes; None if there is no registry.

    Raises:
        EnvironmentFault: ``cluster-alias``: the name is an index, or points at several.
    """
    name = cluster.address.name
    with cluster.faults(), parsing():
        answer = cluster.client.indices.get_mapping(index=name, params={"ignore": (404,)})
        if answer.get("status") == 404:
            return None
        indexes = {str(index): mapping["mappings"].get("_meta") or {} for index, mapping in answer.items()}
    if len(indexes) != 1 or name in indexes:
        what = "an index and no registry" if name in indexes else f"an alias of {len(indexes)} indexes"
        message = f"{shown(name)} is {what}: {shown(', '.join(sorted(indexes)))}"
        hint = "a registry is an alias of one index that rye published; choose another name, or repair the alias"
        raise EnvironmentFault("cluster-alias", message, hint=hint)
    ((index, meta),) = indexes.items()
    with cluster.faults(), parsing():
        return index, dict(meta.get("rye", {}))


def read_generation(cluster: Cluster) -> Generation:
    """Return the live generation of a registry.

    Raises:
        NotFoundError: ``no-registry``.
        EnvironmentFault: It was published by another version of rye.
    """
    generation, address = find_generation(cluster), cluster.address
    hint = f"rye publish {address}"
    if generation is None:
        raise NotFoundError("no-registry", f"there is no registry {address}", hint=hint)
    index, meta = generation
    if meta.get("format") != FORMAT:
        message = f"{address} was published by another version of rye"
        raise EnvironmentFault("cluster-format", message, hint=f"publish it again: {hint}")
    with cluster.faults(), parsing():
        notes = PublishedNotes.read(meta)
        return Generation(cluster, index, notes, read_roots(notes.roots, str(address)))


def model_beside(cluster: Cluster, owner: str) -> Model | None:
    """Return the model of the vectors of other owners; None if there are none or the registry has another format."""
    generation = find_generation(cluster)
    if generation is None or generation[1].get("format") != FORMAT:
        return None
    with cluster.faults():
        return PublishedNotes.read(generation[1]).model_beside(owner)
