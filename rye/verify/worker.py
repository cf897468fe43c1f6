"""Computes the verdicts on many files from their bytes, on every core, with the same code as search and show.

This process and its helpers verify chunks, and results come in the order of the files. Helpers are started only if
there are enough files to be worth it; :mod:`rye._process` describes how work is shared with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, cast

from rye._process import serve, spread, start_workers
from rye._text import BOM, composed, front_matter
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.hidden import describe_hidden
from rye.items.model import ItemType
from rye.items.reader import declared
from rye.spaces.lists import list_key
from rye.spaces.model import ItemFile, Root
from rye.spaces.read import FolderReader, Read, read_file
from rye.spaces.shadowing import MAX_HIDING_WARNINGS, cut_short, foreign_copy
from rye.spaces.signed import Detached, read_signed
from rye.spaces.snapshot import names
from rye.spaces.uncovered import uncovered_imports
from rye.trust.evidence import inspect, with_declared
from rye.trust.judge import judge
from rye.trust.list import Skill, SkillFolder
from rye.trust.model import EnvelopeFormat, Evidence, Place, Placement, Signature, Verdict
from rye.trust.trust_set import TrustSet
from rye.verify.report import Outcome, Unchecked, VerifiedItem, conflict_in

_Inspected = tuple[Root, ItemFile, bytes, Place, Evidence, SkillFolder | None]
"""Root, file, bytes, origin, evidence, and the skill that covers the file."""

_NOTHING: Mapping[str, str] = {}
_TYPES = {item_type: item_type.value for item_type in ItemType}
_V2 = EnvelopeFormat.V2.value
_TRUSTED, _UNSIGNED = Verdict.TRUSTED, Verdict.UNSIGNED
_INSIDE = Placement.FRONT_MATTER
_SHEBANGS = (b"#!", BOM + b"#!")


@dataclass(frozen=True, slots=True)
class Verifier:
    """Judges files under the trust set and time of one run; ``digests`` gives trusted items a ``digest`` too.

    A file's statements about itself (name, category, type, id) are read only for lines of older formats, where they can
    change the verdict; and for an unsigned file, because a file that is not an item at all is not an unsigned item.
    """

    trust: TrustSet
    now: datetime
    digests: bool = True
    _skills: dict[str, SkillFolder] = field(default_factory=dict, repr=False, compare=False)
    """The skill that was read last, so that each is read once for all of its items."""

    def check(self, root: Root, file: ItemFile, read: Read = read_file) -> Outcome:
        """Read one file and return the verdict on exactly these bytes, or why there is none."""
        return self.check_all(root, [file], read)[0]

    def check_all(self, root: Root, files: Iterable[ItemFile], read: Read) -> list[Outcome]:
        """Return the outcomes of some files of a root, in their order.

        All files are read, then all inspected, before the first signature is checked. Alternating for each file would
        empty the processor's caches and take a tenth longer.
        """
        contents = [(file, _content(root, file, read, self._skills)) for file in files]
        inspected = [_inspect(root, file, content) for file, content in contents]
        return [result if isinstance(result, Unchecked) else self._judge(result) for result in inspected]

    def _judge(self, inspected: _Inspected) -> Outcome:
        root, file, data, origin, evidence, skill = inspected
        trust, now = self.trust, self.now
        signature = judge(evidence, origin=origin, trust=trust, now=now)
        if signature.verdict is _UNSIGNED:
            try:  # a file that is not an item at all is not an unsigned item
                _with_declared(evidence, data, file, origin)
            except ItemError as error:
                return Unchecked.of(error, f"{root.path}/{file.rel_path}")
        line = _line(data, file.suffix, evidence)
        whole = skill if skill and file.rel_path == f"{skill.id}/{SKILL_FILE}" else None
        hidden = "; ".join(filter(None, (describe_hidden(data, file.suffix), *(whole.hidden if whole else ()))))
        of_file, digest, is_listed = "", "", list_key(root) in self.trust.lists
        if self.digests or hidden or is_listed or signature.verdict is not _TRUSTED:  # what may be looked up later
            of_file = sha256(data).hexdigest()
            digest = sha256(f"{skill.digest}\n".encode() + data).hexdigest() if skill else of_file
        conflict = conflict_in(data, signature.code)
        imports = tuple(uncovered_imports(root, file, data)) if root.client else ()
        known = whole.files if whole and is_listed else ()
        return VerifiedItem(root, file, signature, line, digest, len(data), hidden, of_file, conflict, imports, known)


_Content = tuple[bytes, Detached] | ItemError
"""The result of :func:`read_signed`, or the error."""


def _content(root: Root, file: ItemFile, read: Read, skills: dict[str, SkillFolder]) -> _Content:
    try:
        return read_signed(root, file.rel_path, read, skills=skills)
    except ItemError as error:
        return error


def _inspect(root: Root, file: ItemFile, content: _Content) -> _Inspected | Unchecked:
    """Return the input of :meth:`Verifier._judge`, or why there can be no verdict."""
    if isinstance(content, ItemError):
        return Unchecked.of(content, f"{root.path}/{file.rel_path}")
    data, detached = content
    origin = root.origin(_TYPES[file.item_type], file.item_id, file.rel_path)
    evidence = inspect(data, origin=origin, declared=_NOTHING, suffix=file.suffix, content_digest="", detached=detached)
    if evidence.format != _V2 and not evidence.code:
        try:
            evidence = _with_declared(evidence, data, file, origin)
        except ItemError as error:
            return Unchecked.of(error, f"{root.path}/{file.rel_path}")
    return root, file, data, origin, evidence, detached.folder if isinstance(detached, Skill) else None


def _with_declared(evidence: Evidence, data: bytes, file: ItemFile, origin: Place) -> Evidence:
    stated = declared(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix, path=file.rel_path)
    return with_declared(evidence, stated, origin)


def _line(data: bytes, suffix: str, evidence: Evidence) -> int:
    """Return the 1-based line of the signature, or the line where it would have to be."""
    if evidence.code == "envelope-elsewhere":
        return int(evidence.detail)
    is_second = evidence.placement is _INSIDE or (data.startswith(_SHEBANGS) and b"\n" in data)
    return 2 if is_second or front_matter(data, suffix) else 1


Numbered = tuple[int, ItemFile]
"""The number of a root, and a file in it."""

_Packed = tuple[Any, ...]
"""A place or an outcome as plain tuples, which are sent three times as fast as their own types."""

SERIAL_BELOW = 512
"""Fewer files than this are verified in this process alone, because starting another takes as long."""

_CHUNK = 128
_AHEAD = 3


def verify_files(
    files: Iterable[Numbered],
    roots: Sequence[Root],
    verifier: Verifier,
    *,
    processes: int,
    alone_below: int = SERIAL_BELOW,
    chunk_size: int = _CHUNK,
) -> Iterator[Outcome]:
    """Yield the outcome of each file, in order.

    Args:
        files: The files, each with the number of its root; taken as needed.
        roots: The roots with these numbers.
        verifier: Judges each file.
        processes: Maximum number of processes, including this one.
        alone_below: Fewer files than this are verified in this process alone.
        chunk_size: Number of files that a process takes at a time.
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
            yield from (_unpacked(packed, roots) for packed in outcomes)


def help_out() -> None:
    """Verify the chunks of files that another process sends."""
    serve(lambda setup: partial(_check_packed, *setup))


def _check_packed(roots: Sequence[Root], verifier: Verifier, chunk: Sequence[_Packed]) -> list[_Packed]:
    outcomes = _check_all(verifier, roots, [(number, ItemFile(*file)) for number, *file in chunk])
    numbers = {id(root): number for number, root in enumerate(roots)}
    return [
        (numbers[id(outcome.root)], tuple(outcome.file), tuple(outcome.signature), *outcome[3:])
        if isinstance(outcome, VerifiedItem)
        else (outcome,)
        for outcome in outcomes
    ]


def _unpacked(packed: _Packed, roots: Sequence[Root]) -> Outcome:
    if len(packed) == 1:
        return cast("Unchecked", packed[0])
    number, file, signature, *rest = packed
    return VerifiedItem(roots[number], ItemFile._make(file), Signature._make(signature), *rest)


def _check_all(verifier: Verifier, roots: Sequence[Root], chunk: list[Numbered]) -> list[Outcome]:
    reader, outcomes = FolderReader(), list[Outcome]()
    try:
        for number, places in groupby(chunk, itemgetter(0)):
            outcomes += verifier.check_all(roots[number], map(itemgetter(1), places), reader.read)
        return outcomes
    finally:
        reader.close()


def duplicates(files: Iterable[ItemFile]) -> Iterator[ItemError]:
    """Yield ``ambiguous-item`` for each of some files whose type and id another of them has too.

    One signature is valid for all of these, because it binds type and id in Unicode normal form C.
    """
    groups = defaultdict[tuple[ItemType, str], list[str]](list)
    for file in files:
        groups[file.item_type, composed(file.item_id)].append(file.rel_path)
    for (item_type, item_id), paths in groups.items():
        if len(paths) > 1:
            # escapes distinguish letters that only look the same
            names = ", ".join(path if path.isascii() else f"{path} ({path!a})" for path in paths)
            message = f"{item_type} {item_id!r} is in {len(paths)} files: {names}"
            hint = "keep one of them, because an id must name one file"
            for path in paths:
                yield ItemError("ambiguous-item", f"{path}: {message}", hint=hint, path=path, paths=paths)


_FOLDERS: Final = 1 << 10
_Items = Callable[[str], Mapping[tuple[str, str], tuple[ItemFile, ...]]]


class Shadowing:
    """Finds the shadowed copies of verified items. Memory does not grow with the number of items.

    Args:
        roots: All spaces, highest priority first.
        verifier: Judges the copies in the same way as the items.
    """

    def __init__(self, roots: Sequence[Root], verifier: Verifier) -> None:
        # per root, because hashing a root takes longer than the rest of a lookup
        self._roots = [(root, lru_cache(_FOLDERS)(partial(_items_in, root))) for root in roots]
        self._verifier = verifier
        self._place = {root.source: at for at, root in enumerate(roots)}
        self._lower = lru_cache(_FOLDERS)(self._find_lower)
        self._said: list[str] = []
        self._more = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """The first warnings, and how many more there are."""
        return cut_short(self._said, self._more)

    def look(self, item: VerifiedItem) -> None:
        """Record a warning if an item shadows one that another key signed."""
        for root, items_in in self._lower(item.root.source, item.type, item.id.rpartition("/")[0]):
            folder = root.folder_of(ItemType(item.type), item.id)
            for file in items_in(folder).get((item.type, item.id), ()):
                self._compare(item, root, file)

    def _find_lower(self, source: str, item_type: str, above: str) -> list[tuple[Root, _Items]]:
        """Return the roots of lower priority that may have such items, each with the function that lists a folder."""
        folder = f"{ItemType(item_type).folder}/{above}".rstrip("/")
        lower = self._roots[self._place.get(source, len(self._roots)) + 1 :]
        return [(root, items_in) for root, items_in in lower if root.client or items_in(folder)]

    def _compare(self, item: VerifiedItem, root: Root, file: ItemFile) -> None:
        if f"{root.path}/{file.rel_path}" == item.path:
            return
        copy = self._verifier.check(root, file)
        if not isinstance(copy, VerifiedItem):
            return
        text = foreign_copy(item.ref, (item.root.source, item.signature), (root.source, copy.signature))
        if text and len(self._said) < MAX_HIDING_WARNINGS:
            self._said.append(text)
        elif text:
            self._more += 1


def _items_in(root: Root, folder: str) -> Mapping[tuple[str, str], tuple[ItemFile, ...]]:
    """Return the item files in a folder, by type and id; several files may share an id."""
    items: dict[tuple[str, str], tuple[ItemFile, ...]] = {}
    for name in names(f"{root.path}/{folder}"):
        if file := root.find(f"{folder}/{name}" if folder else name):
            key = file.item_type, file.item_id
            items[key] = (*items.get(key, ()), file)
    return items
