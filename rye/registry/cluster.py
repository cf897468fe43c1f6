"""A registry on a cluster, as the façade searches it and publishes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rye.cluster.backend import ClusterBackend, View, refuse
from rye.cluster.client import Address, Cluster
from rye.cluster.conditions import Clause
from rye.cluster.faults import shown
from rye.cluster.figures import figures_of
from rye.cluster.generation import Generation
from rye.cluster.hits import FetchedHits
from rye.cluster.lists import CheckedLists, RegistryLists
from rye.cluster.local_items import LocalItems, select_items
from rye.cluster.meaning import ClusterSearch, Embedding
from rye.cluster.neighbours import Neighbours
from rye.cluster.publish import Publisher, PublishOptions, PublishReport, check_owner
from rye.cluster.published import Published, model_beside, read_snapshot
from rye.cluster.similar import SimilarItems
from rye.cluster.vectors import ItemVectors, Model
from rye.embedding.protocol import Embedder
from rye.errors import ArgumentError, NotFoundError, UnavailableError
from rye.index.reader import Part as Segment
from rye.index.reader import Reader
from rye.items.scope import parse_scope
from rye.parameters import COMMANDS, check
from rye.registry.load import load_item
from rye.registry.lookup import find_item, why_of
from rye.registry.state import ranking_of
from rye.search.graph import Direction
from rye.search.predicates import States
from rye.search.request import Request
from rye.search.results import SearchResponse, SearchWarning
from rye.spaces.bundles import is_own
from rye.spaces.layout import Layout
from rye.trust.trust_store import TrustLoad, system_clock

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem
    from rye.registry.state import State
    from rye.registry.stats import Stats
    from rye.registry.vectors import VectorIndexes
    from rye.search.explain import QueryReading, Why
    from rye.search.request import SectionRequest
    from rye.search.results import SectionResponse

_WORD_OF_THE_CLUSTER = "which items match, their order, totals and facets are the word of {}; verdicts are your own"

_NAMED_BY_THE_CLUSTER = (
    "which item has this name, and its copies, are the word of {}; the verdict is your own; "
    "files beside it are not on the cluster"
)

_RELATED_BY_THE_CLUSTER = (
    "which items there are, and which refer to others, are the word of {}; references and verdicts are from their bytes"
)

_COUNTED_BY_THE_CLUSTER = (
    "counts are the word of {}; verdicts, signers, terms, files, sizes and equal items are not counted there"
)

_LISTED = 200
"""Items that one page of a list has."""


S = TypeVar("S", bound=ClusterSearch)


class Beside(NamedTuple):
    """What is known of a registry, and of those that are searched together with it.

    Attributes:
        snapshot: The generation to search.
        keys: Of the keyword terms that items of any of them have.
        last: The loosest stage of relaxation that counts; empty for any.
    """

    snapshot: Published
    keys: frozenset[str]
    last: str = ""


class Part(NamedTuple):
    """What one registry answers.

    Attributes:
        response: Its hits, with the warnings of the search.
        settings: Warnings about settings and keys here, the same for every registry.
        gap: Warnings about the registry as a whole.
        times: By path, when each hit was last changed, in seconds since 1970; minus infinity where it does not say.
        cannot_compare: Whether words had to answer because the query could not be compared with its items.
    """

    response: SearchResponse
    settings: tuple[str, ...]
    gap: tuple[str, ...]
    times: Mapping[str, float]
    cannot_compare: bool


def word_of(address: str) -> SearchWarning:
    """Return the warning that an answer is the word of a cluster."""
    return SearchWarning(_WORD_OF_THE_CLUSTER.format(address))


@contextmanager
def _left_out(hits: FetchedHits, name: str) -> Iterator[None]:
    """Let the error that an item is not there say that its bytes are no item, or that a signed list names it."""
    try:
        yield
    except NotFoundError as error:
        error.hint = next(iter((*hits.left_out, *hits.lists.naming(name))), error.hint)
        raise


def pages_of(request: Request) -> Iterator[Request]:
    """Yield the searches for the pages of one; the first alone counts facets."""
    end = request.offset + request.limit
    for at in count(request.offset, _LISTED):
        facets = request.facets if at == request.offset else ()
        yield request._replace(offset=at, limit=min(_LISTED, end - at), facets=facets)


class ClusterRegistry:
    """A registry on a cluster.

    Args:
        index: Its address.
        layout: The spaces here, whose trust files and settings count.
        named_trust: Trust files that count as the user's own.
        progress: Called with (items done, items to do, registry).
        vectors: What embeds queries, and the vectors of the items here.

    Raises:
        ArgumentError: ``bad-index``.
    """

    def __init__(
        self,
        index: str,
        layout: Layout,
        named_trust: Sequence[Path] = (),
        progress: Callable[[int, int, str], None] | None = None,
        *,
        vectors: VectorIndexes,
    ) -> None:
        self._layout = layout
        self._vectors = vectors
        self._named_trust = named_trust
        self._progress = progress
        self.cluster = Cluster(Address.parse(index))
        self._generation: Generation | None = None
        self._gap = ""
        self._lists: RegistryLists | None = None

    @property
    def address(self) -> str:
        """Its address."""
        return str(self.cluster.address)

    def search(self, request: Request) -> SearchResponse:
        """Answer a search.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        return self._alone(self.part([request]))

    def listed(self, request: Request) -> SearchResponse:
        """Answer a search for everything in its scope, however many, as one page.

        Raises:
            UnavailableError: More are asked for than a cluster hands out.
            EnvironmentFault: The cluster does not answer in full.
        """
        return self._alone(self.part(pages_of(request)))

    def _alone(self, part: Part) -> SearchResponse:
        warnings = (*part.settings, *part.response.warnings, *part.gap, word_of(self.address))
        return replace(part.response, warnings=warnings)

    def snapshot(self) -> Published:
        """Return the generation that serves now.

        Raises:
            NotFoundError, EnvironmentFault: As :func:`rye.cluster.published.read_snapshot`.
        """
        return read_snapshot(self.cluster)

    def part(self, requests: Iterable[Request], beside: Beside | None = None) -> Part:
        """Answer searches for pages that follow each other, all of one generation, as one; it ends with the hits.

        Args:
            requests: The searches, at least one.
            beside: What is searched together with this registry; None for nothing.

        Raises:
            UnavailableError: They ask for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        began, found, times = time.perf_counter(), list[SearchResponse](), dict[str, float]()
        with self._searching(ClusterSearch, beside) as (search, settings):
            for request in requests:
                if request.limit <= 0 or (found and request.offset >= found[0].total):
                    break
                asked = search(request)
                found.append(asked.run())
                times |= asked.times
        said = dict.fromkeys(text for one in found for text in one.warnings)
        took = round((time.perf_counter() - began) * 1e3, 3)
        results = tuple(result for one in found for result in one.results)
        limit = sum(one.limit for one in found)
        whole = replace(found[0], results=results, limit=limit, warnings=tuple(said), took_ms=took)
        return Part(whole, settings, tuple(self._lacking(whole.space)), times, asked.cannot_compare)

    def _lacking(self, space: str) -> Iterator[SearchWarning]:
        """Yield warnings about the registry as a whole."""
        if self._gap:
            yield SearchWarning(self._gap)
        if self._generation and not self._generation.extent(space).size:
            yield SearchWarning(f"{self.address} has no items in {space} space")

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Answer a retrieval of sections.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        from rye.cluster.sections import ClusterSections

        began = time.perf_counter()
        with self._searching(ClusterSearch) as (search, settings):
            found = ClusterSections(request, search).run()
        warnings = (*settings, *found.warnings, *self._lacking(found.space), word_of(self.address))
        return replace(found, warnings=warnings, took_ms=round((time.perf_counter() - began) * 1e3, 3))

    def read(self, request: Request, beside: Beside | None = None) -> QueryReading:
        """Return how a query is read, after searching for it.

        Raises:
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        from rye.search.explain import read_of

        with self._searching(ClusterSearch, beside) as (search, settings):
            reading = read_of(search(request))
        return replace(reading, warnings=(*settings, *reading.warnings, word_of(self.address)))

    def why(self, request: Request, item: str) -> Why:
        """Return why an item is a hit of a search, or why it is not.

        Raises:
            NotFoundError, ArgumentError: As :func:`rye.registry.lookup.find_item`.
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        from rye.cluster.why import ClusterExplainer

        asked = request._replace(offset=0, limit=1, explain=True)
        with self._searching(ClusterExplainer) as (search, settings):
            hits = search(asked).hits
            reader, _ = hits.indexed(hits.named(item))
            with _left_out(hits, item):
                copies = find_item(reader, item)
            found = why_of(copies, asked, item, search)
        gap = filter(None, [self._gap])
        return replace(found, warnings=(*settings, *found.warnings, *gap, word_of(self.address)))

    def similar(self, request: Request, item: str) -> SearchResponse:
        """Return the items most similar to one.

        Raises:
            NotFoundError, ArgumentError: As :func:`rye.registry.lookup.find_item`.
            UnavailableError: It asks for what a cluster cannot do.
            EnvironmentFault: The cluster does not answer in full.
        """
        began = time.perf_counter()

        def find(hits: FetchedHits) -> tuple[Reader, Segment, int]:
            reader, _ = hits.indexed(hits.named(item))
            with _left_out(hits, item):
                return reader, *find_item(reader, item)[0]

        with self._searching(SimilarItems) as (search, settings):
            found = search(request).similar_to(find)
        warnings = (*settings, *found.warnings, *filter(None, [self._gap]), word_of(self.address))
        return replace(found, warnings=warnings, took_ms=round((time.perf_counter() - began) * 1e3, 3))

    def _opened(self) -> tuple[Embedder, Model]:
        """Return the embedder, and the model that it is now."""
        embedder, probe = self._vectors.probed()
        return embedder, Model(embedder.model, probe)

    def load(self, name: str, space: str | None = None) -> LoadedItem:
        """Return one item, judged from the bytes that the cluster has of it, as :meth:`rye.Registry.get` does.

        Raises:
            NotFoundError, ArgumentError, ItemError: As :func:`rye.registry.load.load_item`.
            EnvironmentFault: The cluster does not answer in full.
        """
        with self._reading() as (generation, load, lists, scratch):
            hits = FetchedHits(generation, scratch, lists)
            reader, _ = hits.indexed(hits.named(name))
            with _left_out(hits, name):
                found = load_item(reader, load.trust, name, space, read=hits.read)
        told = _NAMED_BY_THE_CLUSTER.format(self.cluster.address)
        listed = (*dict.fromkeys(filter(None, hits.not_as_listed.values())), *lists.warnings)
        said = (*found.warnings, *hits.left_out, *filter(None, [self._gap]), *listed, told)
        return replace(found, path=generation.address_of(found.path), warnings=said)

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations around an item, as :meth:`rye.Registry.refs` does.

        Every reference is read from the bytes of the item that states it.

        Raises:
            NotFoundError, ArgumentError: As :func:`rye.registry.lookup.find_item`.
            UnavailableError: Too many items would have to be read.
            EnvironmentFault: The cluster does not answer in full.
        """
        from rye.registry.relations import relations_of

        def start_of(reader: Reader) -> int:
            part, local = find_item(reader, item)[0]
            return part.base + local

        with self._reading() as (generation, load, lists, scratch):
            hits = FetchedHits(generation, scratch, lists)
            near = Neighbours(generation, hits, start_of)
            reader = near.around(hits.named(item), Direction(direction), depth)
            found = relations_of(
                reader, load.trust, item, direction=direction, depth=depth, limit=limit, read=hits.read
            )
        items = tuple(replace(one, path=generation.address_of(one.path)) for one in found.items)
        told = _RELATED_BY_THE_CLUSTER.format(self.cluster.address)
        said = (*load.warnings, *found.warnings, *hits.left_out, *filter(None, [self._gap]), told)
        return replace(found, items=items, warnings=said)

    def stats(self, space: str) -> Stats:
        """Return what a cluster can count, of each root and of all.

        Raises:
            EnvironmentFault: The cluster does not answer in full.
        """
        from rye.registry.stats import SpaceStats, Stats

        with self._reading() as (generation, load, _, _):
            roots = [(at, root) for at, root in enumerate(generation.roots) if root and space in ("all", root.space)]
            clauses: list[Clause] = [{"terms": {"root": [at]}} for at, _ in roots]
            every: Clause = {"terms": {"root": [at for at, _ in roots]}}
            index = generation.snapshot.items
            *each, total = figures_of(self.cluster, index, [*clauses, every])
        spaces = [
            SpaceStats(root.source, generation.address_of(str(root.path)), figures, 0, 0, {}, {}, 0, 0, 0.0)
            for (_, root), figures in sorted(zip(roots, each, strict=True), key=lambda pair: pair[0][1].priority)
        ]
        address, model = str(self.cluster.address), generation.snapshot.model
        with_vectors = f"{generation.snapshot.vectors:,} items of the registry have vectors"
        said = [f"{with_vectors} of {shown(model.name)}"] if model else []
        told = _COUNTED_BY_THE_CLUSTER.format(address)
        warnings = (*load.warnings, *filter(None, [self._gap]), *said, told)
        return Stats(tuple(spaces), total, registry=address, warnings=warnings)

    @contextmanager
    def _searching(
        self, kind: type[S], beside: Beside | None = None
    ) -> Iterator[tuple[Callable[[Request], S], tuple[str, ...]]]:
        """Yield what makes a search of the generation that serves now, and warnings about settings and keys here."""
        with self._reading(beside.snapshot if beside else None) as (generation, load, lists, scratch):
            now = system_clock()
            ranking = ranking_of(self._layout, load.trust, now, list(filter(None, generation.roots)))
            embedding = Embedding(lambda: self._vectors.can_embed, self._opened, ranking.boosts)

            keys, last = (beside.keys, beside.last) if beside else (frozenset[str](), "")

            def search(request: Request) -> S:
                refuse(request)
                sources = {root.source for root in generation.roots if root}
                weights = {source: kind.weights(ranking.weights.get(source, {})) for source in sources}
                where = View(weights, load.trust, now, scratch, request.space, lists, keys)
                return kind(request, ClusterBackend(generation, where), generation, embedding, last=last)

            yield search, (*load.warnings, *ranking.problems, *lists.warnings)

    @contextmanager
    def _reading(self, snapshot: Published | None = None) -> Iterator[tuple[Generation, TrustLoad, CheckedLists, Path]]:
        """Yield a generation, by default the one that serves, the trusted keys, its lists under them, and a folder."""
        load, snapshot = self._layout.load_trust(self._named_trust), snapshot or self.snapshot()
        if self._generation is None or self._lists is None or self._generation.snapshot.items != snapshot.items:
            self._generation = Generation(self.cluster, snapshot)
            self._gap = self._generation.gap()
            self._lists = RegistryLists(self.cluster, snapshot)
        generation, lists = self._generation, self._lists.under(load.trust, system_clock())
        with TemporaryDirectory(prefix="rye-page-") as scratch:
            yield generation, load, lists, Path(scratch)

    @staticmethod
    def refusal() -> UnavailableError:
        """Return the error for all else."""
        hint = "open the registry without index for that: --index none"
        message = "a registry on a cluster answers searches, and shows items, relations and figures, no more yet"
        return UnavailableError("not-on-cluster", message, hint=hint)

    def publish(self, state: State, *, owner: str, space: str, scope: str, options: PublishOptions) -> PublishReport:
        """Publish items of a state of the spaces as all that an owner has in the registry.

        Items of other owners stay as they are. Killed at any moment, the generation before serves on. rye's own items
        are never published: every installation has them.

        Args:
            state: The items.
            owner: Whose they are; empty for the name of the project's folder.
            space: ``project``, ``user``, ``system`` or ``all``.
            scope: Types and namespaces, as for a search.
            options: How to publish.

        Raises:
            ArgumentError: An argument is not valid, or many items would be removed.
            NotFoundError: ``project-not-found``: there is no project here.
            EnvironmentFault: The cluster is at fault, another publisher is at work, or a file changed meanwhile.
            UnavailableError: The client for clusters is not installed.
        """
        table = COMMANDS["index"]
        options = options._replace(
            shards=check(table["shards"], options.shards), replicas=check(table["replicas"], options.replicas)
        )
        name = check_owner(owner or self._default_owner(space))
        roots = [
            (root, snapshot)
            for root, snapshot in state.everywhere.snapshots
            if space in ("all", root.space) and not is_own(root)
        ]
        reader = select_items(roots, parse_scope(scope))
        states = States(reader, reader, lambda: state.trust.trust, system_clock())
        vectors, said = self._to_publish(Reader(roots), name)
        items = LocalItems(reader, states, name, vectors)
        report = Publisher(self.cluster, items, name, self._progress).run(options)
        return replace(report, warnings=(*report.warnings, *said))

    def _to_publish(self, reader: Reader, owner: str) -> tuple[ItemVectors | None, tuple[str, ...]]:
        """Return the vectors of items that the registry takes, and warnings about those that it gets none of."""
        without = "the items are published without vectors, only words will find them: "
        try:
            if not self._vectors.can_embed:
                return None, (f"{without}there is no embedder",)
            meaning, (_, model) = self._vectors.meaning_to_publish(reader), self._opened()
        except UnavailableError as error:
            return None, (f"{without}{error.message}",)
        there = model_beside(self.cluster, owner)
        if there is not None and not there.is_of(model):
            name = f"another model called {there.name}" if there.name == model.name else there.name
            return None, (f"{without}the registry has vectors of {name}, and the embedder here is {model.name}",)
        return ItemVectors(model, meaning.vectors), meaning.warnings

    def _default_owner(self, space: str) -> str:
        """Return the name of the project's folder."""
        if space in ("user", "system"):
            hint = "name whose items they are: --owner NAME"
            raise ArgumentError("bad-owner", f"the items of {space} space have no owner", hint=hint)
        if self._layout.project is None:
            hint = "go into a project, name it with --project DIR, or publish another --space"
            raise NotFoundError("project-not-found", "there is no project here", hint=hint)
        return self._layout.project.resolve().name
