"""One page of hits, hydrated: each file is read from disk, verified from those bytes, and shown with what matched."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from rye import spaces
from rye.errors import ItemError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.index.verdict_cache import VERDICT_NUMBER
from rye.items import ItemType, Symbol
from rye.search.highlight import Matched, Matches, matched
from rye.search.match import Matcher
from rye.search.predicates import States
from rye.search.results import SearchResult
from rye.search.score import Evaluation
from rye.search.semantic import HitScores
from rye.signing import Origin, Signature, TrustSet, judge, remembering_verify
from rye.signing.reasons import cut_short
from rye.spaces import Root
from rye.spaces.read import ReadItem, parse_item

KEPT_ITEMS = 4096
KEPT_BYTES = 8 << 20
"""Most items that are cached in one process, and their greatest size together."""

LARGEST_KEPT = 1 << 16
"""Greatest size of a cached item: the bytes of its file, and :data:`_VALUE_BYTES` a tag, symbol and section."""

_VALUE_BYTES = 256

_EVERYWHERE = 4
"""A word in more than one of this many items says little about any of them."""

_KINDS = tuple(map(ItemType, TYPE_NAMES))

Key = tuple[bytes, Origin, str]
"""SHA-256 of all bytes of a file, where they were found, and the path, whose extension decides the format."""


class ItemCache:
    """Parsed items by the bytes of their files, the least recently used dropped first; safe to use from threads.

    A file is always read, but the same bytes at the same place are parsed and inspected once. Kept is what a page
    shows: no bytes, no metadata, no texts of sections. ``most`` files are kept, ``most_bytes`` together.
    """

    def __init__(self, most: int = KEPT_ITEMS, most_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[ReadItem, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, root: Root, path: str, item_type: ItemType, item_id: str) -> ReadItem:
        """Read one file, as :func:`rye.spaces.read.read_item` does."""
        data = spaces.read_file(root, path)
        digest = sha256(data)
        key = (digest.digest(), Origin(root.space, root.bundle, str(item_type), item_id), path)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        read = parse_item(data, key[1], path, content_digest=digest.hexdigest())
        outline = tuple(replace(section, text="") for section in read.item.sections)
        read = read._replace(data=b"", item=replace(read.item, metadata={}, declared={}, sections=outline))
        values = len(read.item.tags) + len(read.item.symbols) + len(outline)
        said = sum(len(each.signature) + len(each.docstring) for each in read.item.symbols)
        self._keep(key, read, len(data) + said + _VALUE_BYTES * values)
        return read

    def _keep(self, key: Key, found: ReadItem, size: int) -> None:
        if size > LARGEST_KEPT:
            return
        with self._lock:
            _, before = self._kept.pop(key, (found, 0))
            self._kept[key] = found, size
            self._bytes += size - before
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


_CACHE = ItemCache()


class Hydrated(NamedTuple):
    """One indexed document with its file as it is now.

    Attributes:
        part, path: Where it comes from.
        read: What its file holds now.
        signature: The verdict on that.
        same_bytes: Whether that is what was indexed.
    """

    part: Part
    path: str
    read: ReadItem
    signature: Signature
    same_bytes: bool

    @property
    def name(self) -> str:
        """``type:id``, for sentences."""
        return f"{self.read.item.type}:{self.read.item.id}"


@dataclass(frozen=True, slots=True)
class Hydrator:
    """Reads and verifies the files of documents at this moment, and compares them with what was indexed.

    Attributes:
        reader, states, trust, now: The documents, what the index knows of them, the trusted keys, and the moment.
        verdicts_matter: Whether one whose verdict has changed no longer fits the query.
        read: Reads a file, given root, path, type and id; raises :class:`rye.errors.ItemError`.
    """

    reader: Reader
    states: States
    trust: TrustSet
    now: datetime
    verdicts_matter: bool
    read: Callable[[Root, str, ItemType, str], ReadItem] = _CACHE.read

    def hydrate(self, docs: Sequence[int], warnings: list[str]) -> list[Hydrated | None]:
        """Return documents with their files; None, and a warning, where a file is gone or no longer fits.

        First all files are read, then all are judged: the processor's caches hold one kind of work at a time.
        """
        found = [self._read(doc, warnings) for doc in docs]
        return [read and self._judged(doc, read, warnings) for doc, read in zip(docs, found, strict=True)]

    def _read(self, doc: int, warnings: list[str]) -> tuple[Part, str, ReadItem] | None:
        part, local = self.reader.locate(doc)
        segment = part.segment
        path, kind, item_id = segment.paths[local], _KINDS[segment.types[local]], segment.ids[local]
        try:
            return part, path, self.read(part.root, path, kind, item_id)
        except ItemError as error:
            warnings.append(f"{kind}:{item_id} was left out: {error.message}")
            return None

    def _judged(self, doc: int, found: tuple[Part, str, ReadItem], warnings: list[str]) -> Hydrated | None:
        part, _, read = found
        signature = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now, verify=remembering_verify)
        same = part.segment.evidence.content_digest(doc - part.base) == read.evidence.content_digest
        hydrated = Hydrated(*found, signature, same)
        if not same and self.verdicts_matter and self.states.verdicts()[doc] != VERDICT_NUMBER[signature.verdict]:
            warnings.append(f"{hydrated.name} was left out: it changed and is {signature.verdict} now")
            return None
        if not same:
            warnings.append(f"{hydrated.name} changed since it was indexed; it is shown as it is now")
        return hydrated


def _matched_first(symbols: tuple[Symbol, ...], matched: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """Return symbols, those that matched first, the others without signature and docstring."""
    if not symbols:
        return ()
    done = set(matched)
    others = (replace(each, signature="", docstring="") for each in symbols if each not in done)
    return (*matched, *others)


class Hit(NamedTuple):
    """One document of the page."""

    doc: int
    score: float
    exact: bool
    semantic: HitScores | None = None


@dataclass(frozen=True, slots=True)
class PageBuilder:
    """Turns hits into results."""

    evaluation: Evaluation
    hydrator: Hydrator
    explain: bool

    def build(self, hits: Sequence[Hit]) -> tuple[tuple[SearchResult, ...], tuple[str, ...]]:
        """Return the results of hits in order, and warnings about those that changed or went since they were indexed.

        A hit whose file is gone, or whose verdict no longer fits the query, is left out.
        """
        warnings, hiding, states = list[str](), list[str](), self.hydrator.states
        hydrated = self.hydrator.hydrate([hit.doc for hit in hits], warnings)
        read = [(hit, one) for hit, one in zip(hits, hydrated, strict=True) if one is not None]
        matches = Matches(self._matchers(few=any(hit.semantic for hit in hits)), [hit.doc for hit in hits])
        results = []
        for hit, one in read:
            item = one.read.item
            sources = states.sources_of(item.type, item.id, one.part)
            if len(set(sources)) > 1:
                hiding += states.hiding(item.type, item.id)
            if (files := sources.count(one.part.root.source)) > 1:
                warnings.append(f"{one.name} is in {files} files of {one.part.root.source}; keep one of them")
            section = hit.semantic.section if hit.semantic and one.same_bytes else None
            found = matched(item, hit.doc, matches, same_bytes=one.same_bytes, section=section)
            results.append(self._result(hit, one, sources, found))
        warnings += cut_short(list(dict.fromkeys(hiding)))
        tools = {(one.part.root, one.path.rpartition("/")[0]): one for _, one in read if one.read.item.type == "tool"}
        if tools:
            from rye.manifest.store import warn_beside

            warnings += filter(None, (warn_beside(one.part.root, one.path) for one in tools.values()))
        return tuple(results), tuple(dict.fromkeys(warnings))

    def _result(self, hit: Hit, hydrated: Hydrated, sources: Sequence[str], found: Matched) -> SearchResult:
        item, root, near = hydrated.read.item, hydrated.part.root, hit.semantic
        shadows, shadowed_by = self.hydrator.states.sharing(sources, root.source)
        states, successor = self.hydrator.states.withdrawn(hit.doc)
        traces = self.evaluation.explain(hit.doc) if self.explain else None
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
            path=f"{root.path}{os.sep}{hydrated.path.replace('/', os.sep)}",
            bundle=root.bundle,
            version=item.version,
            tags=item.tags,
            updated=item.updated,
            signature=hydrated.signature,
            exact=hit.exact,
            shadows=shadows,
            shadowed_by=shadowed_by,
            matched_fields=found.fields,
            highlights=found.highlights,
            symbols=_matched_first(item.symbols, near.matched_symbols(item) if near else found.symbols),
            states=states,
            successor=successor,
            explain=near.explain(traces) if near and traces is not None else traces,
            similarity=near.similarity if near else None,
            hybrid=near.hybrid_match(item) if near else None,
        )

    def _matchers(self, *, few: bool) -> list[Matcher]:
        """Return the term queries to mark; of the words of a description those that are not everywhere, if any are."""
        found = [row.matcher for row in self.evaluation.scored()]
        rare = [each for each in found if len(each.docs()) * _EVERYWHERE < self.evaluation.reader.count] if few else []
        return rare or found
