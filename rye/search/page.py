"""One page of hits: read from disk, verified from those bytes at that moment, and shown with what matched."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Generic, NamedTuple, Protocol, TypeVar

from rye import spaces
from rye.errors import ItemError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.index.verdict_cache import VERDICT_NUMBER
from rye.items import Item, ItemType
from rye.search.highlight import Matched, Matches, matched
from rye.search.match import Matcher
from rye.search.predicates import States
from rye.search.results import LeafTrace, SearchResult
from rye.search.score import Evaluation
from rye.search.semantic import Closeness
from rye.signing import Evidence, Origin, Signature, TrustSet, judge, remembering_verify
from rye.signing.reasons import cut_short
from rye.spaces import Root
from rye.spaces.read import parse_item

__all__ = ["Place", "Reread", "Rereading"]


# -- Files of a page as they are on disk at this moment; what the very same bytes gave before is not made again.
KEPT_ITEMS = 4096
KEPT_BYTES = 8 << 20
"""How many items are kept in one process, and how large they may be together."""

LARGEST_KEPT = 1 << 16
"""How large an item may be to be kept: the bytes of its file, and :data:`_VALUE_BYTES` a tag, symbol and section."""

_VALUE_BYTES = 256

Key = tuple[bytes, Origin, str]
"""SHA-256 of all bytes of a file, where they were found, and the path, whose extension decides the format."""


class Read(NamedTuple):
    """One file: the item as a page shows it, without metadata and texts of sections, and what its bytes prove."""

    item: Item
    evidence: Evidence
    origin: Origin


class Shelf:
    """What was read lately, the least recently used forgotten first. Safe to use from several threads.

    Args:
        most: How many files are kept.
        most_bytes: How large they may be together.
    """

    def __init__(self, most: int = KEPT_ITEMS, most_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Read, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, root: Root, path: str, item_type: ItemType, item_id: str) -> Read:
        """Read one file, and parse and inspect its bytes unless that was done to the same bytes at the same place.

        Args:
            root: The space root.
            path: Path of the file relative to the root.
            item_type: What the path says it is.
            item_id: The id that the path gives it.

        Raises:
            ItemError: The file cannot be read, or is no item.
        """
        data = spaces.read_file(root, path)
        digest = sha256(data)
        key = (digest.digest(), Origin(root.space, root.bundle, str(item_type), item_id), path)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        taken = parse_item(data, key[1], path, content_digest=digest.hexdigest())
        item = taken.item
        outline = tuple(replace(section, text="") for section in item.sections)
        found = Read(replace(item, metadata={}, declared={}, sections=outline), taken.evidence, taken.origin)
        self._keep(key, found, len(data) + _VALUE_BYTES * (len(item.tags) + len(item.symbols) + len(outline)))
        return found

    def _keep(self, key: Key, found: Read, size: int) -> None:
        if size > LARGEST_KEPT:
            return
        with self._lock:
            _, before = self._kept.pop(key, (found, 0))
            self._kept[key] = found, size
            self._bytes += size - before
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


# -- Hits as their files are at this moment: read, verified from those bytes, and compared with what was indexed.
_KINDS = tuple(map(ItemType, TYPE_NAMES))


class _Proven(Protocol):
    """What was read of a file, with what its bytes prove."""

    @property
    def evidence(self) -> Evidence: ...
    @property
    def origin(self) -> Origin: ...


R = TypeVar("R", bound=_Proven)


class Place(NamedTuple):
    """Where an indexed document comes from."""

    part: Part
    path: str
    kind: ItemType
    item_id: str

    @property
    def name(self) -> str:
        """``type:id``, for sentences."""
        return f"{self.kind}:{self.item_id}"


@dataclass(frozen=True, slots=True)
class Reread(Generic[R]):
    """One document, read again.

    Attributes:
        place: Where it comes from.
        read: What its file holds now.
        signature: The verdict on that.
        same_bytes: Whether that is what was indexed.
    """

    place: Place
    read: R
    signature: Signature
    same_bytes: bool


@dataclass(frozen=True, slots=True)
class Rereading(Generic[R]):
    """How documents are read again.

    Attributes:
        reader: Whose documents they are.
        states: What was known of them.
        trust: Whom to trust.
        now: The moment.
        verdicts_matter: Whether one whose verdict has changed no longer fits the query.
        read: Reads a file, given root, path, type and id; raises :class:`rye.errors.ItemError`.
    """

    reader: Reader
    states: States
    trust: TrustSet
    now: datetime
    verdicts_matter: bool
    read: Callable[[Root, str, ItemType, str], R]

    def again(self, doc: int, warnings: list[str]) -> Reread[R] | None:
        """Read one document; None, and a warning, where its file is gone or no longer fits."""
        return self.all_again([doc], warnings)[0]

    def all_again(self, docs: Sequence[int], warnings: list[str]) -> list[Reread[R] | None]:
        """Read documents, as :meth:`again` does: first all, then they are judged; caches like one kind of work."""
        places = [self._place(doc) for doc in docs]
        found = [self._read(place, warnings) for place in places]
        return [
            None if read is None else self._judged(doc, place, read, warnings)
            for doc, place, read in zip(docs, places, found, strict=True)
        ]

    def _place(self, doc: int) -> Place:
        part, local = self.reader.locate(doc)
        segment = part.segment
        return Place(part, segment.paths[local], _KINDS[segment.types[local]], segment.ids[local])

    def _read(self, place: Place, warnings: list[str]) -> R | None:
        try:
            return self.read(place.part.root, place.path, place.kind, place.item_id)
        except ItemError as error:
            warnings.append(f"{place.name} was left out: {error.message}")
            return None

    def _judged(self, doc: int, place: Place, read: R, warnings: list[str]) -> Reread[R] | None:
        signature = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now, verify=remembering_verify)
        part = place.part
        same = part.segment.evidence.content_digest(doc - part.base) == read.evidence.content_digest
        if not same and self.verdicts_matter and self.states.verdicts[doc] != VERDICT_NUMBER[signature.verdict]:
            warnings.append(f"{place.name} was left out: it changed and is {signature.verdict} now")
            return None
        if not same:
            warnings.append(f"{place.name} changed since it was indexed; it is shown as it is now")
        return Reread(place, read, signature, same)


_SHELF = Shelf()
_EVERYWHERE = 4
"""A word in more than one of so many items says little about any."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One document of the page."""

    doc: int
    score: float
    exact: bool
    closeness: Closeness | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The hits that could be shown, and what to say about those that changed or went since they were indexed."""

    results: tuple[SearchResult, ...]
    warnings: tuple[str, ...]


class _Shown(NamedTuple):
    """A hit with its file as it is now, the sources of all its copies, and what matched in it."""

    hit: Hit
    again: Reread[Read]
    copies: Sequence[str]
    found: Matched


@dataclass(frozen=True, slots=True)
class Desk:
    """What turning hits into results needs."""

    evaluation: Evaluation
    states: States
    trust: TrustSet
    now: datetime
    explain: bool
    verdicts_matter: bool

    def page(self, hits: Sequence[Hit]) -> Page:
        """Hydrate hits in order; one whose file is gone, or whose verdict no longer fits the query, is left out."""
        warnings, hiding = list[str](), list[str]()
        shown = self._shown(hits, warnings)
        for _, again, copies, _ in shown:
            if len(copies) == 1:
                continue
            part, _, kind, item_id = again.place
            if len(set(copies)) > 1:
                hiding += self.states.hiding(kind, item_id)
            if (twins := copies.count(part.root.source)) > 1:
                warnings.append(f"{again.place.name} is in {twins} files of {part.root.source}; keep one of them")
        warnings += cut_short(list(dict.fromkeys(hiding)))
        return Page(tuple(map(self._result, shown)), tuple(dict.fromkeys(warnings)))

    def _shown(self, hits: Sequence[Hit], warnings: list[str]) -> list[_Shown]:
        """Read all files, then judge all, then mark all: the processor's caches hold one kind of work at a time."""
        reader, docs = self.evaluation.reader, [hit.doc for hit in hits]
        rereading = Rereading(reader, self.states, self.trust, self.now, self.verdicts_matter, _SHELF.read)
        both = zip(hits, rereading.all_again(docs, warnings), strict=True)
        read = [(hit, again) for hit, again in both if again is not None]
        copies = [self.states.copies(again.place.kind, again.place.item_id, again.place.part) for _, again in read]
        matches = Matches(self._told(few=any(hit.closeness is not None for hit in hits)), docs)
        found = [_matched(hit, again, matches) for hit, again in read]
        return [_Shown(*pair, sources, what) for pair, sources, what in zip(read, copies, found, strict=True)]

    def _result(self, shown: _Shown) -> SearchResult:
        hit, again, copies, found = shown
        item, root, near = again.read.item, again.place.part.root, hit.closeness
        shadows, shadowed_by = self.states.sharing(copies, root.source)
        states, successor = self.states.standing(hit.doc)
        return SearchResult(
            id=item.id,
            name=item.name,
            description=item.description,
            category=item.category,
            score=hit.score,
            type=str(item.type),
            source=root.space,
            preview=found.preview,
            title=item.title,
            path=f"{root.path}{os.sep}{again.place.path.replace('/', os.sep)}",
            bundle=root.bundle,
            version=item.version,
            tags=item.tags,
            updated=item.updated,
            signature=again.signature,
            exact=hit.exact,
            shadows=shadows,
            shadowed_by=shadowed_by,
            matched_fields=found.fields,
            highlights=found.highlights,
            symbols=item.symbols,
            states=states,
            successor=successor,
            explain=self._explained(hit) if self.explain else None,
            similarity=near.similarity if near else None,
            hybrid=near.match(item) if near else None,
        )

    def _told(self, *, few: bool) -> list[Matcher]:
        """Return the leaves to mark; of the words of a description those that are not everywhere, if there are any."""
        found = [row.matcher for row in self.evaluation.scored()]
        rare = [leaf for leaf in found if len(leaf.docs()) * _EVERYWHERE < self.evaluation.reader.count] if few else []
        return rare or found

    def _explained(self, hit: Hit) -> tuple[LeafTrace, ...]:
        traces = self.evaluation.explain(hit.doc)
        return traces if hit.closeness is None else hit.closeness.explain(traces)


def _matched(hit: Hit, again: Reread[Read], matches: Matches) -> Matched:
    section = hit.closeness.section if hit.closeness and again.same_bytes else None
    return matched(again.read.item, hit.doc, matches, same_bytes=again.same_bytes, section=section)
