"""A registry on a cluster, as the façade searches it and publishes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rye.errors import UnavailableError
from rye.index.reader import Reader
from rye.manifest import with_listed
from rye.parameters import COMMANDS, check
from rye.registry.state import ranking_of
from rye.remote.cluster import Address, Cluster
from rye.remote.generation import NOWHERE, Generation
from rye.remote.publish import Publisher, PublishReport
from rye.remote.remote_search import RemoteSearch
from rye.search.predicates import States
from rye.search.request import Request
from rye.search.results import SearchResponse, SearchWarning
from rye.signing import system_clock
from rye.spaces import Root
from rye.spaces.layout import Layout

if TYPE_CHECKING:
    from rye.registry.state import State

_WORD_OF_THE_CLUSTER = (
    "which items match, their order, totals and facets are the word of {}; verdicts are your own; "
    "words are searched, not meaning"
)


class RemoteRegistry:
    """A registry on a cluster, by its address; ``progress`` is called with (items done, items to do, registry).

    Raises:
        ArgumentError: ``bad-index``.
    """

    def __init__(self, index: str, progress: Callable[[int, int, str], None] | None = None) -> None:
        self._progress = progress
        self.cluster = Cluster(Address.parse(index))
        self._generation: Generation | None = None

    def search(self, request: Request, layout: Layout, named_trust: Sequence[Path]) -> SearchResponse:
        """Answer a search; the trust files are those of the spaces here.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        began, load, now = time.perf_counter(), layout.load_trust(named_trust), system_clock()
        trust, snapshot = with_listed(load, layout.roots).trust, self.cluster.snapshot()
        ranking = ranking_of(layout, trust, now, [Root(space, NOWHERE, bundle) for space, bundle in snapshot.roots])
        generation = self._generation
        if generation is None or generation.snapshot.items != snapshot.items:
            generation = self._generation = Generation(self.cluster, snapshot)
        with TemporaryDirectory(prefix="rye-page-") as scratch:
            search = RemoteSearch(request, generation, ranking.weights, trust=trust, now=now, scratch=Path(scratch))
            found = search.run()
        told = SearchWarning(_WORD_OF_THE_CLUSTER.format(self.cluster.address))
        took = round((time.perf_counter() - began) * 1e3, 3)
        return replace(found, warnings=(*load.warnings, *ranking.problems, *found.warnings, told), took_ms=took)

    @staticmethod
    def refusal() -> UnavailableError:
        """Return the error for all that is no search."""
        hint = "open the registry without index for that"
        return UnavailableError("not-on-cluster", "a registry on a cluster can only be searched yet", hint=hint)

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
