"""Find the item that replaces a superseded, deprecated or yanked one, and decide whose claim to that counts.

An item may name its successor (``superseded_by``), and another may claim to be it (``supersedes``): anybody can write
that about anybody's item. So a claim counts only if its author could have written the item itself:

1. the item's own;
2. the claim of a trusted item whose key may sign the item as well (:meth:`rye.trust.TrustSet.may_sign`);
3. of an unsigned item, that of any other of its source;
4. of a signed item that is not trusted, that of another of its source with the same verdict and signer.

A successor may be superseded, too. The chain is followed to its end, and at every step the claim has to count for the
item that was asked about. A claim and the verdict on it come from the same bytes: those indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from rye.index.arrays import Ints, unique
from rye.index.reader import Part, Reader
from rye.index.relations import KIND_NUMBER
from rye.index.schema import TYPE_NAMES
from rye.search.graph import Graph, graph_of
from rye.trust.model import Signature, Verdict
from rye.trust.trust_set import TrustSet

MAX_CLAIMS: Final = 100
"""Items that say they take the place of one which are looked at, those of its own source first."""

_NAMED: Final = 3

_SUPERSEDES, _SUPERSEDED_BY = KIND_NUMBER["supersedes"], KIND_NUMBER["superseded_by"]


class _Step(NamedTuple):
    """A successor as it is named: that item, or just the words where they name none or several."""

    name: str
    item: int | None = None


class Succession:
    """The successors of the items of all spaces.

    ``signature`` judges a document of a part by its indexed evidence; ``trust`` is called only to weigh another item's
    claim.
    """

    def __init__(
        self,
        everywhere: Reader,
        *,
        signature: Callable[[Part, int], Signature],
        trust: Callable[[], TrustSet],
        now: datetime,
    ) -> None:
        self._reader = everywhere
        self._signature = signature
        self._trust = trust
        self._now = now

    def of(self, doc: int) -> str:
        """Return ``type:id`` of what takes the place of a document, the words for it where they name none, or nothing.

        Where the chain closes to a circle, that is the last item before it does.
        """
        return self._end(doc).name

    def names(self, doc: int) -> tuple[str, str]:
        """Return in words a document, and what takes its place, if anything does.

        Of a document that is not trusted also whose it is, and its verdict; of another, where that differs.
        """
        verdict, end = self._judged(doc).verdict, self._end(doc)
        itself = self._name(doc) if verdict is Verdict.TRUSTED else self._whose(doc)
        same = end.item is None or self._judged(end.item).verdict is verdict
        return itself, end.name if same or end.item is None else self._whose(end.item)

    def warnings(self, doc: int) -> list[str]:
        """Return sentences: that what takes its place is less than trusted, or whose claims to do so do not count."""
        end = self._end(doc)
        if end.item is not None:
            part, _ = self._reader.locate(end.item)
            found = self._judged(end.item).verdict
            if self._judged(doc).verdict is Verdict.TRUSTED and found is not Verdict.TRUSTED:
                return [f"{end.name} of {part.root.source}, which takes its place, is {found}"]
        if end.name:
            return []
        claims = self._claims(doc, doc).tolist()
        more = len(claims) - _NAMED
        rest = [f"and {more} more items say so; rye refs lists them"] if more > 0 else []
        refused = "says that it takes its place, but has no say on that"
        return [f"{self._whose(claim)} {refused}" for claim in claims[:_NAMED]] + rest

    @cached_property
    def _graph(self) -> Graph:
        return graph_of(self._reader)

    @cached_property
    def _withdrawn(self) -> Ints:
        return np.concatenate(list(self._reader.hidden.values()))

    def _end(self, doc: int) -> _Step:
        """Follow the chain."""
        at, found, seen = doc, _Step(""), {self._graph.item_of(doc)}
        while (step := next(self._steps(at, doc), None)) and step.item not in seen:
            found = step
            if step.item is None:
                break
            seen.add(step.item)
            at = step.item
            if not np.isin(at, self._withdrawn):
                break
        return found

    def _steps(self, at: int, doc: int) -> Iterator[_Step]:
        """Yield the successors of a document by claims that count for the one asked about, the best first."""
        if self._counts(at, doc):
            yield from self._stated(at)
        for claim in self._claims(at, doc).tolist():
            if self._counts(claim, doc):
                yield _Step(self._name(claim), self._graph.item_of(claim))

    def _stated(self, doc: int) -> Iterator[_Step]:
        """Yield the successors that a document names, but for itself; a name of several items is left as words."""
        edges = self._graph.stated_by(np.asarray([doc]))
        for number in np.flatnonzero(edges.kinds == _SUPERSEDED_BY).tolist():
            named = edges.named[edges.starts[number] : edges.starts[number + 1]].tolist()
            if len(named) != 1:
                yield _Step(self._graph.written(edges.targets[[number]])[0])
            elif named[0] != self._graph.item_of(doc):
                yield _Step(self._name(named[0]), named[0])

    def _claims(self, at: int, doc: int) -> Ints:
        """Return the documents that say they supersede one: of the source of the item asked about first."""
        edges = self._graph.naming(np.asarray([at]))
        docs = unique(edges.docs[(edges.kinds == _SUPERSEDES) & (edges.counts == 1)])
        docs = docs[self._graph.items_of(docs) != self._graph.item_of(at)]
        sources = [part.root.source for part in self._reader.parts]
        own = self._reader.locate(doc)[0].root.source
        elsewhere = np.asarray([source != own for source in sources], bool)[self._reader.part_numbers(docs)]
        ordered: Ints = docs[np.lexsort((np.isin(docs, self._withdrawn), elsewhere))]
        return ordered[:MAX_CLAIMS]

    def _counts(self, by: int, doc: int) -> bool:
        """Return whether the word of one document on what takes the place of another counts."""
        if by == doc:
            return True
        theirs, part, local = self._judged(by), *self._reader.locate(doc)
        if theirs.verdict is Verdict.TRUSTED:
            root, segment = part.root, part.segment
            origin = root.origin(TYPE_NAMES[segment.types[local]], segment.ids[local])
            return self._trust().may_sign(theirs.signer, origin, self._now).counts
        own = self._judged(doc)
        if own.verdict is Verdict.TRUSTED or self._reader.locate(by)[0].root.source != part.root.source:
            return False
        return own.verdict is Verdict.UNSIGNED or (own.verdict, own.signer) == (theirs.verdict, theirs.signer)

    def _judged(self, doc: int) -> Signature:
        return self._signature(*self._reader.locate(doc))

    def _name(self, doc: int) -> str:
        return ":".join(self._reader.key_of(doc))

    def _whose(self, doc: int) -> str:
        return f"{self._name(doc)} of {self._reader.locate(doc)[0].root.source} ({self._judged(doc).verdict})"
