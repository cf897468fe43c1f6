"""Many files on every core: this process and its helpers work off chunks, and results come in the order of the files.

Helpers are started only when there are enough files to be worth it; :mod:`rye._process` says how work is shared with
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from rye import signing, spaces
from rye._process import cores, serve, spread, start_workers
from rye.errors import ItemError, RyeError
from rye.signing import Signature, TrustScope, TrustSet, UnreadTrust
from rye.spaces import FolderReader, ItemFile, Root, Space
from rye.spaces.layout import Layout
from rye.spaces.targets import Target, read_targets
from rye.verify.check import Outcome, Shadowing, Verifier, with_twins
from rye.verify.reports import Unchecked, VerifiedItem

__all__ = ["Checking", "Progress", "start_checking", "verify_files"]

Place = tuple[int, ItemFile]
"""Which of the roots, and the file in it."""

_Packed = tuple[Any, ...]
"""A place or an outcome as plain tuples, which are sent in a third of the time that the types of their own take."""

SERIAL_BELOW = 512
"""Fewer files than this are verified in this process alone: starting another takes as long."""

_CHUNK = 128
_AHEAD = 3


def verify_files(
    files: Iterable[Place], roots: Sequence[Root], verifier: Verifier, *, processes: int
) -> Iterator[Outcome]:
    """Yield the outcome of each file, in their order.

    Args:
        files: The files, each with the number of its root; taken as needed.
        roots: The roots those numbers mean.
        verifier: Judges each of them.
        processes: How many processes may work, this one among them.
    """
    left = iter(files)
    first = list(islice(left, SERIAL_BELOW if processes > 1 else 0))
    every = chain(first, left)
    chunks = iter(lambda: list(islice(every, _CHUNK)), [])
    if len(first) < SERIAL_BELOW or processes < 2:
        for chunk in chunks:
            yield from _check_all(verifier, roots, chunk)
        return
    with start_workers(processes - 1, __name__, (tuple(roots), verifier), work=help_out) as workers:
        packed = ([(number, *file) for number, file in chunk] for chunk in chunks)
        for outcomes in spread(packed, partial(_check_packed, tuple(roots), verifier), workers, ahead=_AHEAD):
            yield from map(_unpacked, outcomes)


def help_out() -> None:
    """Verify the chunks of files that another process sends."""
    serve(lambda setup: partial(_check_packed, *setup))


def _check_packed(roots: Sequence[Root], verifier: Verifier, chunk: Sequence[_Packed]) -> list[_Packed]:
    outcomes = _check_all(verifier, roots, [(number, ItemFile(*file)) for number, *file in chunk])
    return [
        (each,) if isinstance(each, Unchecked) else (*each[:5], tuple(each.signature), *each[6:]) for each in outcomes
    ]


def _unpacked(packed: _Packed) -> Outcome:
    if len(packed) == 1:
        return cast("Unchecked", packed[0])
    item = VerifiedItem._make(packed)
    return item._replace(signature=Signature._make(item.signature))


def _check_all(verifier: Verifier, roots: Sequence[Root], chunk: list[Place]) -> list[Outcome]:
    reader = FolderReader()
    try:
        outcomes: list[Outcome] = []
        for number, places in groupby(chunk, itemgetter(0)):
            outcomes += verifier.check_all(roots[number], map(itemgetter(1), places), reader.read)
        return outcomes
    finally:
        reader.close()


Progress = Callable[[int, int, str], None]
"""Called with the files verified, 0 as their number is not known beforehand, and an empty source."""

Wanted = Callable[[Root, ItemFile], bool]
LeftOut = Callable[[Root, ItemFile], None]


@dataclass(slots=True)
class Checking:
    """One run over what the texts name: iterate over it once for a verdict, or the reason for none, on each file.

    Attributes:
        layout: The spaces, with those that a path among the texts added.
        warnings: Keys and bundles that could not be used; in the end, items that hide one of another signer.
        self_vouched: A sentence on each bundle, named by a caller or a path, whose keys only itself vouches for.
        passed_over: Number of files that were named but, being unchanged, left out; known at the end.
    """

    layout: Layout
    warnings: tuple[str, ...]
    self_vouched: tuple[str, ...] = ()
    passed_over: int = 0
    _targets: tuple[Target, ...] = ()
    _all_named: bool = True
    _verifier: Verifier | None = None
    _wanted: Wanted | None = None
    _processes: int = 1
    _progress: Progress | None = None
    _left_out: LeftOut | None = None
    _told: tuple[Root, ...] = ()
    _problems: list[Unchecked] = field(default_factory=list)

    @property
    def verifier(self) -> Verifier:
        """What judges the files: trust set and moment of the run."""
        assert self._verifier is not None
        return self._verifier

    def tell_all(self, left_out: LeftOut, roots: Sequence[Root]) -> None:
        """Give every item its ``digest``, and call ``left_out`` with each file of some roots that was not named."""
        self._verifier = replace(self.verifier, digests=True)
        self._left_out, self._told = left_out, tuple(roots)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots that are looked at."""
        return tuple(root for root in self.layout.roots if any(root in target.roots for target in self._targets))

    @property
    def whole(self) -> tuple[Root, ...]:
        """Those of them of which everything was named."""
        return tuple(root for root in self.roots if any(root in target.whole for target in self._targets))

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes: files in the order of roots and folders, then targets that matched nothing."""
        matched: set[str] = set()
        roots = self.roots
        outcomes = verify_files(self._files(roots, matched), roots, self.verifier, processes=self._processes)
        shadowing = Shadowing([root for root in self.layout.roots if not _is_other(root)], self.verifier)
        for done, outcome in enumerate(outcomes, 1):
            if isinstance(outcome, VerifiedItem):
                shadowing.look(outcome)
            yield outcome
            if self._progress is not None:
                self._progress(done, 0, "")
        self.warnings += shadowing.warnings
        yield from self._problems
        if not self._all_named:
            for target in self._targets:
                if target.text not in matched and not target.problems:
                    yield Unchecked(
                        f"nothing matches {target.text!r}", "no-match", "rye search --ids lists what there is"
                    )

    def _files(self, roots: tuple[Root, ...], matched: set[str]) -> Iterator[tuple[int, ItemFile]]:
        """Yield the files of the roots that any target names, noting which targets did and what could not be listed."""
        for number, root in enumerate(roots):
            targets = [target for target in self._targets if root in target.roots]
            empty = _is_other(root)
            for file in with_twins(spaces.walk_along(root)):
                if isinstance(file, ItemError):
                    rel = str(file.details["path"])
                    # a manifest is of all that is in the root, whatever was named
                    if root not in self._told and not any(target.covers(root, rel) for target in targets):
                        continue
                    path, empty = f"{root.path}/{rel}", False
                    self._problems.append(Unchecked(f"{root.source}: {file.message}", file.code, file.hint, path))
                    continue
                empty = False
                if not self._all_named:
                    naming = [target.text for target in targets if target.accepts(root, file)]
                    if not naming:
                        self._leave_out(root, file)
                        continue
                    matched.update(naming)
                if self._wanted is None or self._wanted(root, file):
                    yield number, file
                else:
                    self.passed_over += 1
                    self._leave_out(root, file)

            if empty:
                self.warnings += (f"{root.source}: there are no items in {root.path}",)

    def _leave_out(self, root: Root, file: ItemFile) -> None:
        if self._left_out is not None and root in self._told:
            self._left_out(root, file)


def start_checking(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    wanted: Callable[[Sequence[Root]], Wanted] | None = None,
    digests: bool = True,
    processes: int | None = 1,
    progress: Progress | None = None,
) -> Checking:
    """Prepare the verification of what the texts name; nothing but trust files is read before it is iterated over.

    Args:
        texts: Paths, references or scopes; none means everything.
        layout: The spaces.
        space: Which of them to look in.
        named_trust: Trust files that count as the user's own.
        wanted: Given the roots, returns what tells which of the named files to verify; None for all.
        digests: Whether items that are trusted, too, are to have a ``digest``.
        processes: How many may work; None for one on each processor.
        progress: Called while it goes on.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    targets = read_targets(texts, layout, space)
    everywhere = layout.in_space(space)
    by_path = [root for target in targets if target.roots != everywhere for root in target.roots]
    named = (*layout.named, *by_path, *(everywhere if space == "system" else ()))
    extended = replace(layout, roots=tuple(dict.fromkeys((*layout.roots, *by_path))), named=named)
    load = extended.load_trust(named_trust)
    doubts = {each.message: each for each in load.doubts}
    told = (text for text in load.warnings if text not in doubts)
    checking = Checking(
        extended,
        (
            *layout.warnings,
            *told,
            *((load.emptiness,) if load.emptiness else ()),
        ),
        _targets=targets,
        _all_named=not texts,
        _verifier=Verifier(load.trust, signing.system_clock(), digests),
        _processes=cores() if processes is None else max(1, processes),
        _progress=progress,
        _problems=[
            *(_not_known(text, each) for text, each in doubts.items()),
            *dict.fromkeys(_not_seen(problem) for target in targets for problem in target.problems),
        ],
    )
    by_name = dict.fromkeys((*layout.named, *extended.roots[len(layout.roots) :]))
    checking.self_vouched = tuple(_self_vouched((root for root in by_name if root in checking.roots), load.trust))
    if wanted is not None:
        checking._wanted = wanted(checking.roots)  # noqa: SLF001 - its own factory
    return checking


def _is_other(root: Root) -> bool:
    """Return whether a root is a project named by its path, whose items hide none of the layout's."""
    return root.space is Space.PROJECT and bool(root.bundle)


def _not_known(text: str, unread: UnreadTrust) -> Unchecked:
    """Say that nothing could be checked in full, for whatever key a file revokes that cannot be read."""
    return Unchecked(
        f"{text}; which key it is about, and may revoke, is not known",
        unread.fault.code,
        unread.fault.hint,
        str(unread.path),
    )


def _not_seen(problem: RyeError) -> Unchecked:
    """Say of what may be a project that it was not looked at."""
    return Unchecked(problem.message, problem.code, problem.hint, str(problem.details["path"]))


def _self_vouched(roots: Iterable[Root], trust: TrustSet) -> Iterator[str]:
    """Say of each bundle whose own keys, and nobody else, vouch for its items."""
    for root in roots:
        own = [entry for entry in trust.entries if entry.scope is TrustScope.BUNDLE and entry.bundle == root.bundle]
        if any(not any(each.scope.is_anchor for each in trust.named(entry.fingerprint)) for entry in own):
            yield (
                f"{root.source}: nobody but the bundle itself vouches for its keys: name a key that you know with "
                "--signer, or demand one with --policy"
            )
