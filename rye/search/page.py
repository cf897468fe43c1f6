"""One page of hits: read from disk, verified from those bytes at that moment, and shown with what matched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from rye.search.closeness import Closeness
from rye.search.evaluate import Evaluation
from rye.search.leaves import Found
from rye.search.passages import Matched, Matches, matched
from rye.search.reading import Read, Shelf
from rye.search.rereading import Reread, Rereading
from rye.search.results import LeafTrace, SearchResult
from rye.search.states import States
from rye.signing import TrustSet
from rye.signing.foreign import cut_short

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

    def _told(self, *, few: bool) -> list[Found]:
        """Return the leaves to mark; of the words of a description those that are not everywhere, if there are any."""
        found = [row.found for row in self.evaluation.scored]
        rare = [leaf for leaf in found if leaf.df * _EVERYWHERE < self.evaluation.reader.count] if few else []
        return rare or found

    def _explained(self, hit: Hit) -> tuple[LeafTrace, ...]:
        traces = self.evaluation.explain(hit.doc)
        return traces if hit.closeness is None else hit.closeness.explain(traces)


def _matched(hit: Hit, again: Reread[Read], matches: Matches) -> Matched:
    section = hit.closeness.section if hit.closeness and again.same_bytes else None
    return matched(again.read.item, hit.doc, matches, same_bytes=again.same_bytes, section=section)
