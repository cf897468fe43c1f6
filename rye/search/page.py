"""One page of hits: read from disk, verified from those bytes at that moment, and shown with what matched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from rye.errors import ItemError
from rye.index.reader import Part
from rye.index.schema import TYPE_NAMES
from rye.index.verdicts import VERDICT_NUMBER
from rye.items.model import ItemType
from rye.search.closeness import Closeness
from rye.search.evaluate import Evaluation
from rye.search.foreign import cut_short
from rye.search.leaves import Found
from rye.search.passages import Matches, matched
from rye.search.reading import Read, Shelf
from rye.search.results import LeafTrace, SearchResult
from rye.search.states import States
from rye.signing import Signature, TrustSet, judge, remembering_verify

_SHELF = Shelf()
_EVERYWHERE = 4
"""A word in more than one of so many items says little about any."""

_KINDS = tuple(map(ItemType, TYPE_NAMES))


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
    """A hit with where it is, whether its bytes are those that were indexed, and the sources of all its copies."""

    hit: Hit
    part: Part
    path: str
    same_bytes: bool
    copies: Sequence[str]


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
        results, warnings, hiding = [], [], list[str]()
        fused = any(hit.closeness is not None for hit in hits)
        matches = Matches(self._told(few=fused), [hit.doc for hit in hits])
        for hit in hits:
            part, local = self.evaluation.reader.locate(hit.doc)
            path = part.segment.paths[local]
            kind, item_id = _KINDS[part.segment.types[local]], part.segment.ids[local]
            try:
                read = _SHELF.read(part.root, path, kind, item_id)
            except ItemError as error:
                warnings.append(f"{kind}:{item_id} was left out: {error.message}")
                continue
            signature = judge(
                read.evidence, origin=read.origin, trust=self.trust, now=self.now, verify=remembering_verify
            )
            same = part.segment.evidence.content_digest(local) == read.evidence.content_digest
            if not same:
                warnings.append(f"{kind}:{item_id} changed since it was indexed; it is shown as it is now")
                if self.verdicts_matter and self.states.verdicts[hit.doc] != VERDICT_NUMBER[signature.verdict]:
                    warnings[-1] = f"{kind}:{item_id} was left out: it changed and is {signature.verdict} now"
                    continue
            shown = _Shown(hit, part, path, same, self.states.copies(kind, item_id, part))
            results.append(self._result(shown, read, signature, matches))
            if len(set(shown.copies)) > 1:
                hiding += self.states.hiding(kind, item_id)
            if (twins := shown.copies.count(part.root.source)) > 1:
                warnings.append(f"{kind}:{item_id} is in {twins} files of {part.root.source}; keep one of them")
        warnings += cut_short(list(dict.fromkeys(hiding)))
        return Page(tuple(results), tuple(dict.fromkeys(warnings)))

    def _result(self, shown: _Shown, read: Read, signature: Signature, matches: Matches) -> SearchResult:
        item, hit, root, near = read.item, shown.hit, shown.part.root, shown.hit.closeness
        section = near.section if near and shown.same_bytes else None
        found = matched(item, hit.doc, matches, same_bytes=shown.same_bytes, section=section)
        shadows, shadowed_by = self.states.sharing(shown.copies, root.source)
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
            path=f"{root.path}{os.sep}{shown.path.replace('/', os.sep)}",
            bundle=root.bundle,
            version=item.version,
            tags=item.tags,
            updated=item.updated,
            signature=signature,
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
