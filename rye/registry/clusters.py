"""Several registries on clusters, searched as one.

Each is searched as it is alone, with its own statistics, all at the same time. The registries agree on how the query is
read: on the metadata keys, on words or meaning, and on the strictest stage of relaxation that one of them answers with.
Then their hits are merged. If one registry fails, the whole search does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from heapq import merge
from itertools import chain, islice
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rye.cluster.client import split_addresses
from rye.cluster.conditions import cannot
from rye.errors import ArgumentError, NotFoundError, RyeError, UnavailableError
from rye.index.docvalues import name_key
from rye.registry.cluster import Beside, ClusterRegistry, Part, pages_of, word_of
from rye.search.facets import Facet, Wanted
from rye.search.request import Request
from rye.search.results import SearchResponse, SearchResult
from rye.search.rewrite import AS_WRITTEN, STAGES
from rye.search.suggest import FEW
from rye.spaces.layout import Layout

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem
    from rye.registry.stats import Stats
    from rye.registry.vectors import VectorIndexes
    from rye.search.explain import QueryReading, Why
    from rye.search.request import SectionRequest
    from rye.search.results import SectionResponse

MOST_REGISTRIES = 16
"""Registries that are searched together at most."""

MOST_REACHED = 10_000
"""The last hit that a page may show: each registry sends all hits up to the end of the page."""

_EVERY_VALUE = 10_000
"""More values of a facet than a cluster counts, so that the counts of several can be added up."""

T = TypeVar("T")
R = TypeVar("R")


def open_index(
    index: str, layout: Layout, named_trust: Sequence[Path] = (), *, vectors: VectorIndexes
) -> ClusterRegistry | ClusterRegistries:
    """Return the registry on a cluster that an address names, or the several that addresses do.

    Args:
        index: One address or several, separated by commas.
        layout: The spaces here, whose trust files and settings count.
        named_trust: Trust files that count as the user's own.
        vectors: What embeds queries, and the vectors of the items here.

    Raises:
        ArgumentError: ``bad-index``.
    """
    addresses = split_addresses(str(index))
    each = [ClusterRegistry(address, layout, named_trust, vectors=vectors) for address in addresses]
    if len(each) == 1:
        return each[0]
    names = Counter(one.address for one in each)
    if twice := next((name for name, times in names.items() if times > 1), ""):
        raise ArgumentError("bad-index", f"index names {twice} twice", hint="name each registry once")
    if len(each) > MOST_REGISTRIES:
        message = f"index names {len(each)} registries"
        raise ArgumentError("bad-index", message, hint=f"name at most {MOST_REGISTRIES}")
    return ClusterRegistries(each)


class ClusterRegistries:
    """Several registries, with the methods of one.

    Args:
        each: The registries; among equal hits those of an earlier one come first.
    """

    refusal: Callable[[], UnavailableError] = staticmethod(ClusterRegistry.refusal)

    def __init__(self, each: Sequence[ClusterRegistry]) -> None:
        self._each = each

    @property
    def address(self) -> str:
        """Their addresses, separated by commas."""
        return ",".join(one.address for one in self._each)

    def search(self, request: Request) -> SearchResponse:
        """Answer a search.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: One of the clusters does not answer in full.
        """
        if request.offset + request.limit > MOST_REACHED:
            raise cannot(f"show hits beyond {MOST_REACHED:,} of several registries", "narrow the query")
        return self._answer(request)[0]

    def listed(self, request: Request) -> SearchResponse:
        """Answer a search for everything in its scope, however many, as one page.

        Raises:
            UnavailableError, EnvironmentFault: As :meth:`search`.
        """
        return self._answer(request)[0]

    def read(self, request: Request) -> QueryReading:
        """Return how a query is read by the first registry that answers it, with the hits of all.

        Raises:
            UnavailableError, EnvironmentFault: As :meth:`search`.
        """
        found, first, settled = self._answer(request)
        reading = self._each[first].read(*settled)
        return replace(reading, total=found.total, did_you_mean=found.did_you_mean, warnings=found.warnings)

    def why(self, request: Request, item: str) -> Why:  # noqa: ARG002 - that of one registry
        """Raise an error: the rank of an item is that of one registry.

        Raises:
            UnavailableError: Always.
        """
        raise cannot(f"say why {item} is a hit of several registries", "name one registry")

    def similar(self, request: Request, item: str) -> SearchResponse:  # noqa: ARG002 - that of one registry
        """Raise an error: the terms of an item are weighed by the statistics of one registry.

        Raises:
            UnavailableError: Always.
        """
        raise cannot("find items like one in several registries", "name one registry")

    def sections(self, request: SectionRequest) -> SectionResponse:  # noqa: ARG002 - that of one registry
        """Raise an error: the ranks of sections are those of one registry.

        Raises:
            UnavailableError: Always.
        """
        raise cannot("find sections in several registries", "name one registry")

    def refs(self, item: str, **_: object) -> Relations:
        """Raise an error: what an item refers to may be in another registry.

        Raises:
            UnavailableError: Always.
        """
        raise cannot(f"follow the references of {item} through several registries", "name one registry")

    def stats(self, space: str) -> Stats:
        """Raise an error: items of several registries may be the same.

        Raises:
            UnavailableError: Always.
        """
        raise cannot(f"count the items of {space} spaces in several registries", "name one registry")

    def load(self, name: str, space: str | None = None) -> LoadedItem:
        """Return one item; of several registries that have it, that of the first is shown, and a warning says so.

        Raises:
            NotFoundError: No registry has it.
            ArgumentError: ``ambiguous-item``: it is the name of items of several types.
            ItemError, EnvironmentFault: As :meth:`rye.registry.cluster.ClusterRegistry.load`.
        """

        def load(one: ClusterRegistry) -> LoadedItem | RyeError:
            try:
                return one.load(name, space)
            except (ArgumentError, NotFoundError) as error:
                if error.code not in ("item-not-found", "bad-space"):
                    raise
                return error

        answers = self._at_once(load, self._each)
        pairs = zip(self._each, answers, strict=True)
        found = [(one, answer) for one, answer in pairs if not isinstance(answer, RyeError)]
        if not found:
            raise max((answer for answer in answers if isinstance(answer, RyeError)), key=_helps)
        # a name as it is comes before one that is only read as a reference
        named = [pair for pair in found if name in (pair[1].ref, pair[1].item.id)] or found
        refs = sorted({item.ref for _, item in named})
        if len(refs) > 1:
            message, hint = f"{name!r} names {len(refs)} items", f"name the type: {' or '.join(refs)}"
            raise ArgumentError("ambiguous-item", message, hint=hint, candidates=refs)
        (first, item), *others = named
        if not others:
            return item
        there = ", ".join(one.address for one, _ in others)
        told = f"{item.ref} is also in {there}; this is that of {first.address}, which is named first"
        return replace(item, warnings=(*item.warnings, told))

    def _answer(self, request: Request) -> tuple[SearchResponse, int, tuple[Request, Beside]]:
        """Return the merged answer, the number of the registry that reads the query, and what it was asked."""
        began, end = time.perf_counter(), request.offset + request.limit
        wanted = tuple(Wanted(name, _EVERY_VALUE) for name, _ in request.facets)
        asked = request._replace(offset=0, limit=end, facets=wanted)
        snapshots = self._at_once(ClusterRegistry.snapshot, self._each)
        keys = frozenset[str]().union(*(snapshot.keys for snapshot in snapshots))
        besides = [Beside(snapshot, keys) for snapshot in snapshots]

        def ask(numbers: Sequence[int]) -> None:
            answers = self._at_once(lambda at: self._each[at].part(pages_of(asked), besides[at]), numbers)
            parts.update(zip(numbers, answers, strict=True))

        parts: dict[int, Part] = {}
        ask(range(len(self._each)))
        method = next((part.response.method for part in parts.values() if part.cannot_compare), "")
        if by_words := _by_words(parts):
            # also as an option, or mode ``auto`` would be settled once more
            by_name = {**asked.options, "mode": "keyword"}
            asked = asked._replace(mode=asked.mode._replace(name="keyword"), options=by_name)
            ask(by_words)
        parts = _by_meaning(parts)
        stages = [part.response.stage for part in parts.values() if part.response.total]
        last = min((stage for stage in stages if stage in STAGES), key=STAGES.index, default="")
        beyond = STAGES[STAGES.index(last) + 1 :] if last else ()
        if looser := [at for at, part in parts.items() if part.response.stage in beyond]:
            besides = [beside._replace(last=last) for beside in besides]
            ask(looser)
        answers = [parts[at] for at in range(len(self._each))]
        first = next((at for at, part in enumerate(answers) if part.response.total), 0)
        found = _merged(request, answers, self._warnings(answers))
        took = round((time.perf_counter() - began) * 1e3, 3)
        found = replace(found, method=method or found.method, took_ms=took)
        return found, first, (asked._replace(offset=0, limit=1, facets=()), besides[first])

    def _at_once(self, work: Callable[[T], R], each: Sequence[T]) -> list[R]:
        """Return what some work gives for each of several, done at the same time; the first error is raised."""
        with ThreadPoolExecutor(len(each), "rye-registry") as threads:
            return [done.result() for done in [threads.submit(work, one) for one in each]]

    def _warnings(self, answers: Sequence[Part]) -> tuple[str, ...]:
        """Return the warnings of all: what not every registry says names the registry that does."""
        said = Counter(text for part in answers for text in part.response.warnings)
        named = (
            text if said[text] == len(answers) or one.address in text else type(text)(f"{one.address}: {text}")
            for one, part in zip(self._each, answers, strict=True)
            for text in part.response.warnings
        )
        settings = chain.from_iterable(part.settings for part in answers)
        gaps = chain.from_iterable(part.gap for part in answers)
        told = word_of(" and ".join(one.address for one in self._each))
        return tuple(dict.fromkeys((*settings, *named, *gaps, told)))


def _helps(error: RyeError) -> tuple[bool, bool, bool]:
    """Return how much an error says about where the item is: in another space, or what is called alike."""
    of_item = isinstance(error, NotFoundError)
    return of_item, bool(error.details.get("elsewhere")), bool(error.details.get("nearest"))


def _by_words(parts: Mapping[int, Part]) -> list[int]:
    """Return which registries answered by meaning where another one can only be asked for words."""
    meant = [at for at, part in parts.items() if part.response.search_type != "keyword"]
    others = [part for at, part in parts.items() if at not in meant]
    return meant if any(part.cannot_compare or part.response.method == "keyword" for part in others) else []


def _by_meaning(parts: Mapping[int, Part]) -> dict[int, Part]:
    """Leave out the hits of registries in which nothing is near, where another one answered by meaning."""
    if all(part.response.search_type == "keyword" for part in parts.values()):
        return dict(parts)
    none: dict[str, Any] = {"results": (), "total": 0, "facets": {}, "hidden": {}, "warnings": (), "did_you_mean": ""}
    return {
        at: part if part.response.search_type != "keyword" else part._replace(response=replace(part.response, **none))
        for at, part in parts.items()
    }


def _merged(request: Request, answers: Sequence[Part], warnings: tuple[str, ...]) -> SearchResponse:
    """Return the answers of registries, each with all its hits up to the end of the page, as one."""
    each, end = [part.response for part in answers], request.offset + request.limit
    best = next((one for one in each if one.total), each[0])
    total, hidden = sum(one.total for one in each), Counter[str]()
    for one in each:
        hidden.update(one.hidden)
    asks = total <= FEW or best.stage not in AS_WRITTEN
    ranked = merge(*(_keyed(part, request.sort_by) for part in answers), key=itemgetter(0))
    return replace(
        best,
        results=tuple(result for _, result in islice(ranked, request.offset, end)),
        total=total,
        limit=request.limit,
        offset=request.offset,
        next_offset=end if end < total else None,
        did_you_mean=next((one.did_you_mean for one in (best, *each) if one.did_you_mean), "") if asks else "",
        hidden=dict(hidden),
        facets={
            name: _added([one.facets[name] for one in each if name in one.facets], most)
            for name, most in request.facets
        },
        warnings=warnings,
    )


def _keyed(part: Part, sort_by: str) -> Iterator[tuple[Any, SearchResult]]:
    """Yield the hits of one registry, each with what it is ordered by."""
    for hit in part.response.results:
        match sort_by:
            case "name":
                yield name_key(hit.id), hit
            case "date":
                yield -part.times.get(hit.path, -inf), hit
            case _:
                yield (not hit.exact, bool(hit.states), -hit.score), hit


def _added(facets: Sequence[Facet], most: int) -> Facet:
    """Return facets that list all their values as one that lists the most frequent."""
    counts = Counter[str]()
    for facet in facets:
        counts.update(dict(facet.values))
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = pairs[most:]
    missing = sum(facet.missing for facet in facets)
    return Facet(tuple(pairs[:most]), len(rest), sum(number for _, number in rest), missing)
