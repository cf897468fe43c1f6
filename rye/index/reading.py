"""One file of a space as it is at this moment: read, parsed and inspected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import splitext

from rye import _process as stopping
from rye import items, signing, spaces
from rye.errors import ItemError
from rye.index.file_list import Problem
from rye.index.relations import edges_of
from rye.index.schema import Place
from rye.index.segment_builder import SegmentBuilder
from rye.signing import Evidence, Origin
from rye.spaces import ItemFile, Root


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One file as it is on disk at this moment: bytes, item and what the bytes prove."""

    data: bytes
    item: items.Item
    evidence: Evidence
    origin: Origin
    suffix: str


def read_item(root: Root, path: str, item_type: items.ItemType, item_id: str) -> ReadItem:
    """Read, parse and inspect one file.

    Args:
        root: The space root.
        path: Path of the file relative to the root.
        item_type: What the path says it is.
        item_id: The id that the path gives it.

    Raises:
        ItemError: The file cannot be read, or is no item.
    """
    if not path.isprintable():
        code, message = "bad-name", f"{path!r}: the file name has characters that no item id may have"
        raise ItemError(code, message, hint="rename the file", path=path)
    origin = Origin(root.space, root.bundle, str(item_type), item_id)
    return take_item(spaces.read_file(root, path), origin, path)


def take_item(data: bytes, origin: Origin, path: str, *, content_digest: str | None = None) -> ReadItem:
    """Parse and inspect the bytes of a file.

    Args:
        data: All of them.
        origin: Where they were found.
        path: The same as a path, whose extension decides the format.
        content_digest: Their SHA-256 where the caller has it.

    Raises:
        ItemError: The file is no item.
    """
    suffix = splitext(path)[1].lower()
    item = items.parse(data, item_type=items.ItemType(origin.item_type), item_id=origin.item_id, suffix=suffix)
    evidence = signing.inspect(
        data, origin=origin, declared=item.declared, suffix=suffix, content_digest=content_digest
    )
    return ReadItem(data, item, evidence, origin, suffix)


@dataclass(frozen=True, slots=True)
class Digest:
    """What came of reading some files, besides the items: those whose bytes are as before, and those that are none."""

    same: tuple[str, ...]
    problems: tuple[Problem, ...]


def read_files(
    root: Root,
    files: Sequence[ItemFile],
    digests: Mapping[str, str],
    builder: SegmentBuilder,
    *,
    told: Callable[[int], None] = lambda _done: None,
) -> Digest:
    """Add the items of files to a builder.

    Args:
        root: The space root.
        files: The files to read, in the order of their documents.
        digests: By path, the SHA-256 of the bytes of what is indexed already; what is unchanged is not added.
        builder: Takes the items.
        told: Called with the number of files done before each file.

    Raises:
        CancelledError: It has been cancelled.
    """
    same: list[str] = []
    problems: list[Problem] = []
    for done, file in enumerate(files):
        stopping.check()
        told(done)
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            problems.append(Problem(file.rel_path, error.code, error.message))
            continue
        if digests.get(file.rel_path) == read.evidence.content_digest:
            same.append(file.rel_path)
        else:
            place = Place(root.space, root.bundle, file.rel_path, file.suffix)
            builder.add(read.item, place, read.evidence, edges_of(read.item, read.suffix, read.data))
    return Digest(tuple(same), tuple(problems))
