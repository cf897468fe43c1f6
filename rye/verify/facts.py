"""Finds the facts of a verification: the verdict on each file from its bytes, and what lies beside the items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from rye._files import others_below
from rye._process import cores
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.spaces.classify import Role
from rye.spaces.discover import files_warning
from rye.spaces.found import Found
from rye.spaces.git import ignored_below
from rye.spaces.model import ItemFile, Root, Space, is_within
from rye.spaces.targets import Target, may_name, naming
from rye.spaces.uncovered import named_files
from rye.spaces.walk import Walk
from rye.verify.report import Outcome, Unchecked, VerifiedItem
from rye.verify.subject import Subject
from rye.verify.worker import Shadowing, duplicates, verify_files

Progress = Callable[[int, int, str], None]
"""Called with the number of verified files, the number of all files, and an empty source."""

_AHEAD = 4096
"""Number of files listed before they are verified; alternating for each file would be slower."""


class Note(NamedTuple):
    """A warning: something that does not fail the verification."""

    text: str


class Beside(NamedTuple):
    """What lies beside the items of a root.

    Attributes:
        root: The root.
        found: What the walk over it found.
        imports: Non-items that its instruction files import.
    """

    root: Root
    found: Found
    imports: tuple[str, ...] = ()


Fact = Outcome | Note | Beside


class _Named(NamedTuple):
    """A file to verify: the number of its root, and the texts that name it if there are any."""

    number: int
    file: ItemFile
    texts: tuple[str, ...] = ()


def facts(subject: Subject, *, processes: int | None = 1, progress: Progress | None = None) -> Iterator[Fact]:
    """Yield the outcome of each file in the order of roots and folders, then what lies beside them.

    Args:
        subject: What is verified.
        processes: Maximum number of processes; None for one on each processor.
        progress: Called during the work.
    """
    aside, matched, is_empty = list[Unchecked | Note | Beside](subject.problems), set[str](), True

    def files() -> Iterator[tuple[int, ItemFile]]:
        nonlocal is_empty
        for entry in _listed(subject):
            if isinstance(entry, _Named):
                matched.update(entry.texts)
                is_empty = False
                yield entry.number, entry.file
            else:
                aside.append(entry)

    imports = defaultdict[Root, list[str]](list)
    for outcome in _verified(
        subject, files(), processes=cores() if processes is None else processes, progress=progress
    ):
        if isinstance(outcome, VerifiedItem):
            imports[outcome.root] += outcome.imports
        yield outcome
    for entry in aside:
        yield entry._replace(imports=tuple(imports[entry.root])) if isinstance(entry, Beside) else entry
    is_empty = is_empty and not any(isinstance(entry, Unchecked) for entry in aside)
    if subject.is_all and is_empty and (text := subject.layout.describe_empty(subject.space)):
        yield Note(text)
    for target in () if subject.is_all else subject.targets:
        if target.text not in matched and not target.below.problems:
            hint = "rye list --format ids lists what there is"
            yield Unchecked(f"nothing matches {target.text!r}", "no-match", hint)


def _verified(
    subject: Subject, files: Iterator[tuple[int, ItemFile]], *, processes: int, progress: Progress | None
) -> Iterator[Outcome | Note]:
    """Yield the outcomes of some files, then notes on copies that they hide."""
    roots, verifier = subject.roots, subject.verifier
    # count files only for progress, because that keeps all of them in memory
    counted = None if progress is None else list(files)
    batches = iter(lambda: list(islice(files, _AHEAD)), [])
    listed = chain.from_iterable(batches) if counted is None else counted
    shadowing = Shadowing([root for root in subject.layout.roots if not _is_other(root)], verifier)
    for done, outcome in enumerate(verify_files(listed, roots, verifier, processes=processes), 1):
        if isinstance(outcome, VerifiedItem):
            shadowing.look(outcome)
        yield outcome
        if progress is not None:
            progress(done, len(counted or ()), "")
    yield from map(Note, shadowing.warnings)


def _listed(subject: Subject) -> Iterator[_Named | Unchecked | Note | Beside]:
    """Yield the files that the texts name, root by root, and after those of each what lies beside them."""
    for number, root in enumerate(subject.roots):
        targets = [target for target in subject.targets if root in target.roots]
        names_of, found, count = naming(targets, root), Found(), 0
        known, walk = subject.files_of(root), _walk(subject, root, targets)
        if known:
            found = known.found
        rows = chain[ItemFile | ItemError](known.items, duplicates(known.items)) if known else _entries(walk, found)
        for entry in rows:
            if isinstance(entry, ItemError):
                path = str(entry.details["path"])
                if may_name(targets, root, path):
                    count += 1
                    yield Unchecked.of(entry, f"{root.path}/{path}", root)
                continue
            count += 1
            texts = () if subject.is_all else tuple(target.text for target in names_of(entry))
            if subject.is_all or texts:
                yield _Named(number, entry, texts)
        yield from _of_repositories(subject, root, walk.repositories)
        if strays := [path for path in found.strays if may_name(targets, root, path)]:
            yield Note(f"{root.source}: no item is signed by {named_files(strays)} [stray-signature]")
        if not count and _is_other(root) and not _has_clients(subject, root):
            yield Note(f"{root.source}: there are no items in {root.path}")
        foreign = others_below(root.path, found.foreign, group=root.space is Space.USER)
        if warning := files_warning(root, foreign):
            yield Note(warning)
        yield Beside(root, found)


def _walk(subject: Subject, root: Root, targets: Sequence[Target]) -> Walk:
    """Return the walk over a root; of a project folder, only what a text may name, unless all of it must be covered."""
    is_narrow = not (subject.is_all or root in subject.strict_roots)
    only = partial(may_name, targets, root) if is_narrow else None
    is_project = root.client is not None and root.client.is_fixed
    ignored = ignored_below(root.path) if is_project and not subject.files_of(root) else frozenset[str]()
    return Walk(root, whole=True, without=subject.left_out | ignored, only=only)


def _entries(walk: Walk, found: Found) -> Iterator[ItemFile | ItemError]:
    """Yield the files of a root folder by folder, and errors about unlistable files; record the non-items."""
    spelled = list[ItemFile]()
    for listing in walk:
        paths = [row.path for row in listing.of(Role.ITEM)]
        paths.sort(key=lambda path: not path.endswith(f"/{SKILL_FILE}"))  # it stands for its skill
        files = [*map(listing.folder.root.file, paths)]
        yield from files
        if listing.folder.path.isascii():  # duplicates lie in one folder, unless its name has two spellings
            yield from duplicates(files)
        else:
            spelled += files
        yield from walk.take_problems()
        found.add(listing)
    yield from duplicates(spelled)
    yield from walk.take_problems()


def _of_repositories(subject: Subject, root: Root, paths: Sequence[str]) -> Iterator[Unchecked | Note]:
    """Say which repositories of their own are not verified with a root; a problem if all of it must be covered."""
    if paths and root not in subject.strict_roots:
        yield Note(f"{root.source}: repositories of their own are not verified here: {named_files(paths)}")
    for path in paths if root in subject.strict_roots else ():
        full, hint = f"{root.path}/{path}", "verify it by its path, or leave it out: --exclude"
        if not any(is_within(full, folder) for folder in subject.left_out):
            message = f"{root.source}: {path} is a repository of its own that was not verified"
            yield Unchecked(message, "nested-repository", hint, full)


def _is_other(root: Root) -> bool:
    """Return whether a root is a project named by its path, whose items do not shadow the layout's."""
    return root.space is Space.PROJECT and bool(root.bundle)


def _has_clients(subject: Subject, root: Root) -> bool:
    return any(other.client and other.around == root.around for other in subject.roots)
