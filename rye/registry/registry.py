"""The façade: one object that finds, loads, verifies and signs the items of a project, a user and the system.

Example::

    registry = Registry("/path/to/project")
    for hit in registry.search("thread orchestrator", scope="directive").results:
        print(hit.id, hit.signature.verdict)
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self, Unpack

from rye._process import Cancelled
from rye.embedding.protocol import Embedder
from rye.errors import ArgumentError, RyeError
from rye.index.build.refresh import Progress
from rye.index.storage import cache_folder
from rye.index.vectors.vectors import LOCK_WAIT
from rye.options.model import Parameter, check, complete, takes
from rye.options.search import (
    EMBED_SECONDS,
    LISTED,
    MAX_LIMIT,
    MAX_STALENESS,
    FilterOptions,
    RefsOptions,
    SearchOptions,
    SectionOptions,
    SimilarOptions,
    WhyOptions,
)
from rye.registry.engine import Engine, LocalEngine, Pages
from rye.registry.lookup import check_space
from rye.registry.settings import chosen_index
from rye.registry.state import Indexes
from rye.registry.vectors import VectorIndexes, as_choice
from rye.search.contract.request import make_request
from rye.search.contract.results import SearchResponse
from rye.spaces.layout import Layout, as_path, as_paths
from rye.spaces.model import Root
from rye.trust.trust_store import system_clock

if TYPE_CHECKING:
    from rye.cluster.publish import PublishReport
    from rye.index.build.refresh import RefreshReport
    from rye.index.vectors.vectors import VectorReport
    from rye.keyring.lists import ListSigned
    from rye.keyring.plan import Confirm, SignReport
    from rye.keyring.private import Passphrase
    from rye.keyring.trust_list import TrustReport
    from rye.registry.diagnosis import DoctorReport
    from rye.registry.findability import Findability
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem, SpaceStatus
    from rye.registry.skills import FoundSkill
    from rye.registry.stats import Stats
    from rye.search.contract.results import SectionResponse
    from rye.search.explain import QueryReading, Why
    from rye.spaces.lists import ListReport
    from rye.verify.policy import Policy
    from rye.verify.report import Entry, VerifyReport

_EMBED_SECONDS = EMBED_SECONDS._replace(name="embed_seconds")
_DAYS = Parameter("For how many days it is valid", 90, low=1, name="days", kind="integer")
_COUNTED = ("type", "space", "verdict")
"""The facets of a list."""

_PROCESSES = Parameter("How many may work", low=1, name="processes", kind="integer")

PathLike = str | os.PathLike[str]


class Registry:
    """The items of one project, its user and the installed bundles. Safe to use from several threads.

    Args:
        project: Folder that contains ``.ai``; None searches upwards from the working directory.
        user: Folder that contains the user's ``.ai``; None means ``$USER_SPACE``, else the home folder.
        bundles: Bundle folders to use instead of the installed ones and ``RYE_BUNDLES``; rye's own items are added.
            None discovers them; an empty sequence means no system space at all.
        more_bundles: Bundle folders to use in addition.
        cache_dir: Folder for indexes; None means ``$RYE_CACHE_DIR``, else the platform's cache folder.
        max_staleness: Seconds for which searches reuse a scan of the spaces, by any process; 0 scans before each
            search, infinity only if there is no index yet.
        trust: Trust files or folders that this registry treats as the user's own.
        audience: The audience that signatures on the project's items must have, and that :meth:`sign` gives them; None
            takes ``$RYE_AUDIENCE``, an empty text accepts signatures with or without any audience.
        clients: Names of agents, such as ``claude``, whose folders are searched beside ``.ai``; ``["none"]`` for none,
            None for ``$RYE_CLIENTS``, else all.
        progress: Called with (files done, files to do, source) while files are indexed, verified or signed, and with
                (skills done, skills to do, ``skills``) while :meth:`doctor` compares them.
        cancelled: Called often during indexing, in the thread that asked for it; returning True stops indexing
            promptly.
        embedder: What turns texts into vectors: ``wordllama``, ``none``, ``ollama:MODEL@URL``, ``openai:MODEL@URL``, or
            an object; None takes ``$RYE_EMBEDDER``, else the user's ``config/search.yaml``.
        embed_seconds: Approximate seconds that a search spends on missing vectors; the next search makes more. With 0
            it makes none and does not re-rank.
        index: Address of a registry on a cluster to search instead; what a cluster cannot do raises an error.
        may_choose_index: If ``index`` is None, take it from ``$RYE_INDEX`` or the user's settings.
        only_trusted: Leave out all items but the trusted ones, except in :meth:`verify` and signing.

    Raises:
        NotFoundError: The project folder, a bundle or a trust file does not exist.
        ArgumentError: ``max_staleness`` is not a number ≥ 0, or the embedder is not valid.
        EnvironmentFault: The project's ``.ai`` is not a folder.
    """

    def __init__(
        self,
        project: PathLike | None = None,
        *,
        user: PathLike | None = None,
        bundles: Sequence[PathLike] | None = None,
        more_bundles: Sequence[PathLike] = (),
        cache_dir: PathLike | None = None,
        max_staleness: float = 0.0,
        trust: Sequence[PathLike] = (),
        audience: str | None = None,
        clients: Sequence[str] | None = None,
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
        embedder: str | Embedder | None = None,
        embed_seconds: float = math.inf,
        index: str | None = None,
        may_choose_index: bool = False,
        only_trusted: bool = False,
    ) -> None:
        self._find = partial(
            Layout.find,
            project=None if project is None else as_path("project", project),
            user=None if user is None else as_path("user", user),
            audience=audience,
            clients=clients,
        )
        self._layout = layout = self._find(
            bundles=None if bundles is None else as_paths("bundles", bundles),
            more=as_paths("more_bundles", more_bundles),
        )
        self.roots: tuple[Root, ...] = layout.roots
        max_staleness = check(MAX_STALENESS, max_staleness)
        self._progress = progress
        self._named_trust = as_paths("trust", trust)
        folder = as_path("cache_dir", cache_dir) if cache_dir is not None else cache_folder.default_cache_dir()
        self._indexes = Indexes(layout, folder, named_trust=self._named_trust, progress=progress, cancelled=cancelled)
        self._vectors = VectorIndexes(
            layout,
            self._indexes.folder,
            named=as_choice(embedder),
            seconds=check(_EMBED_SECONDS, embed_seconds),
            progress=progress,
            cancelled=cancelled,
        )
        self._local = LocalEngine(self._indexes, self._vectors, max_staleness, only_trusted=only_trusted)
        self._engine: Engine = self._local
        if may_choose_index:
            index = chosen_index(index, layout.safe_user())
        if index is not None:
            from rye.registry.cluster import ClusterEngine

            self._engine = ClusterEngine(
                index, layout, self._named_trust, vectors=self._vectors, only_trusted=only_trusted
            )

    def __enter__(self) -> Self:
        """Return the registry itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files of the indexes and vectors; a later call opens them again."""
        self._vectors.forget()
        self._indexes.release()

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources searched, highest priority first: ``project``, ``user``, ``system:<bundle>``."""
        return tuple(root.source for root in self.roots)

    @property
    def index(self) -> str | None:
        """The address of the registry on a cluster that is searched; None for the local spaces."""
        return self._engine.address

    @property
    def max_staleness(self) -> float:
        """Seconds for which searches reuse a scan of the spaces."""
        return self._local.max_staleness

    @max_staleness.setter
    def max_staleness(self, seconds: float) -> None:
        self._local.max_staleness = seconds

    @property
    def is_current(self) -> bool:
        """Whether the same folders of project and user contain items as when it was opened; checks the disk."""
        try:
            return self._find(bundles=()).roots == tuple(root for root in self.roots if root.space != "system")
        except RyeError:  # a named folder is gone, which the open registry reports
            return True

    @takes(SearchOptions)
    def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResponse:
        """Find items. Every hit of the page is read and verified at that moment.

        Args:
            query: Text in the query language; empty means everything in scope.

        Raises:
            QueryError: The query is not valid; the error has position, caret, hint and a suggestion.
            ArgumentError: Another argument is not valid; the error lists what is.
            EnvironmentFault: The cache folder is not safe to use.
        """
        return self._engine.search(make_request(query, options))

    def publish(
        self,
        index: str,
        *,
        owner: str = "",
        space: str = "project",
        scope: str = "*",
        shards: int | None = None,
        replicas: int | None = None,
        dry_run: bool = False,
        yes: bool = False,
        repair: bool = False,
    ) -> PublishReport:
        """Publish items to a registry on a cluster. They replace all items of the owner; those of other owners stay.

        Args:
            index: The address of the registry.
            owner: The owner of the items; empty for the name of the project's folder.
            space: ``project``, ``user``, ``system`` (without rye's own items) or ``all``.
            scope: Types and namespaces, as for :meth:`search`.
            shards: The number of shards; None to keep it, else 1.
            replicas: The number of replicas; None to keep it, else 1.
            dry_run: Only report what would be added, changed and removed.
            yes: Also remove more than a tenth of the owner's items.
            repair: Compare each document with its item, and rewrite missing or altered ones.

        Raises:
            ArgumentError: An argument is not valid, or ``publish-removes``.
            NotFoundError: There is no project here.
            EnvironmentFault: The cluster failed, another publisher is at work, or a file changed meanwhile.
        """
        from rye.cluster.publish import PublishOptions
        from rye.cluster.query import AT_HOME, cannot
        from rye.registry.cluster import ClusterEngine

        check_space(space)
        if self.index is not None:
            raise cannot("be published to another one", AT_HOME)
        cluster = ClusterEngine(index, self._layout, self._named_trust, self._progress, vectors=self._vectors)
        options = PublishOptions(shards, replicas, dry_run, yes, repair)
        publish = partial(cluster.publish, owner=owner, space=space, scope=scope, options=options)
        return self._local.ask(publish)

    @takes(FilterOptions)
    def list_items(
        self,
        scope: str = "*",
        *,
        space: str = "all",
        limit: int | None = None,
        offset: int = 0,
        sort_by: str = "score",
        **options: Unpack[FilterOptions],
    ) -> SearchResponse:
        """List all items in a scope as one page; each is read and verified at that moment.

        Args:
            scope: As for :meth:`list_pages`, like the other arguments.
            space: The space to list.
            limit: Maximum items; None for all.
            offset: Items to skip.
            sort_by: The order.
        """
        pages = list(self.list_pages(scope, space=space, limit=limit, offset=offset, sort_by=sort_by, **options))
        results = tuple(hit for page in pages for hit in page.results)
        return replace(
            pages[0],
            results=results,
            warnings=tuple(dict.fromkeys(text for page in pages for text in page.warnings)),
            next_offset=pages[-1].next_offset,
            limit=max(len(results), 1) if limit is None else limit,
        )

    @takes(FilterOptions)
    def list_pages(
        self,
        scope: str = "*",
        *,
        space: str = "all",
        limit: int | None = None,
        offset: int = 0,
        sort_by: str = "score",
        **options: Unpack[FilterOptions],
    ) -> Pages:
        """Yield all items in a scope page by page, all from one state of the index.

        The first page counts all items in scope by type, space and verdict, as facets.

        Args:
            scope: Types and namespaces, as for :meth:`search`.
            space: ``all``, ``project``, ``user`` or ``system``.
            limit: Maximum items; None for all.
            offset: Items to skip.
            sort_by: ``score`` (by space, then id), ``name`` or ``date``.
        """
        check(LISTED, limit)
        page = MAX_LIMIT if limit is None else min(limit, MAX_LIMIT)  # the limit of one search
        given = {"scope": scope, "space": space, "limit": page, "offset": offset, "sort_by": sort_by, **options}
        request = make_request("", {**given, "facets": _COUNTED, "fold": False})
        return self._engine.pages(request._replace(limit=sys.maxsize if limit is None else limit))

    @takes(WhyOptions)
    def why(self, query: str, item: str, **options: Unpack[WhyOptions]) -> Why:
        """Return the rank of an item in a search and why it is a hit, or every reason why it is not.

        Args:
            query: As for :meth:`search`, like the other arguments except ``item``.
            item: ``type:id``, or an id that only one type has. Of several copies, the first searched one is explained.

        Raises:
            QueryError: The query is not valid.
            ArgumentError: Another argument is not valid, or the item's name is ambiguous.
            NotFoundError: There is no such item.
            EnvironmentFault: The cache folder is not safe to use.
        """
        return self._engine.why(make_request(query, options, WhyOptions), item)

    @takes(WhyOptions)
    def read_query(self, query: str, **options: Unpack[WhyOptions]) -> QueryReading:
        """Return how a query is read: its tree, the stages that were tried, and their results.

        Args:
            query: As for :meth:`search`, like the other arguments.

        Raises:
            QueryError: The query is not valid.
            ArgumentError: Another argument is not valid.
            EnvironmentFault: The cache folder is not safe to use.
        """
        return self._engine.read(make_request(query, options, WhyOptions)._replace(offset=0, limit=1))

    @takes(WhyOptions)
    def evaluate(self, questions: PathLike, **options: Unpack[WhyOptions]) -> Findability:
        """Measure how well questions find the items that answer them, and explain every failure.

        Args:
            questions: A file of questions with the expected item of each, or a folder with such files.

        Raises:
            ItemError: The file cannot be read.
            NotFoundError: ``no-questions``.
            EnvironmentFault: The cache folder is not safe to use.
        """
        from rye.registry.findability import evaluate

        return evaluate(self._engine, as_path("questions", questions), options, self._progress)

    @takes(SimilarOptions)
    def similar(self, item: str, **options: Unpack[SimilarOptions]) -> SearchResponse:
        """Find items that share an item's rarest words or are similar in meaning, best first; its copies are left out.

        Args:
            item: ``type:id``, or an id that only one type has; it may be in any space.

        Raises:
            ArgumentError: An argument is not valid, or the item's name is ambiguous.
            NotFoundError: There is no such item.
            EnvironmentFault: The cache folder is not safe to use.
        """
        return self._engine.similar(make_request("", options, SimilarOptions), item)

    @takes(SectionOptions)
    def sections(self, query: str, **options: Unpack[SectionOptions]) -> SectionResponse:
        """Find whole sections to read or cite; each is read and verified from its file at that moment.

        Args:
            query: Text in the query language.

        Raises:
            QueryError: The query is not valid.
            ArgumentError: Another argument is not valid; the error lists what is.
            EnvironmentFault: The cache folder is not safe to use.
        """
        from rye.search.contract.request import make_section_request

        return self._engine.sections(make_section_request(query, options))

    def get(self, item: str, space: str | None = None) -> LoadedItem:
        """Read one item and verify exactly the bytes returned.

        Args:
            item: ``type:id``, or an id that only one type has.
            space: A space, or a source such as ``system:acme``; None takes the first that has the item.

        Raises:
            NotFoundError: There is no such item; the hint lists the most similar ids.
            ArgumentError: Several types have the id.
            ItemError: The file cannot be read as an item.
        """
        return self._engine.load(item, space)

    def resolve(self, item: str, space: str | None = None) -> str:
        """Return ``type:id`` of the item that a name means, whatever its verdict; for use with :meth:`verify`.

        Raises:
            NotFoundError, ArgumentError, ItemError: As :meth:`get`.
        """
        return self._engine.resolve(item, space)

    @takes(RefsOptions)
    def refs(self, item: str, **options: Unpack[RefsOptions]) -> Relations:
        """Return what an item refers to and what refers to it; each item and reference once, so cycles end.

        Args:
            item: ``type:id``, or an id that only one type has.

        Raises:
            NotFoundError: There is no such item; the hint lists the most similar ids.
            ArgumentError: Several types have the id, or another argument is not valid.
        """
        return self._engine.refs(item, **complete(RefsOptions, options))

    def skill(self, uri: str) -> FoundSkill:
        """Read and verify every file of the skill that a ``skill://`` address leads into; also return the named path.

        Raises:
            NotFoundError: There is no such skill.
            ItemError: It does not meet the Agent Skills specification and the limits of MCP.
        """
        return self._engine.skill(str(uri))

    def verify(
        self,
        *targets: str,
        space: str | None = None,
        policy: Policy | PathLike | None = None,
        require_list: bool = False,
        strict: bool = False,
        identifies: bool = False,
        processes: int | None = 1,
        each: Callable[[Entry], None] | None = None,
    ) -> VerifyReport:
        """Verify items from their bytes; compare roots that are verified completely with their signed lists.

        Args:
            targets: Scopes, ``type:id``, or paths of files and folders; none, or ``*``, means every item.
            space: The space to verify, None for all. Paths are verified wherever they are. Without targets and space,
                it is an error if there are no items except rye's own.
            policy: The policy, or the YAML file with it; None requires the verdict ``trusted``.
            require_list: Report a project, user space or named bundle without a signed list.
            strict: Report a file that no signature and no list covers.
            identifies: Give each finding the identity by which a policy accepts it; every byte that it is about is
                read.
            processes: How many processes may be used for many items; None for one per processor.
            each: Called with each item, finding and file that could not be checked, as it comes; an exception from it
                ends the verification.

        Raises:
            ArgumentError: A target or the policy is not valid.
            NotFoundError: A file does not exist.
            EnvironmentFault: Git cannot be run, or a file cannot be read.
        """
        check_space(space or "all")
        check(_PROCESSES, processes)
        if not (each is None or callable(each)):
            raise ArgumentError(
                "bad-each", f"each is {each!r}", hint="give a function of one argument, or leave it out"
            )
        from rye.verify.policy import Policy
        from rye.verify.run import start_verification

        run = start_verification(
            targets,
            self._layout,
            space=space,
            named_trust=self._named_trust,
            policy=policy if policy is None or isinstance(policy, Policy) else as_path("policy", policy),
            require_list=require_list,
            strict=strict,
            digests=True,
            identifies=identifies,
            processes=processes,
            progress=self._progress,
        )
        return run.complete(each)

    def sign(
        self,
        *targets: str,
        space: str = "project",
        key: PathLike | None = None,
        dry_run: bool = False,
        check: bool = False,
        force: bool = False,
        allow_hidden: bool = False,
        confirm: Confirm | None = None,
        passphrase: Passphrase = None,
    ) -> SignReport:
        """Validate and sign items of the project or user space; nothing is written unless all of them are valid.

        Items that already have a valid signature of the key stay as they are.

        Args:
            targets: ``type:id``, globs of ids, or paths.
            space: ``project`` or ``user``; system space is read-only.
            key: Name or file of the key; None takes ``RYE_SIGNING_KEY`` or the user space's ``private_key``.
            dry_run: Only report what would be signed; the public half of the key is enough.
            check: Only report what lacks a valid signature of this key, without validating metadata.
            force: Also sign items that have a valid signature.
            allow_hidden: Also sign files with text that a reader does not see, see :mod:`rye.items.hidden`.
            confirm: Called with the plan if it has files that are not named by themselves; an exception prevents the
                write. None leaves out what a key signed that the user does not trust, unless it is named by itself.
            passphrase: The passphrase of an encrypted key, or a function that asks for it; ``RYE_KEY_PASSPHRASE`` comes
                first.

        Raises:
            SigningError: An item is not valid, or the key cannot be used.
            ArgumentError: A target matches nothing.
        """
        from rye.keyring.private import Keyring
        from rye.keyring.sign_items import SignMode, sign_targets

        path = None if key is None else as_path("key", key)
        return sign_targets(
            targets,
            self._layout,
            space=space,
            keyring=Keyring(self._layout, passphrase=passphrase, named=self._named_trust),
            key=key if isinstance(key, str) else path,
            mode=SignMode.CHECK if check else SignMode.DRY_RUN if dry_run else SignMode.WRITE,
            force=force,
            allow_hidden=allow_hidden,
            confirm=confirm,
            progress=self._progress,
        )

    def doctor(self) -> DoctorReport:
        """Return which skills of the project and the user an agent can find, and the problems that hide them.

        It uses neither network nor key, and ignores items on a cluster.
        """
        return self._local.diagnose(self._progress)

    def stats(self, space: str = "all") -> Stats:
        """Return how many items each space root has, by type and by verdict."""
        check_space(space)
        return self._engine.stats(space)

    def trust_keys(self) -> TrustReport:
        """Return every key in the trust files, what it may sign, and whether and why it is trusted now."""
        from rye.keyring.trust import Trust

        return Trust(self._layout, named=self._named_trust).list()

    def check_lists(self, space: str = "all") -> tuple[ListReport, ...]:
        """Compare each space that has or had a signed list with that list.

        Args:
            space: The space to check.

        Raises:
            EnvironmentFault: A list, or the record of the last one seen, cannot be read.
        """
        check_space(space)
        from rye.spaces.lists import check_list, has_list, list_folder, with_lists

        load = with_lists(self._layout.load_trust(self._named_trust), self._layout.roots, system_clock())
        roots = {list_folder(root): root for root in reversed(self._layout.in_space(space)) if has_list(root)}
        return tuple(check_list(root, trust=load.trust) for root in reversed(roots.values()))

    def sign_list(
        self,
        space: str = "project",
        *,
        key: PathLike | None = None,
        days: int | None = None,
        add: bool = False,
        allow_hidden: bool = False,
    ) -> ListSigned:
        """Write and sign the list of a space, or add a signature to the existing list.

        Args:
            space: ``project`` or ``user``.
            key: Name or file of the key; None takes the one that :meth:`sign` would.
            days: For how many days the list is valid; None for 90.
            add: Verify the existing list and add a signature to it.
            allow_hidden: Also list files with text that a reader does not see.

        Raises:
            SigningError: The key cannot be used, a file holds hidden text, or the existing list is not valid.
            ArgumentError: There is no such space, or no list to add a signature to.
        """
        from rye.keyring.lists import find_root, sign_list
        from rye.keyring.private import Keyring

        check_space(space)
        if days is not None:
            check(_DAYS, days)
        layout, root = find_root(self._layout, space=space)
        name = key if isinstance(key, str) else None if key is None else as_path("key", key)
        secret = Keyring(layout, named=self._named_trust).signing_key(name)
        trust = layout.load_trust(self._named_trust).trust
        return sign_list(root, key=secret, trust=trust, days=days, add=add, allow_hidden=allow_hidden)

    def single_scan(self) -> AbstractContextManager[None]:
        """Scan once for all calls of this thread in the block, for example to list items and read each of them."""
        return self._engine.single_scan()

    def refresh(self) -> RefreshReport:
        """Scan the spaces now and index what changed."""
        return self._indexes.scan().report()

    def embed(self) -> VectorReport:
        """Scan the spaces now, index what changed, and make the missing vectors.

        A semantic or hybrid search does the same when it needs them.

        Raises:
            UnavailableError: The embedder cannot be used.
            EnvironmentFault: The vectors cannot be written.
        """
        report = partial(self._vectors.report, wait=LOCK_WAIT)
        return self._indexes.answer(lambda state: report(state.everywhere, state.warnings), 0.0)

    @property
    def lacks_vectors(self) -> bool:
        """Whether the last semantic or hybrid search had no time to make all vectors; :meth:`embed` makes the rest."""
        return self._vectors.is_unfinished

    def rebuild(self) -> RefreshReport:
        """Index every file again."""
        return self._indexes.rebuild().report()

    def clear(self) -> int:
        """Remove the indexes and vectors of this registry's spaces; return how many bytes that freed."""
        self._vectors.forget()
        return self._indexes.clear()

    def status(self) -> tuple[SpaceStatus, ...]:
        """Return the place and size of each space's index and its vectors, without refreshing anything."""
        return self._indexes.status()
