"""One search of a registry on a cluster: the cluster matches and scores, rye judges the bytes and shows them.

The query is searched as written first; if it matches nothing, any of its words will do. A hybrid search compares the
query with the vectors of the first keyword hits, which come with the hits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from rye.cluster.faults import parsing, shown
from rye.cluster.hits import TIES, FetchedHits, HitRow, marked
from rye.cluster.lists import CheckedLists
from rye.cluster.published import Generation
from rye.cluster.query import (
    EVERYTHING,
    NOTHING,
    WITHDRAWN,
    Clause,
    any_of,
    cannot,
    compile_query,
    is_state,
    none_of,
)
from rye.cluster.vectors import SIMILARITY, HitVectors, Model
from rye.embedding.protocol import Embedder, Floats, query_vector
from rye.errors import EnvironmentFault, UnavailableError
from rye.index.build.reader import Reader
from rye.index.text import analysis
from rye.index.text.schema import BUILT_IN_KEYS, HIDDEN_STATES, SEPARATOR, fold_value
from rye.index.vectors.vectors import SCALE
from rye.query import ast
from rye.search.context import SearchContext
from rye.search.contract.fields import weights_for
from rye.search.contract.fusion import fuse, shown_as
from rye.search.contract.request import FACETS, Request
from rye.search.contract.results import Facet, SearchResponse, SearchResult
from rye.search.matching import bound
from rye.search.matching.bind import searched_fields
from rye.search.matching.bound import Bound, has_verdict
from rye.search.matching.expand import edits
from rye.search.meaning.semantic import hybrid_match, required_part, texts_of
from rye.search.page.page import Hit, Hydrator, PageBuilder
from rye.search.reading.attempts import ANY_LIMIT, any_stage, enough_for, first_stage
from rye.search.reading.binder import Binder
from rye.search.reading.reading import Reading, read
from rye.search.reading.relax import Dictionary
from rye.search.reading.words import visible_query
from rye.search.scoring.facets import known_facets
from rye.search.scoring.score import Evaluation
from rye.search.states.states import States
from rye.spaces.signed import ReadItem
from rye.trust.model import Verdict
from rye.trust.trust_set import TrustSet

MOST_REACHED: Final = 100_000
"""Maximum hits that paging can reach."""

MOST_COMPARED: Final = 1_000
"""Maximum keyword hits whose vectors are compared with the query."""

MOST_VECTORS: Final = 200_000
"""Maximum items of a registry that supports mode ``semantic``."""

_MOST_VALUES: Final = 10_000
_TIER: Final = 1_000.0
"""Added to the score of a hit that the query names, and of one that is not withdrawn; word scores are lower."""

_ORDERS: Final[Mapping[str, Any]] = {
    "score": {"_score": "desc"},
    "name": {"by_name": "asc"},
    "date": {"time": {"order": "desc", "missing": "_last"}},
}
_SLIPS: Final = {
    "field": "t_content",
    "suggest_mode": "missing",
    "max_edits": 2,
    "prefix_length": 1,
    "min_word_length": 3,
    "size": 3,
}
"""How to look up corrections of words that the registry lacks."""

_BY_TIES: Final[tuple[Any, ...]] = tuple({name: "asc"} for name in TIES)


class Embedding(NamedTuple):
    """The embedder of queries.

    Attributes:
        can_embed: Returns whether there is an embedder.
        opened: Returns the embedder and its model; raises :class:`rye.errors.UnavailableError`.
        boosts: The user's factors for similarities, by source.
    """

    can_embed: Callable[[], bool]
    opened: Callable[[], tuple[Embedder, Model]]
    boosts: Mapping[str, float]


class LocalContext(NamedTuple):
    """The local part of a search.

    Attributes:
        trust, now: The trusted keys, and the time of the search.
        scratch: Folder for the indexes of pages.
        lists: The signed lists of the registry, checked with these keys.
        embedding: The embedder of queries.
        only_trusted: Whether a fetched item is trusted, if all others are left out; else None.
    """

    trust: TrustSet
    now: datetime
    scratch: Path
    lists: CheckedLists
    embedding: Embedding
    only_trusted: Callable[[ReadItem], bool] | None = None


class _Answer(NamedTuple):
    """One page of hits for one query.

    Attributes:
        request: The request in the mode that answers.
        stage: The stage of the search.
        query: The query that scored the hits.
        rows: The hits.
        total: How many items match.
        hidden: How many items were left out, by state.
        facets: The requested counts.
        similar: The similarity scores by mark; None for a keyword search.
        notes: How the query was read and relaxed, and why in this mode.
        suggestion: A query that may find more, or an empty string.
    """

    request: Request
    stage: str
    query: Bound
    rows: list[HitRow]
    total: int
    hidden: Mapping[str, int]
    facets: Mapping[str, Facet]
    similar: Mapping[str, _Similar] | None = None
    notes: tuple[str, ...] = ()
    suggestion: str = ""


class _Sought(NamedTuple):
    """What a search by meaning looks for.

    Attributes:
        reading: How the query is read.
        required: What every hit must match.
        vector: Shape ``(dimensions,)``: the vector of the query.
        threshold: The similarity of a semantic match.
        dimensions: The length of the vectors of the items.
    """

    reading: Reading
    required: Bound
    vector: Floats
    threshold: float
    dimensions: int


class _Similar(NamedTuple):
    """The scores of a hit by meaning: cosine, keyword score and total; and the number of its most similar section."""

    similarity: float
    keyword: float
    total: float
    section: int = -1


class FirstItems(NamedTuple):
    """The first items of a search, to search among them.

    Attributes:
        context: The items.
        hidden: How many items were left out, by state.
        warnings: Sentences.
    """

    context: SearchContext
    hidden: Mapping[str, int]
    warnings: tuple[str, ...]


class KnownWords(Dictionary):
    """The words that a registry is known to have or to lack."""

    def __init__(self) -> None:
        super().__init__(Reader(()), searched_fields(None))
        self._corrections: dict[str, list[str]] = {}

    def note(self, word: str, corrections: list[str]) -> None:
        """Note the corrections of a word that the registry lacks; an empty list means that it has the word."""
        if corrections:
            self._corrections[word] = corrections
            self._relaxed.clear()

    def has(self, _text: str) -> bool:
        """Return False: a word of several parts is looked up by its parts."""
        return False

    def knows(self, text: str) -> bool:
        """Return whether the registry has a word, as far as it was asked."""
        return text not in self._corrections

    def nearest(self, part: str, start: str = "") -> tuple[str, float]:
        """Return the closest correction of a word that the registry lacks, and its weight."""
        correction = next((word for word in self._corrections.get(part, ()) if word.startswith(start)), "")
        return correction, 1.0 - edits(part, correction) / len(part) if correction else 0.0


class ClusterSearch:
    """One search, from request to response.

    Args:
        request: The search.
        generation: The generation to search.
        local: The keys, lists and embedder of this machine.
    """

    def __init__(self, request: Request, generation: Generation, local: LocalContext) -> None:
        text, self._dropped, begun = visible_query(request.query, shorten=request.relax)
        self._of, self._local, self._begun = generation, local, tuple(begun)
        facets = known_facets(request.facets, self.metadata_keys()) if request.facets else ()
        self.request = request._replace(query=text, facets=facets)
        self._binder = Binder(self.request, self.metadata_keys)
        self.hits = FetchedHits(generation, local.scratch, local.lists, only=local.only_trusted)
        self._words = KnownWords()
        if request.offset + request.limit > MOST_REACHED:
            raise cannot(f"show hits beyond {MOST_REACHED:,}", "narrow the query")

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys that items have."""
        owners = self._of.notes.owners.values()
        return frozenset(key for owned in owners for key in owned.keys) - frozenset(BUILT_IN_KEYS)

    def reading(self) -> Reading:
        """Return how the query is read."""
        return read(self.request, self.metadata_keys)

    def run(self) -> SearchResponse:
        """Run the search.

        Raises:
            QueryError: The query does not parse, or names something unknown.
            ArgumentError: An argument does not fit the items.
            UnavailableError: A cluster cannot do this.
        """
        request, reading = self.request, self.reading()
        begun = self._begun
        if reading.fault:
            begun = (*begun, f"the query is searched as plain words: {reading.fault.message}")
        answer = self._answer(reading)
        results, more = self._results(answer)
        removed = len(answer.rows) - len(results)
        end, total = request.offset + request.limit, answer.total
        warnings = (*reading.warnings, *self._binder.left_out(reading, self._dropped), *begun, *answer.notes)
        return SearchResponse(
            results=results,
            total=max(total - removed, 0),
            offset=request.offset,
            stage=answer.stage,
            warnings=(*warnings, *more),
            next_offset=end if end < total else None,
            hidden=answer.hidden,
            facets=answer.facets,
            did_you_mean=answer.suggestion,
            search_type=answer.request.mode.name if answer.similar is not None else "keyword",
            method=self._method(answer),
            **{name: getattr(request, name) for name in ("query", "scope", "space", "limit")},
        )

    def first_items(self) -> FirstItems:
        """Return the items of the page of a keyword search, for a search among only these.

        Raises:
            QueryError, ArgumentError, UnavailableError: As :meth:`run`.
        """
        answer = self._by_words(self.reading())
        rows, local = answer.rows, self._local
        reader, everywhere = (self.hits.indexed(selection)[0] for selection in (rows, [*rows, *self.hits.copies(rows)]))
        context = SearchContext(reader, everywhere, lambda: local.trust, (), local.now, read=self.hits.read)
        warnings = self._about(rows)
        if answer.total > len(rows):
            warnings = (f"only the first {len(rows)} of {answer.total:,} items were looked into", *warnings)
        return FirstItems(context, answer.hidden, warnings)

    def _about(self, rows: Sequence[HitRow]) -> tuple[str, ...]:
        """Return warnings about hits that differ from their signed list, and about bytes that are not an item."""
        listed = [self.hits.not_as_listed[row.root.source, row.path] for row in rows]
        return (*filter(None, listed), *dict.fromkeys(self.hits.left_out))

    def _method(self, answer: _Answer) -> str:
        mode = answer.request.mode.name
        if answer.similar is None:
            return "keyword" if mode in {"keyword", "auto"} else "keyword_fallback"
        return "weighted" if mode == "hybrid" else "embedding"

    # Requests to the cluster.

    def _compile(self, query: Bound) -> Clause:
        return compile_query(query, self._local.trust)

    def _among(self, scored: Clause, named: Clause = NOTHING) -> Clause:
        """Restrict a query to the items in space, scope and filters; also match the items that the query names."""
        within = [self._of.within(self.request.space), self._compile(self._binder.allowed)]
        if self._local.only_trusted:
            within.append(self._compile(bound.HasState("trusted")))
        exact = [_tier("named", named, 2)] if named != NOTHING else []
        is_tiered = self.request.include_superseded and self._of.notes.withdrawn
        should = [_tier("current", none_of(WITHDRAWN), 1)] if is_tiered else []
        return {"bool": {"must": [any_of([scored, *exact])], "should": should, "filter": within}}

    def _named(self) -> Clause:
        """Return the clause for the items whose id, name or ``type:id`` equals the query."""
        folded = fold_value(self.request.query)
        if not folded:
            return NOTHING
        names = dict.fromkeys((folded, folded.replace(" ", "-"), folded.replace(" ", "_")))
        return {"terms": {"entry": [f"{key}{SEPARATOR}{name}" for name in names for key in ("key", "id", "name")]}}

    # Keyword search.

    def _by_words(self, reading: Reading) -> _Answer:
        """Search for the query as written; if too few items match, for any of its words, with spelling corrected."""
        words, first = reading.words, first_stage(reading, self._words)
        parts = list(dict.fromkeys(part for word in words for part in analysis.parts(word.text)))
        corrects = reading.forgiving and not self._local.only_trusted  # corrections are words of any item
        answer = self._ask(first.name, self._binder.query(first.ast, reading), parts if corrects else ())
        if answer.total >= enough_for(reading) or not words:
            return answer
        any_of = any_stage(reading, self._words)
        wider = self._ask(any_of.name, self._binder.query(any_of.ast, reading))
        if wider.total <= answer.total:
            return answer
        notes = any_of.few if any_of.few and answer.total else any_of.notes
        return wider._replace(notes=notes, suggestion=self._words.relaxed(reading).suggestion())

    def _ask(self, stage: str, query: Bound, parts: Sequence[str] = ()) -> _Answer:
        """Return the page of one query; note which of ``parts`` the registry lacks."""
        request = self.request
        scored = self._among(self._compile(query), self._named())
        order = [_ORDERS[request.sort_by], *_BY_TIES]
        body = {"query": scored, "from": request.offset, "size": request.limit, "sort": order, "track_total_hits": True}
        if parts:
            body["suggest"] = {"words": {"text": " ".join(parts), "term": _SLIPS}}
        rows, answer = self.hits.ask(body | self._counting())
        rows = [row._replace(score=_untiered(row.score, row.names), exact="named" in row.names) for row in rows]
        with self._of.cluster.faults(), parsing():
            total = _total(answer, rows)
            for entry in answer["suggest"]["words"] if parts else ():
                self._words.note(str(entry["text"]), [str(option["text"]) for option in entry["options"]])
            if stage == "any":
                total = min(total, max(ANY_LIMIT, 0))
                rows = rows[: max(total - request.offset, 0)]
            return _Answer(request, stage, query, rows, total, self._hidden(answer), self._facets(answer))

    @property
    def _is_hidden(self) -> bool:
        """Whether withdrawn items are left out."""
        return self._of.notes.withdrawn and not self.request.include_superseded

    def _counting(self) -> dict[str, Any]:
        """Return the parts of a search that leave out withdrawn items, count them, and count the facets."""
        counts: dict[str, Any] = {}
        for number, (name, _) in enumerate(self.request.facets):
            key = FACETS.get(name, name)
            if key in {"verdict", "signer"}:
                raise cannot("count verdicts or signers", "they depend on your own keys")
            if key == "installed-from":
                raise cannot("count where skills came from", "leave that facet out")
            start = f"{key}{SEPARATOR}"
            literal = "".join(ch if ch.isalnum() else f"\\{ch}" for ch in start)
            values = {"field": "entry", "include": f"{literal}.*", "size": _MOST_VALUES}
            counts[f"{number}"] = {"terms": values}
            counts[f"{number}-missing"] = {"filter": none_of({"prefix": {"entry": start}})}
        shown_items = none_of(WITHDRAWN) if self._is_hidden else EVERYTHING
        aggs: dict[str, Any] = {"shown": {"filter": shown_items, "aggs": counts}} if counts else {}
        if not self._is_hidden:
            return {"aggs": aggs} if aggs else {}
        aggs |= {state: {"filter": is_state(state)} for state in HIDDEN_STATES}
        return {"aggs": aggs, "post_filter": none_of(WITHDRAWN)}

    def _hidden(self, answer: Mapping[str, Any]) -> dict[str, int]:
        counts = {state: int(answer["aggregations"][state]["doc_count"]) for state in HIDDEN_STATES if self._is_hidden}
        return {state: count for state, count in counts.items() if count}

    def _facets(self, answer: Mapping[str, Any]) -> dict[str, Facet]:
        facets = {}
        for number, (name, most) in enumerate(self.request.facets):
            counted, start = answer["aggregations"]["shown"], len(FACETS.get(name, name)) + 1
            values = counted[f"{number}"]
            if values["sum_other_doc_count"]:
                raise cannot(f"count {name!r}: it has more than {_MOST_VALUES:,} values", "count another facet")
            pairs = [(str(row["key"])[start:], int(row["doc_count"])) for row in values["buckets"]]
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
            rest, without = pairs[most:], int(counted[f"{number}-missing"]["doc_count"])
            facets[name] = Facet(tuple(pairs[:most]), len(rest), sum(count for _, count in rest), without)
        return facets

    # Semantic and hybrid search.

    def _answer(self, reading: Reading) -> _Answer:
        """Return the answer in the mode of the request, or by words, with a note, if that mode is not possible."""
        request, notes = self._in_mode(reading)
        answer: _Answer | None = None
        if request.mode.name != "keyword":
            answer, notes = self._by_meaning(request, reading)
        if answer is None:
            answer = self._by_words(reading)._replace(request=request)
        return answer._replace(notes=(*notes, *answer.notes))

    def _by_meaning(self, request: Request, reading: Reading) -> tuple[_Answer | None, tuple[str, ...]]:
        """Search in semantic or hybrid mode; return None if a keyword search must answer, and notes, such as why."""
        mode = request.mode
        if mode.name == "hybrid" and mode.fusion.fusion == "rrf":
            raise cannot("fuse by ranks", "leave fusion=rrf out: scores are fused by their weights")
        text = request.query if reading.bag else " ".join(texts_of(reading.main))
        fallback = f"keyword results instead of {mode.name} ones:"
        try:
            embedder, dimensions, notes = self._embedder(mode.name)
            vector = query_vector(embedder, text)
        except (UnavailableError, EnvironmentFault) as error:
            why = f"{fallback} {error.message}; {error.hint}" if error.hint else f"{fallback} {error.message}"
            return None, () if request.is_auto else (why,)
        limit = embedder.threshold if mode.threshold is None else mode.threshold
        required = ast.Everything() if reading.is_bag and reading.is_prose() else required_part(reading.main)
        compared = self._hybrid if mode.name == "hybrid" else self._semantic
        sought = _Sought(reading, self._binder.query(required, reading), vector, limit, dimensions)
        answer = compared(request, sought)
        if not answer.total and not answer.hidden and not mode.narrows:
            return None, (*notes, *answer.notes, f"{fallback} no item is as near as {limit:g}")
        return answer, notes

    def _in_mode(self, reading: Reading) -> tuple[Request, tuple[str, ...]]:
        """Resolve mode ``auto``: hybrid for a sentence if there are an embedder and vectors; also a note on that."""
        request, name = self.request, "keyword"
        notes: tuple[str, ...] = ()
        if not request.is_auto:
            return request, notes
        if reading.asks_by_meaning(request) and self._of.notes.model is not None:
            if self._local.embedding.can_embed():
                name = "hybrid"
            else:
                notes = ("only words were searched, not meaning: there is no embedder",)
        return request._replace(mode=request.mode._replace(name=name)), notes

    def _embedder(self, mode: str) -> tuple[Embedder, int, tuple[str, ...]]:
        """Return the embedder, which must have the registry's model, the length of its vectors, and notes.

        Raises:
            UnavailableError: There is no embedder, it has another model, or too many vectors would be compared.
        """
        notes, address = self._of.notes, shown(str(self._of.cluster.address))
        if notes.model is None:
            hint = "publish it from a machine with an embedder"
            raise UnavailableError("no-vectors", f"{address} has no vectors", hint=hint)
        if mode == "semantic" and notes.vectors > MOST_VECTORS:
            what = f"compare the meaning of more than {MOST_VECTORS:,} items with a query"
            raise cannot(what, "--mode hybrid compares the first hits by words")
        embedder, model = self._local.embedding.opened()
        if not model.is_of(notes.model):
            name = shown(notes.model.name)
            same = ", another one of this name" if name == model.name else ""
            message = f"{address} has vectors of {name}{same}, and the embedder here is {model.name}"
            raise UnavailableError("other-model", message, hint="choose the embedder that it was published with")
        missing = notes.count - notes.vectors
        lacking = [f"{missing:,} of {notes.count:,} items have no vectors, only words rank them"] if missing else []
        return embedder, model.dimensions, tuple(lacking)

    def _hybrid(self, request: Request, sought: _Sought) -> _Answer:
        """Compare the first keyword hits with the query, and fuse both scores."""
        reading = sought.reading
        node = (
            self._words.relaxed(reading._replace(forgiving=False)).query
            if reading.is_bag and reading.is_prose()
            else reading.main
        )
        query = self._binder.query(node, reading)
        scored = self._among(any_of([self._compile(query)]), self._named())
        scored["bool"]["filter"].append(self._compile(sought.required))
        facts = {"_source": ["vectors", "chunks"], "docvalue_fields": ["mark"], "sort": ["_score", *_BY_TIES]}
        body = {"query": scored, "size": MOST_COMPARED, **facts, **self._counting()}
        answer = self._of.cluster.search(self._of.index_name, body)
        with self._of.cluster.faults(), parsing():
            hits = answer["hits"]["hits"][:MOST_COMPARED]
            marks = [str(hit["fields"]["mark"][0]) for hit in hits]
            names = [hit.get("matched_queries", ()) for hit in hits]
            keyword = np.asarray([_untiered(float(hit["_score"]), own) for hit, own in zip(hits, names, strict=True)])
            vectors = [HitVectors.read(hit["_source"], sought.dimensions) for hit in hits]
            hidden, facets = self._hidden(answer), self._facets(answer)
        keyword = np.sqrt(keyword / max(keyword.max(initial=0.0), 1e-9))
        best = [hit_vectors.nearest(sought.vector) for hit_vectors in vectors]
        fused = fuse(request.mode.fusion, np.asarray([cosine for cosine, _ in best]), keyword, sought.threshold)
        exact = np.asarray(["named" in own for own in names], bool)
        order = [at for at in np.lexsort((-fused.total, ~exact)).tolist() if fused.matched[at] or exact[at]]
        page = order[request.offset : request.offset + request.limit]
        similar = {
            marks[at]: _Similar(best[at][0], float(keyword[at]), float(fused.total[at]), best[at][1]) for at in page
        }
        rows = {
            row.mark: row
            for row in self.hits.matching(marked(list(similar)), max(len(page), 1), dimensions=sought.dimensions)
        }
        kept = [
            rows[mark]._replace(score=scores.total, exact=bool(exact[at]))
            for at, (mark, scores) in zip(page, similar.items(), strict=True)
            if mark in rows
        ]
        notes = tuple(filter(None, [fused.why_none_matched()]))
        return _Answer(request, "hybrid", query, kept, len(order), hidden, facets, similar, notes)

    def _semantic(self, request: Request, sought: _Sought) -> _Answer:
        """Compare all vectors with the query, on the cluster."""
        vector, factors = sought.vector, request.mode.factors(self._local.embedding.boosts)
        params = {
            "q": (vector.astype(float) / SCALE).tolist(),
            "f": [factors[root.space] if root else 1.0 for root in self._of.roots],
            "t": shown_as(sought.threshold),
        }
        script = {"source": SIMILARITY, "params": params}
        among = self._among({"bool": {"filter": [self._compile(sought.required), {"exists": {"field": "vectors"}}]}})
        query = {"script_score": {"query": among, "script": script, "min_score": 1.0}}
        body = {"query": query, "from": request.offset, "size": request.limit, "track_total_hits": True}
        body |= {"sort": ["_score", *_BY_TIES], **self._counting()}
        rows, answer = self.hits.ask(body, dimensions=sought.dimensions)
        with self._of.cluster.faults(), parsing():
            total, hidden, facets = _total(answer, rows), self._hidden(answer), self._facets(answer)
        nearest = {row.mark: row.vectors.nearest(vector) if row.vectors else (0.0, -1) for row in rows}
        total_of = {row.mark: max(nearest[row.mark][0], 0.0) * factors[row.root.space] for row in rows}
        similar = {mark: _Similar(cosine, 0.0, total_of[mark], section) for mark, (cosine, section) in nearest.items()}
        rows = [row._replace(score=total_of[row.mark]) for row in rows]
        return _Answer(request, "semantic", sought.required, rows, total, hidden, facets, similar)

    # The page.

    def _results(self, answer: _Answer) -> tuple[tuple[SearchResult, ...], tuple[str, ...]]:
        """Return the hits as results, judged from the bytes that came with them; their paths are addresses."""
        reader, numbers = self.hits.indexed([*answer.rows, *self.hits.copies(answer.rows)])
        states = States(reader, reader, lambda: self._local.trust, self._local.now)
        conditions = [
            node for node in (answer.query, *(each.query for each in self._binder.conditions)) if has_verdict(node)
        ]
        kept = [
            row for row in answer.rows if all(_holds(node, numbers[row.mark], states, reader) for node in conditions)
        ]
        gone = len(answer.rows) - len(kept)
        claims = [f"{gone} hits were left out: their verdict is not the requested one"] if gone else []
        evaluation = Evaluation(reader, answer.query, weights_for(reader), states)
        trust, now, read = self._local.trust, self._local.now, self.hits.read
        hydrator = Hydrator(reader, states, trust, now, verdicts_matter=False, read=read)
        hits = [Hit(numbers[row.mark], round(row.score, 4), row.exact) for row in kept]
        results, warnings, _ = PageBuilder(evaluation, hydrator, self.request.explain).build(hits)
        placed = tuple(self._placed(result, row, answer) for result, row in zip(results, kept, strict=True))
        return placed, (*claims, *warnings, *self._about(kept))

    def _placed(self, result: SearchResult, row: HitRow, answer: _Answer) -> SearchResult:
        """Return a result with its address and similarity scores; its traces say what matched but have no scores."""
        traces = result.explain and tuple(
            replace(trace, df=0, idf=0.0, contribution=0.0, weight=0.0, unboosted=0.0) for trace in result.explain
        )
        result = replace(result, path=self._of.address_of(result.path), explain=traces)
        if answer.similar is None:
            return result
        scores = answer.similar[row.mark]
        similarity = round(scores.similarity, 4) if np.isfinite(scores.similarity) else None
        is_hybrid = answer.stage == "hybrid"
        facts = scores.section, scores.total, similarity or 0.0, scores.keyword
        match = hybrid_match(row.read.item, self.request.query, *facts) if is_hybrid else None
        return replace(result, similarity=similarity, hybrid=match)


def _total(answer: Mapping[str, Any], rows: Sequence[HitRow]) -> int:
    """Return how many items match, without the hits of the page that were left out."""
    return max(int(answer["hits"]["total"]["value"]) - (len(answer["hits"]["hits"]) - len(rows)), len(rows))


def _tier(name: str, clause: Clause, steps: int) -> Clause:
    return {"constant_score": {"filter": clause, "boost": steps * _TIER, "_name": name}}


def _untiered(score: float, names: Collection[str]) -> float:
    """Return a score without the tiers' share, given the names of the clauses that matched."""
    return max(score - 2 * _TIER * ("named" in names) - _TIER * ("current" in names), 0.0)


def _holds(node: Bound, doc: int, states: States, reader: Reader) -> bool:
    """Return whether a fetched hit meets a condition on its verdict or signer, judged with the local keys."""
    match node:
        case bound.All(operands=operands):
            return all(_holds(operand, doc, states, reader) for operand in operands)
        case bound.Any(operands=operands):
            return any(_holds(operand, doc, states, reader) for operand in operands)
        case bound.BoundNot(operand=operand):
            return not _holds(operand, doc, states, reader)
    if not has_verdict(node):
        return bool(Evaluation(reader, node, weights_for(reader), states).docs().mask[doc])
    signature = states.signature(*reader.locate(doc))
    match node:
        case bound.HasState(name="signed"):
            return signature.verdict is not Verdict.UNSIGNED
        case bound.HasState(name=name):
            return signature.verdict == name
        case bound.Glob(pattern=pattern):
            return fnmatchcase(signature.signer, pattern)
    return bool(signature.signer)
