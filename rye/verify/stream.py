"""Streams the verdicts on the files that some texts name, computed from their bytes and without the index."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from rye._process import cores
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.spaces.bundles import is_own
from rye.spaces.classify import CACHE, MODULES, Role
from rye.spaces.discover import NAMED_OTHERS, files_warning
from rye.spaces.found import Found
from rye.spaces.layout import Layout
from rye.spaces.lists import with_lists
from rye.spaces.model import ItemFile, Root, Space, is_within
from rye.spaces.nested import FilesOfClients
from rye.spaces.snapshot import PLAIN
from rye.spaces.targets import Target, naming, read_targets
from rye.spaces.uncovered import named_files, uncovered_imports
from rye.spaces.walk import Walk
from rye.trust.list import ListedFile
from rye.trust.trust_store import UnreadFolder, system_clock
from rye.verify.report import Exposed, Outcome, Unchecked, VerifiedItem
from rye.verify.worker import Shadowing, Verifier, duplicates, verify_files

Progress = Callable[[int, int, str], None]
"""Called with the number of verified files, the number of all files, and an empty source."""

_AHEAD = 4096
"""Number of files listed before they are verified; alternating for each file would be slower."""


@dataclass(slots=True)
class OutcomeStream:
    """The files that the texts name: iterate over it once for a verdict on each, or the reason for none.

    Attributes:
        layout: The spaces, including those that a path among the texts added.
        targets: What the texts name.
        verifier: Judges the files; holds trust set and time.
        warnings: Keys and bundles that could not be used; at the end also items that hide another signer's.
        named: Roots that the caller named, with an option or by a path among the texts, as opposed to discovered ones.
        processes: Maximum number of processes.
        progress: Called during the work.
        space: The requested space, or ``all``: if it has no items, a warning says where they would lie.
        strict_roots: The roots of which every file is listed.
        without: Absolute paths of folders that the caller leaves out.
    """

    layout: Layout
    targets: tuple[Target, ...]
    verifier: Verifier
    warnings: tuple[str, ...]
    named: tuple[Root, ...] = ()
    processes: int = 1
    progress: Progress | None = None
    space: str = "all"
    strict_roots: Collection[Root] = ()
    without: tuple[str, ...] = ()
    _all_named: bool = True
    _has_own_items: bool = False
    _problems: list[Unchecked] = field(default_factory=list)
    _found: dict[Root, Found] = field(default_factory=dict)
    _imports: dict[Root, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots to verify."""
        named = {root for target in self.targets for root in target.roots}
        return tuple(root for root in self.layout.roots if root in named)

    @property
    def whole_roots(self) -> tuple[Root, ...]:
        """The roots that were named entirely."""
        return tuple(root for root in self.roots if any(root in target.whole_roots for target in self.targets))

    def beside(self) -> Iterator[tuple[Root, list[str]]]:
        """Yield for each root the named non-items that tools may run or import; complete at the end."""
        for root, found in self._found.items():
            paths = found.relevant + self._imports[root]
            covers = [target.covers for target in self.targets if root in target.roots]
            modules = () if root.client else (f"{MODULES}/",)  # above the folder of tools
            if is_own(root):  # installers compile rye's own tools with the rest of the package
                paths = [path for path in paths if f"/{CACHE}/" not in path]
            yield (
                root,
                [path for path in paths if path in modules or any(covers_path(root, path) for covers_path in covers)],
            )

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes: files in the order of roots and folders, then targets that matched nothing."""
        matched: set[str] = set()
        roots = self.roots
        walked = self._files(roots, matched)
        # count files only for progress, because that keeps all of them in memory
        counted = None if self.progress is None else list(walked)
        total = len(counted or ())
        batches = iter(lambda: list(islice(walked, _AHEAD)), [])
        files = chain.from_iterable(batches) if counted is None else counted
        outcomes = verify_files(files, roots, self.verifier, processes=self.processes)
        shadowing = Shadowing([root for root in self.layout.roots if not _is_other(root)], self.verifier)
        exposed = defaultdict[Root, dict[str, None]](dict)
        done = 0
        for outcome in outcomes:
            if isinstance(outcome, Exposed):
                if len(phrases := exposed[roots[outcome.root]]) <= NAMED_OTHERS:
                    phrases.update(dict.fromkeys(outcome.phrases))
                continue
            if isinstance(outcome, VerifiedItem):
                shadowing.look(outcome)
            yield outcome
            done += 1
            if self.progress is not None:
                self.progress(done, total, "")
        self.warnings += shadowing.warnings
        self.warnings += tuple(filter(None, (files_warning(root, [*phrases]) for root, phrases in exposed.items())))
        yield from self._problems
        if self._all_named and not (self._has_own_items or self._problems):
            self.warnings += tuple(filter(None, [self.layout.describe_empty(self.space)]))
        if not self._all_named:
            for target in self.targets:
                if target.text not in matched and not target.below.problems:
                    yield Unchecked(
                        f"nothing matches {target.text!r}", "no-match", "rye list --format ids lists what there is"
                    )

    def _files(self, roots: tuple[Root, ...], matched: set[str]) -> Iterator[tuple[int, ItemFile]]:
        """Yield the files of the roots that any target names; record matched targets and unlistable files."""
        for number, root in enumerate(roots):
            targets = [target for target in self.targets if root in target.roots]
            names_of = naming(targets, root)
            empty = _is_other(root) and not any(other.client and other.around == root.around for other in roots)
            files = self._files_of(root)
            found = self._found[root] = files.found if files else Found()
            for file in (
                chain[ItemFile | ItemError](files.items, duplicates(files.items))
                if files
                else self._entries(root, found)
            ):
                if isinstance(file, ItemError):
                    rel = str(file.details["path"])
                    if not any(target.covers(root, rel) for target in targets):
                        continue
                    path, empty = f"{root.path}/{rel}", False
                    self._problems.append(Unchecked.of(file, path, root))
                    continue
                empty = False
                self._has_own_items = self._has_own_items or not is_own(root)
                if not self._all_named:
                    if not (named := names_of(file)):
                        continue
                    matched.update(target.text for target in named)
                self._imports[root] += uncovered_imports(root, file)
                yield number, file
            if strays := [path for path in found.strays if any(target.covers(root, path) for target in targets)]:
                self.warnings += (f"{root.source}: no item is signed by {named_files(strays)} [stray-signature]",)
            if empty:
                self.warnings += (f"{root.source}: there are no items in {root.path}",)

    def _files_of(self, root: Root) -> FilesOfClients | None:
        """Return what the search for projects found at the top of one; None if it was not walked over."""
        if root.client is None or not root.client.is_fixed:
            return None
        return next((files for target in self.targets if (files := target.below.files.get(root.path))), None)

    def _entries(self, root: Root, found: Found) -> Iterator[ItemFile | ItemError]:
        """Yield the files of a root folder by folder, and errors about unlistable files; record the non-items."""
        walk, spelled = Walk(root, whole=True, without=self.without), list[ItemFile]()
        for listing in walk:
            paths = [row.path for row in listing.of(Role.ITEM)]
            paths.sort(key=lambda path: not path.endswith(f"/{SKILL_FILE}"))  # it stands for its skill
            files = [*map(root.file, paths)]
            yield from files
            if listing.folder.path.isascii():  # duplicates lie in one folder, unless its name has two spellings
                yield from duplicates(files)
            else:
                spelled += files
            yield from walk.take_problems()
            found.add(listing)
        yield from duplicates(spelled)
        yield from walk.take_problems()
        self._note_repositories(root, walk.repositories)

    def _note_repositories(self, root: Root, paths: Sequence[str]) -> None:
        """Say which repositories of their own are not verified with a root; a problem if all of it must be covered."""
        if paths and root not in self.strict_roots:
            self.warnings += (f"{root.source}: repositories of their own are not verified here: {named_files(paths)}",)
        for path in paths if root in self.strict_roots else ():
            full, hint = f"{root.path}/{path}", "verify it by its path, or leave it out: --exclude"
            if not any(is_within(full, folder) for folder in self.without):
                message = f"{root.source}: {path} is a repository of its own that was not verified"
                self._problems.append(Unchecked(message, "nested-repository", hint, full))

    def uncovered(self, root: Root) -> tuple[list[ListedFile], bool]:
        """Return the non-items of a strict root, and whether the list is complete; known at the end."""
        found = self._found.get(root, Found())
        imports = [ListedFile(path, PLAIN) for path in sorted({*self._imports[root]})]
        return found.loose + imports, found.is_complete


def stream_outcomes(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    without: Sequence[Path] | None = None,
    digests: bool = True,
    processes: int | None = 1,
    progress: Progress | None = None,
) -> OutcomeStream:
    """Prepare the verification of the files that the texts name; only trust files are read before the iteration.

    Args:
        texts: Paths, references or scopes; none means everything.
        layout: The spaces.
        space: The space to look in.
        named_trust: Trust files that are treated as the user's own.
        without: Folders below the project that are not searched for projects; None searches for no projects at all.
        digests: Whether trusted items have a ``digest`` too.
        processes: Maximum number of processes; None for one on each processor.
        progress: Called during the work.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    targets = read_targets(texts, layout, space, without=without)
    everywhere = layout.in_space(space)
    by_path = [root for target in targets if target.roots != everywhere for root in target.roots]
    named = (*layout.named, *by_path, *(everywhere if space == "system" else ()))
    extended = layout._replace(roots=tuple(dict.fromkeys((*layout.roots, *by_path))), named=named)
    now = system_clock()
    load = with_lists(extended.load_trust(named_trust), extended.roots, now)
    unread = {folder.fault.message for folder in load.unreadable}
    return OutcomeStream(
        extended,
        targets,
        Verifier(load.trust, now, digests),
        (
            *layout.warnings,
            *(f"{source} is left out by --client or RYE_CLIENTS, and not verified" for source in layout.left_out),
            *(f"left out: {entry}" for entry in without or ()),
            *filter(None, (target.below.unsearched for target in targets)),
            *(text for text in load.warnings if text not in unread),
            *filter(None, [load.emptiness]),
        ),
        named=tuple(dict.fromkeys((*layout.named, *by_path))),
        processes=cores() if processes is None else max(1, processes),
        progress=progress,
        space=space,
        without=tuple(map(os.path.abspath, without or ())),
        _all_named=not texts,
        _problems=[*map(_of_trust_folder, load.unreadable), *_of_folders(targets)],
    )


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


def _is_other(root: Root) -> bool:
    """Return whether a root is a project named by its path, whose items do not shadow the layout's."""
    return root.space is Space.PROJECT and bool(root.bundle)
