"""Publishes the items of one owner to a registry on a cluster, beside those of other owners.

The id of a document is the digest of everything it depends on, so the changes are the difference of two sets of ids. A
generation never changes. The live one is cloned on the cluster; the clone gets the changes, is verified, and takes over
the name of the registry in one step. A lock keeps a second publisher out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from rye._report import Report
from rye.cluster.bulk import Action, send
from rye.cluster.client import Cluster
from rye.cluster.documents import FORMAT, settings
from rye.cluster.faults import parsing
from rye.cluster.generations import Generations
from rye.cluster.lists import documents_of
from rye.cluster.local_items import LocalItems, Place, digest_of
from rye.cluster.lock import PublishLock
from rye.cluster.published import ListNote, PublishedNotes, find_generation
from rye.cluster.query import ITEMS, WITHDRAWN, all_of
from rye.cluster.roots import RootFacts
from rye.cluster.vectors import Model
from rye.errors import ArgumentError, EnvironmentFault
from rye.trust.list import LIST_FILE

MOST_REMOVED: Final = 0.1
"""The share of an owner's items that a publish may remove without confirmation."""

_LIST: Final = "list"
_MERGED: Final = 0.1
"""Segments are merged if more than this share of the registry was written."""

_OWNER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PAGE: Final = 10_000
_FULL_PAGE: Final = 200
"""Documents per answer: ``_PAGE`` if only ids are fetched, ``_FULL_PAGE`` for whole documents."""


def check_owner(name: str) -> str:
    """Return the name of an owner if it is valid.

    Raises:
        ArgumentError: ``bad-owner``.
    """
    if _OWNER.fullmatch(name):
        return name
    hint = "name one with --owner: letters, digits, dots, hyphens and underscores, at most 64"
    raise ArgumentError("bad-owner", f"{name!r} is not a name of an owner", hint=hint)


@dataclass(frozen=True, slots=True)
class DocumentChange(Report):
    """What a publish does with one item, or with a signed list (of type ``list``): ``add``, ``change``, ``remove``."""

    action: str
    type: str
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class PublishReport(Report):
    """What a publish did, or would do.

    Attributes:
        registry: The address.
        owner: The owner whose items were published.
        generation: The index that is live now.
        sources: The sources that the items come from.
        items: The number of the owner's items in the registry.
        total: The number of all items in the registry.
        added, changed, removed, unchanged: The numbers of the owner's items.
        changes: Each item that a dry run would add, change or remove.
        dry_run: Whether nothing was changed.
        warnings: Sentences.
    """

    registry: str
    owner: str
    generation: str
    sources: tuple[str, ...]
    items: int
    total: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    changes: tuple[DocumentChange, ...] = ()
    dry_run: bool = False
    warnings: tuple[str, ...] = ()


class PublishOptions(NamedTuple):
    """How to publish.

    Attributes:
        shards, replicas: The numbers of shards and replicas of the index; None to keep them.
        dry_run: Only report what would be done.
        yes: Allow removing more than :data:`MOST_REMOVED` of the owner's items.
        repair: Compare every document with its item.
    """

    shards: int | None = None
    replicas: int | None = None
    dry_run: bool = False
    yes: bool = False
    repair: bool = False


@dataclass(frozen=True, slots=True)
class _Live:
    """The live generation: its index, empty if there is none, and its notes, None if they have another format."""

    index: str
    notes: PublishedNotes | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The marks to write and to delete, the resulting changes of items, and the model of the vectors."""

    write: list[str]
    delete: list[str]
    changes: tuple[DocumentChange, ...]
    before: int
    model: Model | None = None

    def count(self, action: str) -> int:
        """Return how many items have a given action."""
        return sum(change.action == action and change.type != _LIST for change in self.changes)


class Publisher:
    """Publishes the items of one owner.

    Args:
        cluster: The registry.
        items: The items.
        owner: The owner.
        progress: Called with (items done, items to do, registry).
    """

    def __init__(
        self,
        cluster: Cluster,
        items: LocalItems,
        owner: str,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._items = items
        self._owner = check_owner(owner)
        self._progress = progress
        self._generations = Generations(cluster)

    def run(self, options: PublishOptions) -> PublishReport:
        """Publish the items, unless the registry already has exactly these.

        Raises:
            ArgumentError: ``publish-removes``: many items would be removed; ``nothing-to-publish``.
            EnvironmentFault: The cluster failed, another publisher is at work, or a file changed meanwhile.
        """
        self._cluster.check_version()
        before = self._live()
        if not self._items.marks and not (before.notes and self._owner in before.notes.owners):
            hint = "choose others with --space or --scope; by default those of the project are published"
            raise ArgumentError("nothing-to-publish", f"{self._owner} has no items, here or there", hint=hint)
        if options.dry_run:
            plan = self._plan(before, repair=options.repair)
            return replace(self._report(before, plan), dry_run=True, changes=plan.changes)
        if not options.repair and self._is_current(before, options.shards):
            self._generations.set_replicas(before.index, options.replicas)
            return self._report(before, _Plan([], [], (), len(self._items.marks)))
        with PublishLock(self._cluster, self._owner) as lock:
            before = self._live()
            plan = self._plan(before, repair=options.repair)
            self._check_removals(plan, before, yes=options.yes)
            new = self._generations.new_name()
            try:
                notes = self._fill(new, before, plan, options)
                self._verify(new)
                lock.check()
                self._generations.serve(before.index, new)
            except BaseException:
                self._generations.discard(new)
                raise
            self._generations.sweep({before.index, new})
        return self._report(_Live(new, notes), plan)

    def _live(self) -> _Live:
        generation = find_generation(self._cluster)
        if generation is None:
            return _Live("", None)
        index, meta = generation
        if meta.get("format") != FORMAT:
            return _Live(index, None)
        with self._cluster.faults():
            return _Live(index, PublishedNotes.read(meta))

    def _is_current(self, before: _Live, shards: int | None) -> bool:
        """Return whether the registry already has exactly these items.

        Raises:
            EnvironmentFault: ``registry-damaged``: documents were removed or added since it was published.
        """
        owned = before.notes.owners.get(self._owner) if before.notes else None
        if before.notes is None or owned is None or owned.digest != self._items.digest:
            return False
        lists, known = [own_list.document for own_list in self._items.lists], self._known_lists(before.notes)
        if set(lists) != set(known):
            return False
        count = self._cluster.count(before.index, [{"term": {"owner": self._owner}}])[0]
        published = documents_of(self._cluster, before.index, lists)
        if count != owned.count or len(published) != len(lists):
            of_lists = f" and {len(published)} of {len(lists)} signed lists" if len(published) != len(lists) else ""
            holds = f"{count:,} of the {owned.count:,} items{of_lists} of {self._owner}"
            message = f"{self._cluster.address} holds {holds}"
            hint = "rye publish --repair compares all of them with yours and sends what is missing"
            raise EnvironmentFault("registry-damaged", message, hint=hint)
        return shards is None or self._generations.shards(before.index) == shards

    def _known_lists(self, notes: PublishedNotes | None) -> list[str]:
        """Return the document ids of the owner's signed lists in the registry."""
        return [note.document for note in notes.lists if note.owner == self._owner] if notes else []

    def _plan(self, before: _Live, *, repair: bool) -> _Plan:
        """Compare the marks in the registry with the local ones; return what to do."""
        marks = self._items.marks
        published: dict[str, bool] = {}  # document → whether it is what rye would write
        if before.notes is not None:
            published = dict(self._compared(before)) if repair else dict.fromkeys(self._marks(before.index), True)
        delete = [name for name in published if name not in marks]
        write = [mark for mark in marks if not published.get(mark)]
        deletions = list(self._described(before, delete))
        changed = {change.path for change in deletions if change.action == "change"}
        changes = [change for change in deletions if change.action == "remove"]
        for mark in write:
            kind, item_id = self._items.key_of(marks[mark])
            path = _spelled(self._items.place_of(marks[mark]))
            action = "change" if path in changed or mark in published else "add"
            changes.append(DocumentChange(action, kind, item_id, path))
        changes += self._changed_lists(before.notes)
        changes.sort(key=lambda change: (change.type, change.id, change.path))
        return _Plan(write, delete, tuple(changes), len(published), self._model(before.notes))

    def _changed_lists(self, notes: PublishedNotes | None) -> Iterator[DocumentChange]:
        """Yield the changes of the owner's signed lists."""
        roots = notes.roots if notes else ()
        covered = [note.roots for note in notes.lists if note.owner == self._owner] if notes else []
        before = {roots[numbers[0]] for numbers in covered if numbers and numbers[0] < len(roots)}
        known, local_lists = self._known_lists(notes), {own_list.roots[0]: own_list for own_list in self._items.lists}
        for facts, own_list in local_lists.items():
            if own_list.document not in known:
                yield DocumentChange("change" if facts in before else "add", _LIST, own_list.source, LIST_FILE)
        for facts in filter(None, before - local_lists.keys()):
            source = ":".join(filter(None, (facts.space, facts.bundle, facts.place)))
            yield DocumentChange("remove", _LIST, source, LIST_FILE)

    def _marks(self, index: str) -> Iterator[str]:
        """Yield the marks of the owner's documents without fetching the documents."""
        for hit in self._pages(index, {"term": {"owner": self._owner}}, {"stored_fields": "_none_"}, _PAGE):
            yield str(hit["sort"][0])

    def _described(self, before: _Live, names: Sequence[str]) -> Iterator[DocumentChange]:
        """Yield a change for each document to delete: ``change`` if a local item is in its place, else ``remove``."""
        roots = before.notes.roots if before.notes else ()
        shape = {"docvalue_fields": ["root", "type", "id", "path"], "_source": False}
        for start in range(0, len(names), _PAGE):
            query = {"ids": {"values": list(names[start : start + _PAGE])}}
            for hit in self._pages(before.index, query, shape, _PAGE):
                fields = hit["fields"]
                number, path = int(fields["root"][0]), str(fields["path"][0])
                root = roots[number] if 0 <= number < len(roots) else None
                place = Place(root or RootFacts("", "", ""), path)
                action = "change" if place in self._items.places else "remove"
                yield DocumentChange(action, str(fields["type"][0]), str(fields["id"][0]), _spelled(place))

    def _pages(self, index: str, query: Any, shape: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
        """Yield all hits of a query, sorted by mark."""
        body: dict[str, Any] = {"query": query, "size": size, "sort": [{"mark": "asc"}], **shape}
        while True:
            answer = self._cluster.search(index, body)
            with self._cluster.faults(), parsing():
                hits = answer["hits"]["hits"]
                yield from hits
                if len(hits) < size:
                    return
                body["search_after"] = hits[-1]["sort"]

    def _compared(self, before: _Live) -> Iterator[tuple[str, bool]]:
        """Yield the id of every document of the owner, and whether it is what rye would write."""
        numbers = {facts: at for at, facts in enumerate(before.notes.roots if before.notes else ()) if facts}
        known = [mark for mark in self._items.marks if self._has_root(mark, numbers)]
        digests = {action.id: _digest(action.source) for action in self._items.documents(known, numbers)}
        for hit in self._pages(before.index, {"term": {"owner": self._owner}}, {}, _FULL_PAGE):
            name = str(hit["_id"])
            yield name, digests.get(name) == _digest(hit["_source"])

    def _has_root(self, mark: str, numbers: Mapping[RootFacts, int]) -> bool:
        return self._items.place_of(self._items.marks[mark]).root in numbers

    def _check_removals(self, plan: _Plan, before: _Live, *, yes: bool) -> None:
        """Raise an error if too many items would be removed without ``yes``."""
        removed, count, items = plan.count("remove"), plan.before, f"the {plan.before:,} items of {self._owner}"
        if before.index and before.notes is None:
            removed = count = self._cluster.count(before.index, [ITEMS])[0]
            items = "the items that another version of rye published"
        if not yes and removed > MOST_REMOVED * count:
            message = f"{removed:,} of {items} in {self._cluster.address} would be removed"
            hint = "see which with --dry-run; --yes removes them; --owner publishes beside them"
            raise ArgumentError("publish-removes", message, hint=hint, removed=removed, items=count)

    def _model(self, notes: PublishedNotes | None) -> Model | None:
        """Return the model of the vectors that the registry will have.

        Raises:
            EnvironmentFault: ``changed-meanwhile``: another owner has just published vectors of another model.
        """
        beside, own = notes.model_beside(self._owner) if notes else None, self._items.vectors
        if own and beside and not beside.is_of(own.model):
            message = f"another owner has just published vectors of {beside.name} to {self._cluster.address}"
            raise EnvironmentFault("changed-meanwhile", message, hint="publish again")
        return beside or (own.model if own and self._items.owned().vectors else None)

    def _fill(self, new: str, before: _Live, plan: _Plan, options: PublishOptions) -> PublishedNotes:
        """Make the new generation; return its notes."""
        items, cluster = self._items, self._cluster
        base = before if before.notes is not None else _Live("", None)
        notes = base.notes or PublishedNotes()
        shape = {"shards": options.shards, "replicas": options.replicas}
        self._generations.make(new, base.index, **shape)
        roots = _numbered(notes.roots, items.roots, self._owner)
        numbers = {facts: at for at, facts in enumerate(roots) if facts}
        list_actions = {note.document: Action(note.document, {"list": note.text}) for note in items.lists}
        obsolete = [*plan.delete, *(name for name in self._known_lists(base.notes) if name not in list_actions)]
        send(cluster, f"{new}-write", [*(Action(name, None) for name in obsolete), *list_actions.values()])
        todo = len(plan.write)
        done = self._progress
        report = (lambda count: done(min(count, todo), todo, str(cluster.address))) if done and todo else None
        send(cluster, f"{new}-write", items.documents(plan.write, numbers), report)
        with cluster.faults():
            cluster.client.indices.refresh(index=new)
        owners = {**notes.owners, self._owner: items.owned()}
        lists = [note for note in notes.lists if note.owner != self._owner]
        lists += [
            ListNote(self._owner, tuple(numbers[facts] for facts in note.roots), note.document) for note in items.lists
        ]
        if not items.marks:
            del owners[self._owner]
        count, withdrawn = cluster.count(new, [ITEMS, all_of([ITEMS, WITHDRAWN])])
        notes = PublishedNotes(count, roots, owners, withdrawn > 0, plan.model, tuple(lists))
        self._generations.note(new, notes)
        if len(plan.write) > _MERGED * notes.count:
            self._generations.merge(new)
        self._generations.set_replicas(new, options.replicas, like=base.index)
        return notes

    def _verify(self, new: str) -> None:
        """Check that the new generation holds exactly what was sent.

        Raises:
            EnvironmentFault: ``cluster-incomplete`` or ``cluster-red``.
        """
        with self._cluster.faults(), parsing():
            mapping = self._cluster.client.indices.get_mapping(index=new)[new]["mappings"]
            expected = settings(1, 0)["mappings"]
            same = all(mapping[name] == expected[name] for name in ("dynamic", "properties"))
        marks = list(self._marks(new))
        problem = "" if same else "its mapping is not the one of rye"
        if not problem and (len(marks) != len(self._items.marks) or digest_of(marks) != self._items.digest):
            problem = f"it holds {len(marks):,} of {len(self._items.marks):,} items, or others"
        lists = {own_list.document: own_list.text for own_list in self._items.lists}
        if documents_of(self._cluster, new, list(lists)) != lists:
            problem = problem or "a signed list is not there, or another one"
        if problem:
            message = f"the new generation of {self._cluster.address} is incomplete: {problem}"
            raise EnvironmentFault(
                "cluster-incomplete", message, hint="the registry still serves the state before; publish again"
            )
        self._generations.wait(new)

    def _report(self, now: _Live, plan: _Plan) -> PublishReport:
        owners = now.notes.owners if now.notes else {}
        warnings = []
        if now.notes and (lost := sum(owned.count for owned in owners.values()) - now.notes.count):
            warnings.append(
                f"{abs(lost):,} documents are {'missing' if lost > 0 else 'too many'}: --repair of their owner"
            )
        added, changed = plan.count("add"), plan.count("change")
        status = self._generations.unfinished
        return PublishReport(
            registry=str(self._cluster.address),
            owner=self._owner,
            generation=now.index,
            sources=self._items.sources,
            items=len(self._items.marks),
            total=now.notes.count if now.notes else 0,
            added=added,
            changed=changed,
            removed=plan.count("remove"),
            unchanged=len(self._items.marks) - added - changed,
            warnings=(*warnings, *([status] if status else [])),
        )


def _spelled(place: Place) -> str:
    """Return the path of an item below its project, user or bundle."""
    return "/".join(filter(None, (place.root.bundle, place.root.prefix, place.root.place, place.path)))


def _numbered(known: tuple[RootFacts | None, ...], used: list[RootFacts], owner: str) -> tuple[RootFacts | None, ...]:
    """Return the roots by number. Roots of other owners keep their number; this owner's unused roots become None."""
    kept = [facts if facts and (facts.owner != owner or facts in used) else None for facts in known]
    return (*kept, *(facts for facts in used if facts not in kept))


def _digest(source: Any) -> str:
    """Return the SHA-256 hex of a document as canonical JSON."""
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()
