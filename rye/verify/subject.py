"""What one verification is about: interpreted once, complete before the first file is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rye._files import real_path
from rye.spaces.bundles import OWN_IDS
from rye.spaces.discover import repository_of
from rye.spaces.layout import Layout
from rye.spaces.lists import list_key, with_lists
from rye.spaces.model import Root, Space
from rye.spaces.nested import FilesOfClients, Repository
from rye.spaces.targets import Target, read_targets
from rye.trust.list import ListState
from rye.trust.trust_store import TrustLoad, UnreadFolder, system_clock
from rye.verify.policy import Policy
from rye.verify.report import Unchecked
from rye.verify.worker import Verifier


@dataclass(frozen=True)
class Subject:
    """The files that some texts name, and what is demanded of them.

    Attributes:
        layout: The spaces, including those that a path among the texts added.
        verifier: Judges the files; holds trust set and time.
        policy: The demands.
        targets: What the texts name.
        named: Roots that the caller named, with an option or by a path among the texts, as opposed to discovered ones.
        space: The requested space, or ``all``.
        without: Folders that the caller leaves out.
        is_all: Whether no text was given.
        strict: Whether every file must be covered, git's files must be on disk, and git must know each repository.
        require_list: Whether a project, the user space and a named bundle must have a list; lists are then compared
            even if only a part was named.
        warnings: Keys and bundles that cannot be used.
        problems: Trust files and folders that cannot be read, so that nothing can be checked in full.
    """

    layout: Layout
    verifier: Verifier
    policy: Policy = field(default_factory=Policy)
    targets: tuple[Target, ...] = ()
    named: tuple[Root, ...] = ()
    space: str = "all"
    without: tuple[Path, ...] = ()
    is_all: bool = True
    strict: bool = False
    require_list: bool = False
    warnings: tuple[str, ...] = ()
    problems: tuple[Unchecked, ...] = ()

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """The roots to verify, highest priority first."""
        named = {root for target in self.targets for root in target.roots}
        return tuple(root for root in self.layout.roots if root in named)

    @cached_property
    def whole_roots(self) -> tuple[Root, ...]:
        """The roots that were named entirely."""
        return tuple(root for root in self.roots if any(root in target.whole_roots for target in self.targets))

    @cached_property
    def strict_roots(self) -> frozenset[Root]:
        """The roots of which every file must be covered."""
        return frozenset(root for root in self.roots if self.strict and self.demands(root))

    @property
    def top(self) -> Path:
        """The absolute path of the folder to which paths are relative: the project, else the working directory."""
        return Path(os.path.abspath(self.layout.project or Path.cwd()))  # noqa: PTH100 - links stay

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The absolute paths of the folders that the caller leaves out."""
        return frozenset(map(os.path.abspath, self.without))

    @cached_property
    def repositories(self) -> dict[str, Repository]:
        """The repositories in the verified folders, by real path."""
        found = (repository for target in self.targets for repository in target.below.repositories)
        return {repository.real: repository for repository in found}

    @cached_property
    def named_sources(self) -> frozenset[str]:
        """The sources of the bundles and folders that the caller named; the policy applies to them too."""
        return frozenset(root.source for root in self.named)

    def demands(self, root: Root) -> bool:
        """Return whether the list of a root, or that every file of it is covered, may be demanded."""
        return self.layout.may_demand(root) or (root.client is not None and root.space is not Space.SYSTEM)

    def state(self, root: Root) -> ListState | None:
        """Return what the list of a root proves; None without a list."""
        space = self.verifier.trust.lists.get(list_key(root))
        return space.state if space else None

    def files_of(self, root: Root) -> FilesOfClients | None:
        """Return what the search for projects found at the top of one; None if it was not walked over."""
        if root.client is None or not root.client.is_fixed:
            return None
        return next((files for target in self.targets if (files := target.below.files.get(root.path))), None)

    def repository_of(self, root: Root) -> Repository | None:
        """Return the nested repository that a root lies in; None for a root of the verified project itself."""
        around = root.space is Space.PROJECT and self.repositories and repository_of(Path(real_path(root.around)))
        repository = self.repositories.get(str(around)) if around else None
        return repository if repository and repository.is_nested else None


def subject_of(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    policy: Policy | None = None,
    named_trust: Sequence[Path] = (),
    without: Sequence[Path] | None = None,
    digests: bool = True,
    strict: bool = False,
    require_list: bool = False,
) -> Subject:
    """Return what some texts name; of the files, only trust files and lists are read.

    Args:
        texts: Paths, references or scopes; none means everything.
        layout: The spaces.
        space: The space to look in.
        policy: The demands; None for the verdict ``trusted`` alone.
        named_trust: Trust files that are treated as the user's own.
        without: Folders below the project that are not searched for projects; None searches for no projects at all.
        digests: Whether trusted items have a ``digest`` too.
        strict: As for :class:`Subject`.
        require_list: As for :class:`Subject`.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    layout = layout.with_files()
    targets, left_out = read_targets(texts, layout, space, without=without), tuple(without or ())
    everywhere = layout.in_space(space)
    by_name = everywhere, layout.in_space(space, [OWN_IDS])
    by_path = [root for target in targets if target.roots not in by_name for root in target.roots]
    in_system = everywhere if space == "system" else ()
    extended = layout._replace(
        roots=tuple(dict.fromkeys((*layout.roots, *by_path))), named=(*layout.named, *by_path, *in_system)
    )
    is_vain = layout.audience and not any(root.space is Space.PROJECT for target in targets for root in target.roots)
    now = system_clock()
    load = with_lists(extended.load_trust(named_trust), extended.roots, now)
    return Subject(
        extended,
        Verifier(load.trust, now, digests),
        policy or Policy(),
        targets,
        tuple(dict.fromkeys((*layout.named, *by_path))),
        space,
        left_out,
        is_all=not texts,
        strict=strict,
        require_list=require_list,
        warnings=(
            *_warnings(layout, targets, load, left_out),
            *([f"the audience {layout.audience!r} is of a project, and no project is verified"] if is_vain else ()),
        ),
        problems=(*map(_of_trust_folder, load.unreadable), *_of_folders(targets)),
    )


def _warnings(layout: Layout, targets: Iterable[Target], load: TrustLoad, without: Iterable[Path]) -> Iterator[str]:
    yield from layout.warnings
    yield from (f"{source} is left out by --client or RYE_CLIENTS, and not verified" for source in layout.left_out)
    yield from (f"left out: {entry}" for entry in without)
    yield from filter(None, (target.below.unsearched for target in targets))
    unread = {folder.fault.message for folder in load.unreadable}
    yield from (text for text in load.warnings if text not in unread)
    yield from filter(None, [load.emptiness])


def _of_trust_folder(unread: UnreadFolder) -> Unchecked:
    """Return the entry for a folder of trust files that is not read.

    A file in it may revoke any key, so nothing can be checked in full.
    """
    fault, known = unread.fault, "which keys its files revoke is not known"
    if fault.code == "user-in-project":
        known = f"so no key of yours counts: {fault.hint}"
    message = f"{fault.message}; {known}"
    return Unchecked(message, fault.code, fault.hint, str(unread.path))


def _of_folders(targets: Iterable[Target]) -> Iterable[Unchecked]:
    """Return the problems of searching below the named folders, once each."""
    problems = (problem for target in targets for problem in target.below.problems)
    return dict.fromkeys(Unchecked.of(fault, fault.details["path"]) for fault in problems)
