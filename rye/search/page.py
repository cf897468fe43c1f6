"""One page of hits: read from disk, verified from those bytes at that moment, and shown with what matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rye.errors import ItemError
from rye.index.reader import Part
from rye.index.reading import ReadItem, read_item
from rye.index.schema import TYPE_NAMES
from rye.index.verdicts import VERDICT_NUMBER
from rye.items.model import ItemType
from rye.search.evaluate import Evaluation
from rye.search.passages import matched
from rye.search.results import SearchResult
from rye.search.states import States
from rye.signing import Signature, TrustSet, judge


@dataclass(frozen=True, slots=True)
class Hit:
    """One document of the page."""

    doc: int
    score: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Page:
    """The hits that could be shown, and what to say about those that changed or went since they were indexed."""

    results: tuple[SearchResult, ...]
    warnings: tuple[str, ...]


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
        results, warnings = [], []
        for hit in hits:
            part, local = self.evaluation.reader.locate(hit.doc)
            path = part.segment.paths[local]
            kind, item_id = ItemType(TYPE_NAMES[part.segment.types[local]]), part.segment.ids[local]
            try:
                read = read_item(part.root, path, kind, item_id)
            except ItemError as error:
                warnings.append(f"{kind}:{item_id} was left out: {error.message}")
                continue
            signature = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now)
            known = part.segment.evidence[local].content_digest
            same = known == read.evidence.content_digest
            if not same:
                warnings.append(f"{kind}:{item_id} changed since it was indexed; it is shown as it is now")
                if self.verdicts_matter and self.states.verdicts[hit.doc] != VERDICT_NUMBER[signature.verdict]:
                    warnings[-1] = f"{kind}:{item_id} was left out: it changed and is {signature.verdict} now"
                    continue
            results.append(self._result(hit, part, read, signature, same_bytes=same, path=path))
            twins = [one for one, _ in self.evaluation.reader.having_key(kind, item_id) if one.root is part.root]
            if len(twins) > 1:
                warnings.append(f"{kind}:{item_id} is in {len(twins)} files of {part.root.source}; keep one of them")
        return Page(tuple(results), tuple(dict.fromkeys(warnings)))

    def _result(
        self, hit: Hit, part: Part, read: ReadItem, signature: Signature, *, same_bytes: bool, path: str
    ) -> SearchResult:
        item = read.item
        leaves = [row.found for row in self.evaluation.scored]
        found = matched(item, hit.doc, leaves, same_bytes=same_bytes)
        shadows, shadowed_by = self.states.sharing(item.type, item.id, part.root.source)
        return SearchResult(
            id=item.id,
            name=item.name,
            description=item.description,
            category=item.category,
            score=hit.score,
            type=str(item.type),
            source=part.root.space,
            preview=found.preview,
            title=item.title,
            path=str(part.root.path / path),
            bundle=part.root.bundle,
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
            explain=self.evaluation.explain(hit.doc) if self.explain else None,
        )
