"""Many files on every core: this process and its helpers verify chunks, and results come in the order of the files.

Helpers are started only when there are enough files to be worth it; :mod:`rye._process` says how work is shared with
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, cast

from rye._process import serve, spread, start_workers
from rye.spaces import NAMED_OTHERS, FolderReader, ItemFile, Root, Space
from rye.trust import Ownership, Signature, others_below
from rye.verify.check import Verifier
from rye.verify.reports import Exposed, Outcome, Unchecked, VerifiedItem

Place = tuple[int, ItemFile]
"""Which of the roots, and the file in it."""

_Packed = tuple[Any, ...]
"""A place or an outcome as plain tuples, which are sent in a third of the time that the types of their own take."""

SERIAL_BELOW = 512
"""Fewer files than this are verified in this process alone: starting another takes as long."""

_CHUNK = 128
_AHEAD = 3


def verify_files(
    files: Iterable[Place],
    roots: Sequence[Root],
    verifier: Verifier,
    *,
    processes: int,
    alone_below: int = SERIAL_BELOW,
    chunk_size: int = _CHUNK,
) -> Iterator[Outcome | Exposed]:
    """Yield the outcome of each file, in their order, and what others may have written among them.

    Args:
        files: The files, each with the number of its root; taken as needed.
        roots: The roots those numbers mean.
        verifier: Judges each of them.
        processes: How many processes may work, this one among them.
        alone_below: Fewer files than this are verified in this process alone.
        chunk_size: How many files a process takes at a time.
    """
    left = iter(files)
    first = list(islice(left, alone_below if processes > 1 else 0))
    every = chain(first, left)
    chunks = iter(lambda: list(islice(every, chunk_size)), [])
    if len(first) < alone_below or processes < 2:
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
    alone = (Unchecked, Exposed)
    return [(each,) if isinstance(each, alone) else (*each[:5], tuple(each.signature), *each[6:]) for each in outcomes]


def _unpacked(packed: _Packed) -> Outcome | Exposed:
    if len(packed) == 1:
        return cast("Unchecked | Exposed", packed[0])
    item = VerifiedItem._make(packed)
    return item._replace(signature=Signature._make(item.signature))


def _check_all(verifier: Verifier, roots: Sequence[Root], chunk: list[Place]) -> list[Outcome | Exposed]:
    reader = FolderReader()
    try:
        outcomes: list[Outcome | Exposed] = []
        for number, places in groupby(chunk, itemgetter(0)):
            root = roots[number]
            owners = reader.owners = dict[str, Ownership]()
            outcomes += verifier.check_all(root, map(itemgetter(1), places), reader.read)
            if others := others_below(root.path, owners, group=root.space is Space.USER):
                outcomes.append(Exposed(number, tuple(others[: NAMED_OTHERS + 1])))
        return outcomes
    finally:
        reader.close()
