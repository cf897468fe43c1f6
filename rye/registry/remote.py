"""A registry on a cluster, as the façade searches it and publishes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rye.cluster.client import Address, Cluster
from rye.cluster.generation import Generation
from rye.cluster.hits import FetchedHits
from rye.cluster.publish import Publisher, PublishReport
from rye.cluster.remote_search import RemoteSearch
from rye.errors import NotFoundError, UnavailableError
from rye.index.reader import Reader
from rye.parameters import COMMANDS, check
from rye.registry.load import load_item
from rye.registry.state import ranking_of
from rye.search.predicates import States
from rye.search.request import Request
from rye.search.results import SearchResponse, SearchWarning
from rye.spaces.layout import Layout
from rye.trust import TrustLoad, system_clock

if TYPE_CHECKING:
    from rye.registry.reports import LoadedItem
    from rye.registry.state import State

_WORD_OF_THE_CLUSTER = (
    "which items match, their order, totals and facets are the word of {}; verdicts are your own; "
    "words are searched, not meaning"
)


_NAMED_BY_THE_CLUSTER = (
    "which item has this name, and its copies, are the word of {}; the verdict is your own; "
    "files beside it are not on the cluster"
)

_LISTED = 200
"""Items that one page of a list has."""


class RemoteRegistry:
    """A registry on a cluster.

    Args:
        index: Its address.
        layout: The spaces here, whose trust files and settings count.
        named_trust: Trust files that count as the user's own.
        progress: Called with (items done, items to do, registry).

    Raises:
        ArgumentError: ``bad-index``.
    """

    def __init__(
        self,
        index: str,
        layout: Layout,
        named_trust: Sequence[Path] = (),
        progress: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self._layout = layout
        self._named_trust = named_trust
        self._progress = progress
        self.cluster = Cluster(Address.parse(index))
        self._generation: Generation | None = None

    def search(self, request: Request) -> SearchResponse:
        """Answer a search.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        return self._pages([request])

    def listed(self, request: Request) -> SearchResponse:
        """Answer a search for everything in its scope, however many, as one page.

        Raises:
            UnavailableError: More are asked for than a cluster hands out.
            EnvironmentFault: The cluster does not answer in full.
        """
        end, starts = request.offset + request.limit, count(request.offset, _LISTED)
        return self._pages(request._replace(offset=at, limit=min(_LISTED, end - at)) for at in starts)

    def _pages(self, requests: Iterable[Request]) -> SearchResponse:
        """Answer searches for pages that follow each other, all of one generation, as one; it ends with the hits."""
        began, found = time.perf_counter(), list[SearchResponse]()
        with self._reading() as (generation, load, scratch):
            trust, now = load.trust, system_clock()
            ranking = ranking_of(self._layout, trust, now, list(filter(None, generation.roots)))
            for request in requests:
                if request.limit <= 0 or (found and request.offset >= found[0].total):
                    break
                search = RemoteSearch(request, generation, ranking.weights, trust=trust, now=now, scratch=scratch)
                found.append(search.run())
        told = SearchWarning(_WORD_OF_THE_CLUSTER.format(self.cluster.address))
        said = dict.fromkeys(text for one in found for text in one.warnings)
        took = round((time.perf_counter() - began) * 1e3, 3)
        results = tuple(result for one in found for result in one.results)
        warnings = (*load.warnings, *ranking.problems, *said, told)
        limit = sum(one.limit for one in found)
        return replace(found[0], results=results, limit=limit, warnings=warnings, took_ms=took)

    def load(self, name: str, space: str | None = None) -> LoadedItem:
        """Return one item, judged from the bytes that the cluster has of it, as :meth:`rye.Registry.get` does.

        Raises:
            NotFoundError, ArgumentError, ItemError: As :func:`rye.registry.load.load_item`.
            EnvironmentFault: The cluster does not answer in full.
        """
        with self._reading() as (generation, load, scratch):
            hits = FetchedHits(generation, scratch)
            reader, _ = hits.indexed(hits.named(name))
            try:
                found = load_item(reader, load.trust, name, space, read=hits.read)
            except NotFoundError as error:
                error.hint = next(iter(hits.left_out), error.hint)
                raise
        told = _NAMED_BY_THE_CLUSTER.format(self.cluster.address)
        return replace(found, path=generation.address_of(found.path), warnings=(*found.warnings, *hits.left_out, told))

    @contextmanager
    def _reading(self) -> Iterator[tuple[Generation, TrustLoad, Path]]:
        """Yield the generation that serves now, the trusted keys, and a folder to work in."""
        load, snapshot = self._layout.load_trust(self._named_trust), self.cluster.snapshot()
        if self._generation is None or self._generation.snapshot.items != snapshot.items:
            self._generation = Generation(self.cluster, snapshot)
        with TemporaryDirectory(prefix="rye-page-") as scratch:
            yield self._generation, load, Path(scratch)

    @staticmethod
    def refusal() -> UnavailableError:
        """Return the error for all that is no search."""
        hint = "open the registry without index for that: --index none"
        message = "a registry on a cluster can be searched, listed and shown, and no more yet"
        return UnavailableError("not-on-cluster", message, hint=hint)

    def publish(self, state: State, *, shards: int, replicas: int, dry_run: bool) -> PublishReport:
        """Publish a state of the spaces as a new generation, which is swapped in when it is whole.

        Items in folders of clients are left out. Killed at any moment, the generation before serves on, and the next
        publish goes on with what is there.

        Args:
            state: The items.
            shards: Pieces of the index of items.
            replicas: Further copies of each.
            dry_run: Only say what would be done.

        Raises:
            ArgumentError: ``shards`` or ``replicas`` is out of bounds.
            EnvironmentFault: The cluster is at fault, or a file changed meanwhile.
            UnavailableError: The client for clusters is not installed.
        """
        shards, replicas = (
            check(COMMANDS["publish"]["shards"], shards),
            check(COMMANDS["publish"]["replicas"], replicas),
        )
        every = state.everywhere.snapshots
        reader = Reader([(root, snapshot) for root, snapshot in every if root.client is None])
        states = States(reader, reader, lambda: state.trust.trust, system_clock())
        publisher = Publisher(self.cluster, reader, states, self._progress)
        report = publisher.run(shards=shards, replicas=replicas, dry_run=dry_run)
        return replace(report, left_out=tuple(root.source for root, found in every if root.client and found.count))
