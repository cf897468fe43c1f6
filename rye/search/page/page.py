"""One page of hits: each file is read from disk, verified from those bytes, and shown with its matches."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from rye.errors import ItemError
from rye.index.build.reader import Part, Reader
from rye.items.hidden import HIDDEN_TEXT
from rye.items.model import TYPE_NAMES, ItemType
from rye.search.contract.results import ClauseTrace, SearchResult
from rye.search.matching.term import Term
from rye.search.meaning.rerank import text_of
from rye.search.meaning.semantic import HitScores
from rye.search.page.highlight import Matched, Matches, Shown, matched
from rye.search.scoring.score import Evaluation
from rye.search.states.states import States
from rye.search.states.verdicts import VERDICT_NUMBER
from rye.spaces.model import Root
from rye.spaces.read import FolderReader, Read, read_file
from rye.spaces.shadowing import cut_short
from rye.spaces.signed import ReadItem, parse_item, read_signed
from rye.spaces.skills_lock import installed_from
from rye.trust.judge import judge
from rye.trust.keys import remembering_verify
from rye.trust.model import Signature
from rye.trust.trust_set import TrustSet

KEPT_ITEMS = 4096
KEPT_BYTES = 8 << 20
"""Most items that one process caches, and their greatest total size."""

LARGEST_KEPT = 1 << 18
"""Greatest size of a cached item: the bytes of its file (times :data:`_CODE_FACTOR` for code), and of its values."""

_VALUE_BYTES = 256
"""The estimated size of a tag or a section."""

_CODE_FACTOR = 3
"""Estimates symbols without reading them: in 99 of 100 real files (of 368), at most 2.2 times the file's bytes."""

MOST_PARTS = 5
"""Most matching parts of a skill that its hit names."""

_EVERYWHERE = 4
"""A word that more than one in this many items has says little about any of them."""

_KINDS = tuple(map(ItemType, TYPE_NAMES))

Key = tuple[bytes, str, str, ItemType, str, str]
"""SHA-256 of all bytes of a file (and of its detached signature or skill); its space, bundle, type, id and path."""


class ItemCache:
    """Caches parsed items by the bytes of their files, and drops the least recently used first; thread-safe.

    Files are always read, but the same bytes at the same path are parsed and inspected once. Keeps only what a page
    shows: no bytes, metadata or section texts. Holds at most ``most`` files and ``most_bytes`` in total.
    """

    def __init__(self, most: int = KEPT_ITEMS, most_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[ReadItem, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, root: Root, path: str, item_type: ItemType, item_id: str, *, read: Read = read_file) -> ReadItem:
        """Read one file with ``read`` and parse it, or take the parsed item from the cache.

        The result is that of :func:`rye.spaces.signed.read_item` without its bytes, metadata and section texts.
        """
        data, detached = read_signed(root, path, read)
        digest = sha256(data)
        proof = b"" if detached is None else sha256(repr(detached).encode()).digest()
        key = (digest.digest() + proof, root.space, root.bundle, item_type, item_id, path)
        with self._lock:
            if kept := self._kept.get(key):
                self._kept.move_to_end(key)
                return kept[0]
        origin = root.origin(str(item_type), item_id, path)
        parsed = parse_item(data, origin, path, content_digest=digest.hexdigest(), detached=detached)
        outline = tuple(section._replace(text="") for section in parsed.item.sections)
        parsed = parsed._replace(data=b"", item=replace(parsed.item, metadata={}, declared={}, sections=outline))
        values = _VALUE_BYTES * (len(parsed.item.tags) + len(outline))
        self._keep(key, parsed, len(data) * (1 if outline else _CODE_FACTOR) + values)
        return parsed

    def _keep(self, key: Key, parsed: ReadItem, size: int) -> None:
        if size > LARGEST_KEPT:
            return
        with self._lock:
            _, before = self._kept.pop(key, (parsed, 0))
            self._kept[key] = parsed, size
            self._bytes += size - before
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


_CACHE = ItemCache()


class Hydrated(NamedTuple):
    """One indexed document with its current file.

    Attributes:
        part, path: Its segment and path.
        read: The current content of its file.
        signature: The verdict on that content.
        same_bytes: Whether the file is unchanged since it was indexed.
    """

    part: Part
    path: str
    read: ReadItem
    signature: Signature
    same_bytes: bool

    @property
    def name(self) -> str:
        """``type:id``, for messages."""
        return f"{self.read.item.type}:{self.read.item.id}"

    def states_and_successor(self, states: States, doc: int) -> tuple[tuple[str, ...], str]:
        """Return the item's states, including hidden text, and its successor."""
        withdrawn, successor = states.withdrawn(doc)
        return (*withdrawn, *([HIDDEN_TEXT] if self.read.hidden else [])), successor


def _file_of(reader: Reader, doc: int) -> tuple[Part, str, ItemType, str]:
    part, local = reader.locate(doc)
    segment = part.segment
    item_id = segment.ids[local]
    return part, segment.paths.of(local, item_id), _KINDS[segment.types[local]], item_id


class Hydrator(NamedTuple):
    """Reads and verifies the current files of documents, and compares them with the indexed content.

    Attributes:
        reader, states, trust, now: The documents, their indexed states, the trusted keys, and the time.
        verdicts_matter: Whether a document no longer fits the query once its verdict has changed.
        read: Reads a file as :meth:`ItemCache.read` does.
    """

    reader: Reader
    states: States
    trust: TrustSet
    now: datetime
    verdicts_matter: bool
    read: Callable[..., ReadItem] = _CACHE.read

    def hydrate(self, docs: Sequence[int], warnings: list[str]) -> list[Hydrated | None]:
        """Return documents with their files; None and a warning if a file is gone or its verdict no longer fits.

        All files are read first, folder by folder, and judged afterwards. Doing one kind of work at a time keeps the
        processor's caches warm.
        """
        files = FolderReader()
        try:
            results = {doc: self._read(doc, files.read) for doc in sorted(docs)}
        finally:
            files.close()
        return [self._judged(doc, results[doc], warnings) for doc in docs]

    def beginning(self, doc: int) -> str:
        """Return the text of a document for a second model; empty if its file cannot be read."""
        result = self._read(doc, read_file)
        return "" if isinstance(result, str) else text_of(result[2].item)

    def _read(self, doc: int, read: Read) -> tuple[Part, str, ReadItem] | str:
        part, path, kind, item_id = _file_of(self.reader, doc)
        try:
            return part, path, self.read(part.root, path, kind, item_id, read=read)
        except ItemError as error:
            return f"{kind}:{item_id} was left out: {error.message}"

    def _judged(self, doc: int, result: tuple[Part, str, ReadItem] | str, warnings: list[str]) -> Hydrated | None:
        if isinstance(result, str):
            warnings.append(result)
            return None
        part, _, read = result
        signature = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now, verify=remembering_verify)
        same = part.segment.evidence.content_digest(doc - part.base) == read.evidence.content_digest
        hydrated = Hydrated(*result, signature, same)
        if self.verdicts_matter and self.states.verdicts()[doc] != VERDICT_NUMBER[signature.verdict]:
            warnings.append(f"{hydrated.name} was left out: it changed and is {signature.verdict} now")
            return None
        if not same:
            warnings.append(f"{hydrated.name} changed since it was indexed; it is shown as it is now")
        if read.hidden:
            warnings.append(f"{hydrated.name}: hidden text: {read.hidden}")
        return hydrated


class Hit(NamedTuple):
    """One document of the page.

    Attributes:
        doc, score: The document, and its score.
        exact: Whether the query names it.
        semantic: Its scores by meaning; None for a keyword search.
        parts: The parts of the same skill that match as well, the best first.
        gain: What they add to its score.
    """

    doc: int
    score: float
    exact: bool
    semantic: HitScores | None = None
    parts: tuple[int, ...] = ()
    gain: float = 0.0


def _with_gain(traces: tuple[ClauseTrace, ...], hit: Hit) -> tuple[ClauseTrace, ...]:
    """Return the traces of a hit and one for what the parts of the skill add, so that they sum to its score."""
    if not hit.gain:
        return traces
    count = len(hit.parts)
    return (*traces, ClauseTrace("the parts of the skill", "parts", count, 1.0, 1.0, 0.0, hit.gain, hit.gain, hit.gain))


class Page(NamedTuple):
    """The results of a page.

    Attributes:
        results: The results of its hits, in order, without those whose file is gone or no longer fits.
        warnings: What has changed since the items were indexed, and other news about the hits.
        is_outdated: Whether a hit is gone or changed, so that the files may have a better answer by now.
    """

    results: tuple[SearchResult, ...]
    warnings: tuple[str, ...]
    is_outdated: bool


class PageBuilder(NamedTuple):
    """Turns hits into results.

    Attributes:
        evaluation, hydrator: The query, and what reads the files of its hits.
        explain: Whether each result says what matched.
        names_files: Whether warnings may name files that no signature covers.
    """

    evaluation: Evaluation
    hydrator: Hydrator
    explain: bool
    names_files: bool = True

    def build(self, hits: Sequence[Hit]) -> Page:
        """Return the page of some hits."""
        warnings, hiding, states = list[str](), list[str](), self.hydrator.states
        hydrated = self.hydrator.hydrate([hit.doc for hit in hits], warnings)
        read = [(hit, document) for hit, document in zip(hits, hydrated, strict=True) if document is not None]
        matches = Matches(self._terms(few=any(hit.semantic for hit in hits)), [hit.doc for hit in hits])
        sections = [hit.semantic.section if hit.semantic and document.same_bytes else None for hit, document in read]
        several = zip(read, sections, strict=True)
        shown = [
            Shown(document.read.item, hit.doc, document.same_bytes, section) for (hit, document), section in several
        ]
        results = []
        for (hit, document), parts in zip(read, matched(shown, matches), strict=True):
            item = document.read.item
            sources = states.sources_of(item.type, item.id, document.part)
            if len(sources) > 1:
                if len(set(sources)) > 1:
                    hiding += states.hiding(item.type, item.id)
                if (files := sources.count(document.part.root.source)) > 1:
                    warnings.append(
                        f"{document.name} is in {files} files of {document.part.root.source}; keep one of them"
                    )
            results.append(self._result(hit, document, sources, parts))
        warnings += cut_short(list(dict.fromkeys(hiding)))
        tools = [document for _, document in read if document.read.item.type == "tool"]
        if tools:
            from rye.spaces.lists import warn_beside

            for root in {id(document.part.root): document.part.root for document in tools}.values():
                paths = [document.path for document in tools if document.part.root is root]
                warnings += warn_beside(root, *paths, named=self.names_files)
        is_outdated = not all(document and document.same_bytes for document in hydrated)
        return Page(tuple(results), tuple(dict.fromkeys(warnings)), is_outdated)

    def _result(self, hit: Hit, hydrated: Hydrated, sources: Sequence[str], parts: Matched) -> SearchResult:
        item, root, semantic = hydrated.read.item, hydrated.part.root, hit.semantic
        shadows, shadowed_by = self.hydrator.states.sharing(sources, root.source)
        states, successor = hydrated.states_and_successor(self.hydrator.states, hit.doc)
        traces = self.evaluation.explain(hit.doc) if self.explain else None
        return SearchResult(
            id=item.id,
            name=item.name,
            description=item.description,
            category=item.category,
            score=hit.score,
            type=str(item.type),
            source=root.space,
            preview=parts.preview,
            title=item.title,
            path=f"{root.path}{os.sep}{hydrated.path.replace('/', os.sep)}",
            bundle=root.bundle,
            version=item.version,
            tags=item.tags,
            updated=item.updated,
            signature=hydrated.signature,
            folder=root.folder,
            exact=hit.exact,
            shadows=shadows,
            shadowed_by=shadowed_by,
            line=parts.line,
            matched_fields=parts.fields,
            highlights=parts.highlights,
            symbols=tuple(semantic.matched_symbols(item) if semantic else parts.symbols),
            states=states,
            successor=successor,
            explain=_with_gain(semantic.explain(traces) if semantic else traces, hit) if traces is not None else None,
            similarity=semantic.similarity if semantic else None,
            hybrid=semantic.hybrid_match(item) if semantic else None,
            parts=tuple([":".join(self.hydrator.reader.key_of(doc)) for doc in hit.parts[:MOST_PARTS]]),
            installed_from=installed_from(root, hydrated.read, self.hydrator.states.sources(root)),
        )

    def _terms(self, *, few: bool) -> list[Term]:
        """Return the terms to mark. ``few`` leaves out terms that occur almost everywhere, unless all do."""
        scored, count = self.evaluation.scored(), self.evaluation.count
        rare = [row.term for row in scored if row.df * _EVERYWHERE < count] if few else []
        return rare or [row.term for row in scored]
