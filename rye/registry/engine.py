"""The engine of a registry: the local indexes, or a cluster behind the same few methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from rye.errors import ArgumentError, NotFoundError, QueryError
from rye.index.build.reader import Reader
from rye.index.storage.container import SYMPTOMS, DamagedError
from rye.registry.lookup import why_of
from rye.registry.state import Indexes, State
from rye.registry.trusted import TrustedView
from rye.registry.vectors import VectorIndexes
from rye.search.context import SearchContext
from rye.search.contract.request import Request, SectionRequest, names_own
from rye.search.contract.results import SearchResponse, SectionResponse
from rye.spaces.bundles import is_own
from rye.trust.model import Verdict
from rye.trust.trust_store import system_clock

if TYPE_CHECKING:
    from rye.index.build.refresh import Progress
    from rye.registry.diagnosis import DoctorReport
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem
    from rye.registry.skills import FoundSkill
    from rye.registry.stats import Stats
    from rye.search.engine import Search
    from rye.search.explain import QueryReading, Why
    from rye.spaces.model import Root

T = TypeVar("T")
A = TypeVar("A", SearchResponse, SectionResponse)


_PAGE = 500
"""Items per page of a list."""


Pages = Generator[SearchResponse, None, None]
"""The pages of one search. Close the generator if you do not read all of them."""


def in_pages(request: Request, search: Callable[[Request], SearchResponse], size: int) -> Pages:
    """Yield the pages of a search. Each has at most ``size`` hits, and only the first counts facets."""
    at, end, facets = request.offset, request.offset + request.limit, request.facets
    while True:
        page = search(request._replace(offset=at, limit=min(size, end - at), facets=facets))
        yield page
        at, facets = at + size, ()
        if at >= min(end, page.total):
            return


class Engine(Protocol):
    """Answers the questions of a registry; :class:`rye.Registry` documents what each method returns and raises.

    The engine of a cluster raises ``not-on-cluster`` for what it cannot do.
    """

    @property
    def address(self) -> str | None:
        """The address of the registry on a cluster; None for the local spaces."""

    def search(self, request: Request) -> SearchResponse:
        """Run a search."""

    def pages(self, request: Request) -> Pages:
        """Yield the pages of a search with any limit, all from one state; the first page has the facets."""

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Search for sections."""

    def similar(self, request: Request, item: str) -> SearchResponse:
        """Return items similar to an item."""

    def read(self, request: Request) -> QueryReading:
        """Return how a query is read."""

    def why(self, request: Request, item: str) -> Why:
        """Return why an item is or is not a hit."""

    def resolve(self, name: str, space: str | None) -> str:
        """Return ``type:id`` of the item that a name means, whatever its verdict."""

    def load(self, name: str, space: str | None) -> LoadedItem:
        """Return one item, verified from its bytes."""

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations around an item."""

    def skill(self, uri: str) -> FoundSkill:
        """Return the skill that a URI leads into."""

    def stats(self, space: str) -> Stats:
        """Return how many items there are."""

    def single_scan(self) -> AbstractContextManager[None]:
        """Use one state of the items for all calls of this thread in the block."""


class _OfState(NamedTuple):
    """Runs searches on one state; ``context`` makes their context."""

    state: State
    context: Callable[[State, Request], SearchContext]

    def prepared(self, request: Request) -> Search:
        """Return a search that has not run yet."""
        from rye.search.engine import Search  # here, because a command that shows an item does not search

        return Search(request, self.context(self.state, request))

    def ranked(self, request: Request) -> list[str]:
        """Return ``type:id`` of the first hits, without reading their files."""
        search = self.prepared(request)
        docs = search.answer(search.read(), search.allowed()).top.docs[: request.limit].tolist()
        return [":".join(search.reader.key_of(doc)) for doc in docs]

    def search(self, request: Request) -> SearchResponse:
        """Run a search."""
        return self.prepared(request).run()


class LocalEngine:
    """Answers from the local indexes, refreshing them for each question.

    Args:
        indexes: The indexes.
        vectors: The vectors of the same items.
        max_staleness: Seconds for which further questions reuse a scan of the spaces; a watch changes it.
        only_trusted: Whether all items but the trusted ones are left out.
    """

    address = None

    def __init__(
        self, indexes: Indexes, vectors: VectorIndexes, max_staleness: float, *, only_trusted: bool = False
    ) -> None:
        self._indexes = indexes
        self._vectors = vectors
        self.max_staleness = self._agreed = max_staleness
        self._trusted = TrustedView() if only_trusted else None

    def search(self, request: Request) -> SearchResponse:
        """Run a search."""
        return self._answer(request.space, partial(self._searched, request))

    def pages(self, request: Request) -> Pages:
        """Yield the pages of a search, all from one state of the items."""
        state = self.ask(lambda now: now)
        yield from in_pages(request, partial(self._page, state), _PAGE)

    def _page(self, state: State, request: Request) -> SearchResponse:
        """Run a search on a state; rebuild the state if it turns out to be damaged."""
        work = partial(self._searched, request)
        try:
            return self._answered(state, request.space, work, time.perf_counter())
        except (DamagedError, *SYMPTOMS):
            return self._answer(request.space, work)

    def _searched(self, request: Request, state: State) -> SearchResponse:
        from rye.search.reading.attempts import AS_WRITTEN, STAGES

        response = _OfState(state, self._context).search(request)
        is_loose = not response.total or response.stage in set(STAGES) - set(AS_WRITTEN)
        may_be_own = request.query.strip() and is_loose and request.space == "all" and not names_own(request)
        if may_be_own and state.everywhere.count and (count := self._in_manual(state, request)):
            how = "search in space system, or: rye help WORDS"
            note = f"rye's own manual matches as written, in {count} of its items; {how}"
            return replace(response, warnings=(*response.warnings, note))
        return response

    def _in_manual(self, state: State, request: Request) -> int:
        """Return how many of rye's own items match a query as written."""
        own = Reader([(root, snapshot) for root, snapshot in state.with_own.snapshots if is_own(root)])
        as_written = request._replace(relax=False, facets=(), mode=request.mode._replace(name="keyword"))
        search = _OfState(state, lambda *_: replace(self._context(state, request), reader=own)).prepared(as_written)
        with suppress(QueryError, ArgumentError):  # it asks for what only other items have
            return search.answer(search.read(), search.allowed()).total
        return 0

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Answer a search for sections."""
        from rye.search.sections import SectionSearch

        items = request.search
        return self._answer(items.space, lambda state: SectionSearch(request, self._context(state, items)).run())

    def similar(self, request: Request, item: str) -> SearchResponse:
        """Return items similar to an item."""
        from rye.search.similar import SimilarSearch

        def work(state: State) -> SearchResponse:
            part, local = state.find(item)[0]
            return SimilarSearch(request, self._context(state, request, part.root)).similar_to(part, local)

        return self._answer(request.space, work)

    def read(self, request: Request) -> QueryReading:
        """Return how a query is read."""
        from rye.search.explain import read_of

        def work(state: State) -> QueryReading:
            reading = read_of(_OfState(state, self._context).prepared(request))
            return replace(reading, warnings=(*state.warnings, *reading.warnings))

        return self.ask(work)

    def why(self, request: Request, item: str) -> Why:
        """Return why an item is or is not a hit."""
        from rye.search.explain import Explainer

        def work(state: State) -> Why:
            copies = state.find(item)
            context = partial(self._context, state, of=copies[0][0].root)
            why = why_of(copies, request, item, lambda variant: Explainer(variant, context(variant)))
            return replace(why, warnings=(*state.warnings, *why.warnings))

        return self.ask(work)

    def load(self, name: str, space: str | None) -> LoadedItem:
        """Return one item, verified from its bytes."""
        from rye.registry.load import load_item

        def work(state: State) -> LoadedItem:
            found, names_files = state.find(name, space or "all"), not state.only_trusted
            loaded = load_item(state.with_own, state.trust.trust, name, found, names_files=names_files)
            if state.only_trusted and loaded.signature.verdict != Verdict.TRUSTED:
                raise NotFoundError("item-not-found", f"there is no {loaded.ref}", hint="it has just changed")
            return loaded

        return self.ask(work)

    def resolve(self, name: str, space: str | None) -> str:
        """Return ``type:id`` of the item that a name means, whatever its verdict."""

        def work(state: State) -> str:
            part, local = state.find(name, space or "all")[0]
            return ":".join(state.with_own.key_of(part.base + local))

        return self._indexes.answer(work, self.max_staleness)

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations around an item."""
        from rye.registry.relations import relations_of

        relate = partial(relations_of, item=item, direction=direction, depth=depth, limit=limit)

        def work(state: State) -> Relations:
            relations = relate(state.with_own, state.trust.trust, document=state.find(item)[0])
            if state.only_trusted:  # a file may have changed since
                items = tuple(each for each in relations.items if each.verdict == Verdict.TRUSTED)
                relations = replace(relations, items=items)
            warnings = (*state.warnings, *relations.warnings)
            return replace(relations, stale=state.stale("all"), warnings=warnings)

        return self.ask(work)

    def skill(self, uri: str) -> FoundSkill:
        """Return the skill that a URI leads into."""
        from rye.registry.skills import find_skill

        return self.ask(lambda state: find_skill(state, uri))

    def stats(self, space: str) -> Stats:
        """Return how many items each root has."""
        from rye.registry.stats import stats_of

        return self.ask(lambda state: stats_of(state, space))

    def diagnose(self, progress: Progress | None = None) -> DoctorReport:
        """Return which skills of the project and the user an agent can find, and the problems."""
        from rye.registry.doctor import diagnose

        def work(state: State) -> DoctorReport:
            engine, roots, trust = _OfState(state, self._context), state.layout.roots, state.trust.trust
            return diagnose(state.with_own, roots, trust, engine, warnings=state.warnings, progress=progress)

        return self.ask(work)

    def single_scan(self) -> AbstractContextManager[None]:
        """Scan once for all calls of this thread in the block."""
        return self._indexes.pinned(self.max_staleness)

    def ask(self, work: Callable[[State], T], max_age: float | None = None) -> T:
        """Call a function with a fresh state of the indexes; return its result.

        Args:
            work: The function; it may only read.
            max_age: Seconds for which a scan may be reused; by default :attr:`max_staleness`.

        Raises:
            NotFoundError: With a hint where items were looked for, if there are none at all.
        """

        def answered(state: State) -> T:
            view = self._trusted.of(state) if self._trusted else state
            try:
                return work(view)
            except NotFoundError as error:
                message = f"{error.message} among the trusted items" if view.only_trusted else error.message
                hint = next(iter(view.empty("all")), error.hint)
                raise error.but(message=message, hint=hint) from error.__cause__

        return self._indexes.answer(answered, self.max_staleness if max_age is None else max_age)

    def _answer(self, space: str, work: Callable[[State], A]) -> A:
        """Return a response with the warnings of its state and the time it took.

        If a watch let a scan be reused for longer than the caller did, and a hit is gone or changed, the watch is late:
        the spaces are scanned, and the answer is made again.
        """
        began = time.perf_counter()
        response = self.ask(lambda state: self._answered(state, space, work, began))
        if response.stale and self.max_staleness > self._agreed:
            return self.ask(lambda state: self._answered(state, space, work, began), self._agreed)
        return response

    @staticmethod
    def _answered(state: State, space: str, work: Callable[[State], A], began: float) -> A:
        response: A = work(state)
        warnings = (*state.warnings, *response.warnings, *state.empty(space))
        took = time.perf_counter() - began
        return replace(
            response, warnings=warnings, stale=response.stale or state.stale(space), took_ms=round(took * 1e3, 3)
        )

    def _context(self, state: State, request: Request, of: Root | None = None) -> SearchContext:
        """Return what a search reads: rye's own items only if the request names them, or if there are no others.

        Args:
            state: The state.
            request: The request.
            of: The root of an item that the request is about.
        """
        own = names_own(request) or not state.everywhere.count or (of is not None and is_own(of))
        reader = state.reader(request.space, own=own)
        overrides = [state.ranking.weights.get(root.source, {}) for root, _ in reader.snapshots]
        return SearchContext(
            reader,
            state.with_own,
            lambda: state.trust.trust,
            overrides,
            system_clock(),
            self._vectors,
            state.ranking.boosts,
            only_trusted=state.only_trusted,
        )
