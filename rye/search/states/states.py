"""The states of the items searched: verdicts and signers, copies and successors, and where skills came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from rye.index.build.reader import Part, Reader
from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Bools, Ints, Numbers, pack, unique
from rye.index.storage.terms import Strings
from rye.index.text.schema import HIDDEN_STATES, fold_value
from rye.items.model import TYPE_NAMES, TYPE_NUMBER
from rye.search.states.graph import Graph, graph_of
from rye.search.states.succession import Succession
from rye.search.states.verdicts import VERDICT_NUMBER, VerdictColumn, column_name, verdict_column
from rye.spaces.model import Root
from rye.spaces.shadowing import foreign_copy
from rye.spaces.skills_lock import installed_sources
from rye.trust.judge import judge
from rye.trust.keys import remembering_verify
from rye.trust.model import Signature, Verdict
from rye.trust.trust_set import TrustSet

_FEW = 8
"""Up to this many different numbers, comparing with each is faster than :func:`numpy.bincount`."""


def tally(numbers: Numbers, size: int) -> Ints:
    """Return how often each number below ``size`` occurs."""
    if size > _FEW:
        return np.bincount(numbers, minlength=size)
    return np.asarray([np.count_nonzero(numbers == number) for number in range(size)], np.int64)


_STATED = "metadata.github-repo"
"""The metadata key in which ``gh skill`` records the source of a skill."""

_kept_verdicts: WeakKeyDictionary[Segment, tuple[Path, VerdictColumn]] = WeakKeyDictionary()
_kept_shadowing: WeakKeyDictionary[Reader, dict[str, Bools]] = WeakKeyDictionary()


class States:
    """The states of the documents of a reader.

    ``everywhere`` has all spaces, highest priority first, to detect shadowing. ``trust`` is called only when a verdict
    is needed. ``now`` is the time at which expiry is judged.
    """

    def __init__(self, reader: Reader, everywhere: Reader, trust: Callable[[], TrustSet], now: datetime) -> None:
        self._reader = reader
        self._everywhere = everywhere
        self._trust = trust
        self._now = now
        self._columns: list[VerdictColumn] | None = None
        self._sources: dict[Root, Mapping[str, str]] = {}

    def having(self, state: str) -> Bools:
        """Return a mask of the documents in a state of :data:`rye.search.contract.fields.STATES`."""
        if state in HIDDEN_STATES:
            mask = np.zeros(self._reader.size, bool)
            mask[self._reader.hidden[state]] = True
            return mask
        if state == "signed":
            signed: Bools = self.verdicts() != VERDICT_NUMBER[Verdict.UNSIGNED]
            return signed
        if state in VERDICT_NUMBER:
            matches: Bools = self.verdicts() == VERDICT_NUMBER[state]
            return matches
        if state in {"orphan", "dangling"}:
            return self.from_all_spaces(self.graph().mask(state))
        return self.from_all_spaces(_shadowing(self._everywhere)[state])

    def graph(self) -> Graph:
        """Return the relations between the items of all spaces."""
        return graph_of(self._everywhere)

    def withdrawn(self, doc: int) -> tuple[tuple[str, ...], str]:
        """Return which of :data:`HIDDEN_STATES` a document is in, and its successor if that is known."""
        withdrawn = self._reader.withdrawn
        if not len(withdrawn) or (at := int(withdrawn.searchsorted(doc))) == len(withdrawn) or withdrawn[at] != doc:
            return (), ""
        states = tuple(state for state, docs in self._reader.hidden.items() if doc in docs)
        return states, self._succession.of(self.to_all_spaces(doc))

    def hidden_message(self, doc: int) -> str:
        """Return a sentence that says that a document is hidden, why, and what replaces it."""
        subject, successor = self._succession.names(self.to_all_spaces(doc))
        reference = f"; see {successor}" if successor else ""
        return f"{subject} is {' and '.join(self.withdrawn(doc)[0])}, so hidden{reference}"

    def successor_warnings(self, doc: int) -> list[str]:
        """Return a warning if the successor of a trusted document is not trusted."""
        return self._succession.warnings(self.to_all_spaces(doc)) if self.withdrawn(doc)[0] else []

    @cached_property
    def _succession(self) -> Succession:
        return Succession(self._everywhere, self.signature)

    def to_all_spaces(self, doc: int) -> int:
        """Return the document number in the reader of all spaces."""
        part, local = self._reader.locate(doc)
        return local + next(other.base for other in self._everywhere.parts if other.listed is part.listed)

    def hiding(self, item_type: str, item_id: str) -> tuple[str, ...]:
        """Return a warning for each copy of an item that is hidden by the winning copy but signed with another key."""
        copies = list(self._everywhere.having_key(item_type, item_id))
        signed = [self.signature(part, local) for part, local in copies]
        hider = copies[0][0].root.source if copies else ""
        sentences = (
            foreign_copy(f"{item_type}:{item_id}", (hider, signed[0]), (part.root.source, signature))
            for (part, _), signature in zip(copies, signed, strict=True)
            if part.root.source != hider
        )
        return tuple(filter(None, sentences))

    def signature(self, part: Part, doc: int) -> Signature:
        """Return the verdict on a document of a segment."""
        segment, root = part.segment, part.root
        origin = root.origin(TYPE_NAMES[segment.types[doc]], segment.ids[doc], segment.paths[doc])
        evidence = segment.evidence[doc]
        return judge(evidence, origin=origin, trust=self._trust(), now=self._now, verify=remembering_verify)

    def from_all_spaces(self, mask: Bools) -> Bools:
        """Convert a mask of the documents of all spaces to one of the documents of the spaces searched."""
        if self._reader is self._everywhere:
            return mask
        bases = {id(part.listed): part.base for part in self._everywhere.parts}
        starts = [(bases[id(part.listed)], part.segment.docs) for part in self._reader.parts]
        return np.concatenate([np.zeros(0, bool), *(mask[start : start + docs] for start, docs in starts)])

    def _verdict_columns(self) -> list[VerdictColumn]:
        if self._columns is None:
            trust = self._trust()
            digest = trust.digest(self._now)[:16]
            names = [column_name(part.root, trust, digest) for part in self._reader.parts]
            parts = zip(self._reader.parts, names, strict=True)
            self._columns = [self._column(part, part.file(f".{name}.ryx"), trust) for part, name in parts]
        return self._columns

    def _column(self, part: Part, path: Path, trust: TrustSet) -> VerdictColumn:
        """Return the verdicts on a segment. The last ones are cached as long as the segment is open."""
        kept = _kept_verdicts.get(part.segment)
        if kept is None or kept[0] != path or not kept[1].holds_at(self._now):
            column = verdict_column(path, part.segment, part.root, trust=trust, now=self._now)
            kept = _kept_verdicts[part.segment] = path, column
        return kept[1]

    def verdicts(self) -> npt.NDArray[np.uint8]:
        """Return the verdict number of every document, shape ``(size,)``."""
        return np.concatenate([np.zeros(0, np.uint8), *(column.verdicts for column in self._verdict_columns())])

    def signers(self, docs: Ints) -> dict[str, int]:
        """Count the documents by signer, given in ascending order; the empty name counts those without a signer."""
        totals: dict[str, int] = {}
        borders = np.searchsorted(docs, [part.base for part in self._reader.parts] + [self._reader.size])
        for at, (part, column) in enumerate(zip(self._reader.parts, self._verdict_columns(), strict=True)):
            local = docs[borders[at] : borders[at + 1]] - part.base
            counts = tally(column.signer_of.take(local), len(column.signers))
            for number in np.flatnonzero(counts).tolist():
                name = column.signers[number]
                totals[name] = totals.get(name, 0) + int(counts[number])
        return totals

    def signed_by(self, glob: str) -> Bools:
        """Return a mask of the documents whose signer matches a glob, in any case; unsigned documents never match."""
        masks = [np.zeros(0, bool)]
        for column in self._verdict_columns():
            matched = _matching(column.signers.everything, glob)
            masks.append(np.asarray([name in matched for name in column.signers.everything], bool)[column.signer_of])
        return np.concatenate(masks)

    def installed_from(self, glob: str) -> Bools:
        """Return a mask of the documents of skills that were installed from a source matching a glob."""
        mask = np.zeros(self._reader.size, bool)
        for source in _matching(self._installed, glob):
            mask[self._installed[source]] = True
        return mask

    def installed(self, docs: Ints) -> dict[str, int]:
        """Count the documents by the source they were installed from, given in ascending order."""
        counts = {source: int(np.isin(docs, members).sum()) for source, members in self._installed.items()}
        return {source: count for source, count in counts.items() if count}

    @cached_property
    def _installed(self) -> dict[str, Ints]:
        """The documents of skills by the source they were installed from: in their metadata, else in a record."""
        docs_by_source = dict[str, list[Ints]]()
        for part in self._reader.parts:
            stated, is_stated = part.segment.values(_STATED), np.zeros(part.segment.docs, bool)
            for number, source in enumerate(stated.names(np.arange(stated.size))):
                docs = stated.docs(np.asarray([number]))
                is_stated[docs] = True
                docs_by_source.setdefault(source, []).append(docs + part.base)
            for folder, source in self.sources(part.root).items():
                if len(docs := part.segment.having("skill", fold_value(folder))):
                    docs_by_source.setdefault(source, []).append(docs[~is_stated[docs]] + part.base)
        return {source: unique(*several) for source, several in docs_by_source.items()}

    def sources(self, root: Root) -> Mapping[str, str]:
        """Return folder → source for the installed skills of a root."""
        if root not in self._sources:
            self._sources[root] = installed_sources(root)
        return self._sources[root]

    def sources_of(self, item_type: str, item_id: str, known: Part | None = None) -> list[str]:
        """Return the source of every live document with this type and id, by priority.

        ``known`` is a part that has one.
        """
        sources = list[str]()
        for part in self._everywhere.parts:
            segment = part.segment
            if known is not None and segment is known.segment and not segment.has_duplicates:
                sources.append(part.root.source)
            else:
                docs = segment.copies_of(TYPE_NUMBER[item_type], item_id)
                sources += [part.root.source] * int(part.live[docs].sum())
        return sources

    def sharing(self, sources: Sequence[str], source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return ``(shadows, shadowed_by)``: the other sources of an item with lower and with higher priority."""
        if len(sources) == 1 and sources[0] == source:
            return (), ()
        rank = self._rank
        ordered = sorted({*sources} - {source}, key=rank.__getitem__)
        own = rank.get(source, len(rank))
        return tuple(s for s in ordered if rank[s] > own), tuple(s for s in ordered if rank[s] < own)

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {root.source: number for number, (root, _) in enumerate(self._everywhere.snapshots)}


def _matching(names: Iterable[str], glob: str) -> set[str]:
    """Return the names that match a folded glob, in any case; an empty name never matches."""
    distinct = sorted((fold_value(name), name) for name in set(names) if name)
    offsets, buffer = pack([folded for folded, _ in distinct])
    return {distinct[at][1] for at in Strings(offsets, memoryview(buffer)).matching(glob)}


def _shadowing(everywhere: Reader) -> dict[str, Bools]:
    """Return masks of the ``shadowed`` and ``shadowing`` documents: a root of higher or lower priority has their key.

    The masks are kept as long as the reader, because comparing the keys of 90,000 items takes 0.15 s.
    """
    if everywhere not in _kept_shadowing:
        living = [np.flatnonzero(part.live) for part in everywhere.parts]
        keys = [
            list(zip(part.segment.types[docs].tolist(), part.segment.ids.take(docs), strict=True))
            for part, docs in zip(everywhere.parts, living, strict=True)
        ]
        ranks = {root.source: rank for rank, (root, _) in enumerate(everywhere.snapshots)}
        places = [ranks[part.root.source] for part in everywhere.parts]
        masks = {state: np.zeros(everywhere.size, bool) for state in ("shadowed", "shadowing")}
        for part, docs, own_keys, place in zip(everywhere.parts, living, keys, places, strict=True):
            higher = {key for other, rank in zip(keys, places, strict=True) if rank < place for key in other}
            lower = {key for other, rank in zip(keys, places, strict=True) if rank > place for key in other}
            for state, keys_elsewhere in (("shadowed", higher), ("shadowing", lower)):
                is_elsewhere = np.fromiter(map(keys_elsewhere.__contains__, own_keys), bool, len(own_keys))
                masks[state][docs[is_elsewhere] + part.base] = True
        _kept_shadowing[everywhere] = masks
    return _kept_shadowing[everywhere]
