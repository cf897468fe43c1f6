"""The engine that searches a registry on a cluster and publishes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from rye.cluster.client import Address, Cluster
from rye.cluster.hits import FetchedHits
from rye.cluster.lists import CheckedLists, RegistryLists
from rye.cluster.local_items import LocalItems, select_items
from rye.cluster.neighbours import Neighbours
from rye.cluster.publish import Publisher, PublishOptions, PublishReport, check_owner
from rye.cluster.published import Generation, model_beside, read_generation
from rye.cluster.query import AT_HOME, cannot
from rye.cluster.roots import NOWHERE
from rye.cluster.search import ClusterSearch, Embedding, LocalContext
from rye.cluster.vectors import ItemVectors, Model
from rye.embedding.protocol import Embedder
from rye.errors import ArgumentError, NotFoundError, QueryError, UnavailableError
from rye.index.build.reader import Reader
from rye.items.scope import parse_scope
from rye.options.model import check
from rye.options.search import REPLICAS, SHARDS
from rye.registry.engine import Pages, in_pages
from rye.registry.load import load_item
from rye.registry.lookup import find_item
from rye.registry.state import ranking_of
from rye.search.contract.request import Request, SectionRequest
from rye.search.contract.results import SearchResponse, SectionHit, SectionResponse
from rye.search.states.graph import Direction
from rye.search.states.states import States
from rye.spaces.bundles import is_own
from rye.spaces.layout import Layout
from rye.spaces.signed import ReadItem
from rye.trust.judge import judge
from rye.trust.model import Verdict
from rye.trust.trust_store import TrustLoad, system_clock

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem
    from rye.registry.state import State
    from rye.registry.vectors import VectorIndexes
    from rye.search.explain import QueryReading

_WORD_OF_THE_CLUSTER = "{} chose and ordered these items and counted them; rye checked the verdicts here"

_NAMED_BY_THE_CLUSTER = (
    "which item has this name, and its copies, are the word of {}; the verdict is your own; "
    "files beside it are not on the cluster"
)

_RELATED_BY_THE_CLUSTER = (
    "{} chose these items and the items that refer to them; rye read references and verdicts from their bytes"
)

SECTIONS_OF = 50
"""Items whose sections are ranked."""

_LISTED = 200
"""Items per page of a list."""


@contextmanager
def _left_out(hits: FetchedHits) -> Iterator[None]:
    """If an item is not found, add a hint that its bytes were not an item."""
    try:
        yield
    except NotFoundError as error:
        raise error.but(hint=next(iter(hits.left_out), error.hint)) from None


class _Current(NamedTuple):
    """The live generation, a sentence on what it lacks, and its signed lists."""

    generation: Generation
    gap: str
    lists: RegistryLists


class ClusterEngine:
    """Answers from a registry on a cluster; refuses what a cluster cannot do.

    Args:
        index: The address of the registry.
        layout: The local spaces, whose trust files and settings apply.
        named_trust: Trust files to treat as the user's own.
        progress: Called with (items done, items to do, registry).
        vectors: Embeds queries, and has the vectors of local items.
        only_trusted: Whether all items but the trusted ones are left out.

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
        only_trusted: bool = False,
    ) -> None:
        self._layout = layout
        self._vectors = vectors
        self._named_trust = named_trust
        self._progress = progress
        self._only_trusted = only_trusted
        self.cluster = Cluster(Address.parse(index))
        self._current: _Current | None = None

    @property
    def address(self) -> str:
        """The address of the registry."""
        return str(self.cluster.address)

    def search(self, request: Request) -> SearchResponse:
        """Run a search.

        Raises:
            UnavailableError: A cluster cannot do this.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        began = time.perf_counter()
        with self._searching() as (search, settings, current):
            page = search(request).run()
            warnings = (*settings, *page.warnings, *self._lacking(current, page), self._source_warning())
        return replace(page, warnings=warnings, took_ms=round((time.perf_counter() - began) * 1e3, 3))

    def pages(self, request: Request) -> Pages:
        """Yield the pages of a search, all from one generation; facets are not counted.

        Raises:
            UnavailableError: A cluster cannot do this.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        with self._searching() as (search, settings, current):
            pages = in_pages(request._replace(facets=()), lambda part: search(part).run(), _LISTED)
            for page in pages:
                yield replace(
                    page, warnings=(*settings, *page.warnings, *self._lacking(current, page), self._source_warning())
                )

    def _source_warning(self) -> str:
        return _WORD_OF_THE_CLUSTER.format(self.address)

    def _lacking(self, current: _Current, page: SearchResponse) -> Iterator[str]:
        """Yield a warning about missing documents, and one about an empty space if there are no hits."""
        if current.gap:
            yield current.gap
        generation = current.generation
        if not page.total and not generation.counts([generation.within(page.space)])[0]:
            yield f"{self.address} has no items in {page.space} space"

    def read(self, request: Request) -> QueryReading:
        """Run a search; return how its query is read.

        Raises:
            UnavailableError: A cluster cannot do this.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        from rye.search.explain import reading_of

        with self._searching() as (search, settings, _):
            cluster_search = search(request)
            response, reading = cluster_search.run(), cluster_search.reading()
        warnings = (*settings, *response.warnings, self._source_warning())
        return reading_of(reading, replace(response, warnings=warnings), [(response.stage, str(reading.main))])

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Find sections among the first hits of the cluster, ranked locally by words.

        Raises:
            UnavailableError: A cluster cannot do this.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        from rye.search.sections import SectionSearch

        began = time.perf_counter()
        mode = request.search.mode
        by_words = f"keyword results instead of {mode.name} ones: a cluster's sections are ranked by words"
        warned = [] if mode.name == "keyword" else [by_words]
        items = request.search._replace(mode=mode._replace(name="keyword"))
        with self._searching() as (search, settings, _):
            first = search(items._replace(limit=SECTIONS_OF, offset=0, sort_by="score", facets=())).first_items()
            response = SectionSearch(request._replace(search=items), first.context).run()
        return replace(
            response,
            results=tuple(map(self._addressed, response.results)),
            hidden=first.hidden,
            warnings=(
                *settings,
                *warned,
                *response.warnings,
                *first.warnings,
                self._source_warning(),
            ),
            took_ms=round((time.perf_counter() - began) * 1e3, 3),
        )

    def _addressed(self, hit: SectionHit) -> SectionHit:
        """Return a section whose path is the address of its file on the cluster."""
        address = f"{self.address}{hit.path[len(str(NOWHERE)) :]}"
        return replace(hit, path=address, display_url=f"{address}#L{hit.line}-L{hit.end_line}")

    def similar(self, request: Request, item: str) -> NoReturn:
        """Raise an error: a cluster cannot find similar items."""
        del request, item
        raise cannot("find similar items", AT_HOME)

    def why(self, request: Request, item: str) -> NoReturn:
        """Raise an error: a cluster cannot explain a hit."""
        del request, item
        raise cannot("explain a hit", AT_HOME)

    def skill(self, uri: str) -> NoReturn:
        """Raise an error: a cluster does not have all files of a skill."""
        del uri
        raise cannot("hand out the files of a skill", AT_HOME)

    def stats(self, space: str) -> NoReturn:
        """Raise an error: a cluster cannot count items by verdict."""
        del space
        raise cannot("count its items", AT_HOME)

    def single_scan(self) -> AbstractContextManager[None]:
        """Do nothing: a generation never changes."""
        return nullcontext()

    def _opened(self) -> tuple[Embedder, Model]:
        """Return the embedder and its current model."""
        embedder, probe = self._vectors.probed()
        return embedder, Model(embedder.model, probe)

    def resolve(self, name: str, space: str | None) -> str:
        """Return ``type:id`` of the item that a name means, whatever its verdict.

        Raises:
            NotFoundError, ArgumentError: As :func:`rye.registry.lookup.find_item`.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        with self._reading() as (current, _, lists, scratch):
            name, hits = current.generation.name_of(name), FetchedHits(current.generation, scratch, lists)
            reader, _ = hits.indexed(hits.named(name))
            part, local = find_item(reader, name, space or "all")[0]
            return ":".join(reader.key_of(part.base + local))

    def load(self, name: str, space: str | None) -> LoadedItem:
        """Return one item, judged from the bytes that the cluster has, as :meth:`rye.Registry.get` does.

        Raises:
            NotFoundError, ArgumentError, ItemError: As :func:`rye.registry.load.load_item`.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        with self._reading() as (current, load, lists, scratch):
            generation = current.generation
            name, hits = generation.name_of(name), FetchedHits(generation, scratch, lists, only=self._only(load))
            reader, _ = hits.indexed(hits.named(name))
            with _left_out(hits):
                loaded = load_item(reader, load.trust, name, find_item(reader, name, space or "all"), read=hits.read)
        note = _NAMED_BY_THE_CLUSTER.format(self.cluster.address)
        listed = (*dict.fromkeys(filter(None, hits.not_as_listed.values())), *lists.warnings)
        warnings = (*loaded.warnings, *hits.left_out, *filter(None, [current.gap]), *listed, note)
        return replace(loaded, address=generation.address_of(loaded.path), warnings=warnings)

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations around an item, as :meth:`rye.Registry.refs` does.

        Every reference is read from the bytes of the item that has it.

        Raises:
            NotFoundError, ArgumentError: As :func:`rye.registry.lookup.find_item`.
            UnavailableError: ``depth`` is more than 1, or too many items would have to be read.
            EnvironmentFault: The answer of the cluster is incomplete.
        """
        from rye.registry.relations import relations_of

        if depth > 1:
            raise cannot("follow references beyond one step", f"ask for depth 1; or {AT_HOME}")

        def start_of(reader: Reader) -> int:
            part, local = find_item(reader, item)[0]
            return part.base + local

        with self._reading() as (current, load, lists, scratch):
            generation = current.generation
            item, hits = generation.name_of(item), FetchedHits(generation, scratch, lists, only=self._only(load))
            reader = Neighbours(generation, hits, start_of).around(hits.named(item), Direction(direction))
            relate = partial(relations_of, direction=direction, depth=depth, limit=limit, read=hits.read)
            relations = relate(reader, load.trust, item, find_item(reader, item)[0])
        items = tuple(replace(related, path=generation.address_of(related.path)) for related in relations.items)
        note = _RELATED_BY_THE_CLUSTER.format(self.cluster.address)
        warnings = (*load.warnings, *relations.warnings, *hits.left_out, *filter(None, [current.gap]), note)
        return replace(relations, items=items, warnings=warnings)

    @contextmanager
    def _searching(self) -> Iterator[tuple[Callable[[Request], ClusterSearch], tuple[str, ...], _Current]]:
        """Yield a function that makes a search, warnings about settings and keys, and the live generation."""
        with self._reading() as (current, load, lists, scratch):
            now, generation = system_clock(), current.generation
            ranking = ranking_of(self._layout, load, now, list(filter(None, generation.roots)))
            embedding = Embedding(lambda: self._vectors.can_embed, self._opened, ranking.boosts)
            local = LocalContext(load.trust, now, scratch, lists, embedding, self._only(load))
            warnings = () if self._only_trusted else (*load.warnings, *ranking.problems, *lists.warnings)
            yield lambda request: ClusterSearch(request, generation, local), warnings, current

    @contextmanager
    def _reading(self) -> Iterator[tuple[_Current, TrustLoad, CheckedLists, Path]]:
        """Yield the live generation, the trusted keys, the lists checked with them, and a temporary folder."""
        load, generation = self._layout.load_trust(self._named_trust), read_generation(self.cluster)
        current = self._current
        if current is None or current.generation.index_name != generation.index_name:
            current = self._current = _Current(generation, generation.gap(), RegistryLists(generation))
        lists = current.lists.under(load.trust, system_clock())
        if self._only_trusted:
            load, lists = load._replace(warnings=()), replace(lists, warnings=())
        with TemporaryDirectory(prefix="rye-page-") as scratch, self._nameless():
            yield current, load, lists, Path(scratch)

    @contextmanager
    def _nameless(self) -> Iterator[None]:
        """If only trusted items are shown, raise errors without the fields of other items, which a hint may name."""
        try:
            yield
        except (ArgumentError, QueryError) as error:
            if not (self._only_trusted and error.details.get("nearest")):
                raise
            changes = {"suggestion": ""} if isinstance(error, QueryError) else {}
            raise error.but(hint="", details={**error.details, "nearest": []}, **changes) from None

    def _only(self, load: TrustLoad) -> Callable[[ReadItem], bool] | None:
        """Return what tells whether a fetched item is trusted, if all others are left out; else None."""
        now = system_clock()

        def is_trusted(read: ReadItem) -> bool:
            return judge(read.evidence, origin=read.origin, trust=load.trust, now=now).verdict is Verdict.TRUSTED

        return is_trusted if self._only_trusted else None

    def publish(self, state: State, *, owner: str, space: str, scope: str, options: PublishOptions) -> PublishReport:
        """Publish items of a state of the spaces, which replace all items of the owner in the registry.

        Items of other owners do not change. If publishing is killed at any moment, the previous generation stays live.
        rye's own items are never published, because every installation has them.

        Args:
            state: The state.
            owner: The owner of the items; empty for the name of the project's folder.
            space: ``project``, ``user``, ``system`` or ``all``.
            scope: Types and namespaces, as for a search.
            options: How to publish.

        Raises:
            ArgumentError: An argument is not valid, or many items would be removed.
            NotFoundError: ``project-not-found``: there is no project here.
            EnvironmentFault: The cluster failed, another publisher is at work, or a file changed meanwhile.
            UnavailableError: The client for clusters is not installed.
        """
        options = options._replace(shards=check(SHARDS, options.shards), replicas=check(REPLICAS, options.replicas))
        name = check_owner(owner or self._default_owner(space))
        roots = [
            (root, snapshot)
            for root, snapshot in state.everywhere.snapshots
            if space in ("all", root.space) and not is_own(root)
        ]
        reader = select_items(roots, parse_scope(scope))
        states = States(reader, reader, lambda: state.trust.trust, system_clock())
        vectors, vector_warnings = self._to_publish(Reader(roots), name)
        items = LocalItems(reader, states, name, vectors)
        report = Publisher(self.cluster, items, name, self._progress).run(options)
        return replace(report, warnings=(*report.warnings, *vector_warnings))

    def _to_publish(self, reader: Reader, owner: str) -> tuple[ItemVectors | None, tuple[str, ...]]:
        """Return the vectors to publish, if the registry can take them, and warnings if it cannot."""
        without = "the items are published without vectors, only words will find them: "
        try:
            if not self._vectors.can_embed:
                return None, (f"{without}there is no embedder",)
            meaning, (_, model) = self._vectors.meaning_to_publish(reader), self._opened()
        except UnavailableError as error:
            return None, (f"{without}{error.message}",)
        published_model = model_beside(self.cluster, owner)
        if published_model is not None and not published_model.is_of(model):
            name = (
                f"another model called {published_model.name}"
                if published_model.name == model.name
                else published_model.name
            )
            return None, (f"{without}the registry has vectors of {name}, and the embedder here is {model.name}",)
        return ItemVectors(model, meaning.vectors), meaning.warnings

    def _default_owner(self, space: str) -> str:
        """Return the name of the project's folder.

        Raises:
            ArgumentError: ``bad-owner``: the space is not a project's.
            NotFoundError: ``project-not-found``.
        """
        if space in ("user", "system"):
            hint = "name whose items they are: --owner NAME"
            raise ArgumentError("bad-owner", f"the items of {space} space have no owner", hint=hint)
        if self._layout.project is None:
            hint = "go into a project, name it with --project DIR, or publish another --space"
            raise NotFoundError("project-not-found", "there is no project here", hint=hint)
        return self._layout.project.resolve().name
