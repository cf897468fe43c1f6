"""Relations around an item: what it refers to and what refers to it, each item with its verdict."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from rye._report import Report
from rye.errors import ItemError
from rye.index.build.reader import Part, Reader
from rye.items.model import ItemType
from rye.items.relations import KINDS, MAX_REFERENCES, edges_of
from rye.registry.lookup import reading
from rye.search.states.graph import Direction, Graph, RelationWalk, graph_of, walk
from rye.search.states.states import States
from rye.spaces.signed import ReadItem, read_item
from rye.trust.judge import judge
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock


@dataclass(frozen=True, slots=True)
class Relation(Report):
    """One reference: ``item`` refers to ``target``.

    Attributes:
        item: ``type:id`` of the item that refers.
        target: ``type:id`` of the item referred to; empty if it does not exist or is ambiguous.
        kind: One of :data:`rye.items.relations.KINDS`.
        written: The text of the reference.
        line: The line of the reference in the item's file.
        state: ``resolved``, ``ambiguous`` or ``dangling``.
        candidates: ``type:id`` of every item that an ambiguous reference may mean.
        distance: Steps from the starting item.
    """

    item: str
    target: str
    kind: str
    written: str
    line: int
    state: str
    candidates: tuple[str, ...]
    distance: int


@dataclass(frozen=True, slots=True)
class RelatedItem(Report):
    """An item at one end of a relation, read and verified at this moment.

    ``states`` are those of ``superseded``, ``deprecated`` and ``yanked`` that apply, ``successor`` is the item that
    replaces it, and ``verdict`` is empty if its file cannot be read.
    """

    type: str
    id: str
    source: str
    path: str
    title: str
    description: str
    verdict: str
    states: tuple[str, ...]
    successor: str
    distance: int

    @property
    def ref(self) -> str:
        """``type:id``."""
        return f"{self.type}:{self.id}"


@dataclass(frozen=True, slots=True)
class Relations(Report):
    """The relations around one item, nearest first; ``items`` has every item in them, starting with that item.

    ``total`` counts all relations within ``depth``. If ``truncated``, only the first of them are listed.
    """

    item: str
    direction: str
    depth: int
    relations: tuple[Relation, ...]
    items: tuple[RelatedItem, ...]
    total: int
    truncated: bool
    stale: bool = False
    warnings: tuple[str, ...] = ()


def relations_of(
    reader: Reader,
    trust: TrustSet,
    item: str,
    document: tuple[Part, int],
    *,
    direction: str,
    depth: int,
    limit: int,
    read: Callable[..., ReadItem] = read_item,
) -> Relations:
    """Return the relations around an item.

    Args:
        reader: A reader over all spaces.
        trust: The trusted keys.
        item: The name that the caller used for the starting item.
        document: A document of the reader that has it.
        direction: ``in``, ``out`` or ``both``.
        depth: Maximum steps from the item.
        limit: Maximum relations to list.
        read: Reads a file as :func:`rye.spaces.signed.read_item` does.
    """
    part, local = document
    graph = graph_of(reader)
    start = graph.item_of(part.base + local)
    walked = walk(graph, start, Direction(direction), depth)
    shown = list(_shown(reader, graph, walked, limit))
    distances = {start: 0}
    for relation, ends in shown:
        for end in ends:
            distances.setdefault(end, walked.items.get(end, relation.distance))
    items, warnings = _items(reader, trust, distances, read)
    return Relations(
        item=(key := ":".join(reader.key_of(start))),
        direction=str(Direction(direction)),
        depth=depth,
        relations=tuple(relation for relation, _ in shown),
        items=items,
        total=len(walked.edges),
        truncated=len(walked.edges) > limit,
        warnings=(*reading(item, key), *filter(None, [graph.unknown]), *warnings),
    )


def _shown(
    reader: Reader, graph: Graph, walked: RelationWalk, limit: int
) -> Iterator[tuple[Relation, tuple[int, ...]]]:
    """Yield the first relations, each with the known items at its ends."""
    numbers = walked.edges[:limit]
    edges = graph.at(numbers)
    written, sources = graph.written(edges.targets), graph.items_of(edges.docs).tolist()
    for number, distance in zip(edges.numbers.searchsorted(numbers).tolist(), walked.distances.tolist(), strict=False):
        source = sources[number]
        named = edges.named[edges.starts[number] : edges.starts[number + 1]].tolist()
        keys = tuple(sorted(":".join(reader.key_of(item)) for item in named))
        relation = Relation(
            item=":".join(reader.key_of(source)),
            target=keys[0] if len(keys) == 1 else "",
            kind=KINDS[edges.kinds[number]],
            written=written[number],
            line=int(edges.lines[number]),
            state=("dangling", "resolved")[len(keys)] if len(keys) < 2 else "ambiguous",
            candidates=keys if len(keys) > 1 else (),
            distance=distance,
        )
        yield relation, (source, *named)


def _items(
    reader: Reader, trust: TrustSet, distances: Mapping[int, int], read_from: Callable[..., ReadItem]
) -> tuple[tuple[RelatedItem, ...], tuple[str, ...]]:
    """Read and verify items; return them, nearest first, and a sentence for each that cannot be read."""
    items: list[RelatedItem] = []
    warnings: list[str] = []
    now = system_clock()
    states = States(reader, reader, lambda: trust, now)
    for item, distance in distances.items():
        part, local = reader.locate(item)
        kind, item_id = reader.key_of(item)
        path = part.segment.paths[local]
        title = description = verdict = ""
        try:
            read = read_from(part.root, path, ItemType(kind), item_id)
            title, description = read.item.title, read.item.description
            warnings += _left_out(part, local, read)
            verdict = str(judge(read.evidence, origin=read.origin, trust=trust, now=now).verdict)
        except ItemError as error:
            warnings.append(f"{kind}:{item_id}: {error.message}")
        withdrawn, successor = states.withdrawn(part.base + local)
        place, source = str(part.root.path / path), part.root.source
        items.append(
            RelatedItem(kind, item_id, source, place, title, description, verdict, withdrawn, successor, distance)
        )
    items.sort(key=lambda related: (related.distance, related.ref))
    return tuple(items), tuple(warnings)


def _left_out(part: Part, local: int, read: ReadItem) -> Iterator[str]:
    """Yield a sentence if an item has more references than the index keeps; they are counted in the bytes just read."""
    docs = part.segment.edges.docs
    if bisect_right(docs, local) - bisect_left(docs, local) >= MAX_REFERENCES:
        suffix = PurePosixPath(part.segment.paths[local]).suffix
        count = len(edges_of(read.item, suffix, read.data, sys.maxsize))
        if count > MAX_REFERENCES:
            name = f"{read.item.type}:{read.item.id}"
            yield f"{name} has {count:,} references; of these the first {MAX_REFERENCES:,} are known"
