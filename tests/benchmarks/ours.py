"""rye as one of the engines: its index built by its own builder, its queries from text to ranked documents."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import rye.query
from rye._process import cores
from rye.index.build.parallel_build import ALONE_BELOW, PIECES_EACH, join
from rye.index.build.reader import Reader
from rye.index.build.segment_builder import SegmentBuilder
from rye.index.build.store import Store
from rye.index.storage.file_list import FileList, Files
from rye.index.text.schema import ItemPlace
from rye.items.model import Item, ItemType
from rye.search.context import SearchContext
from rye.search.contract.request import make_request
from rye.search.engine import Search
from rye.search.reading.reading import read
from rye.spaces.model import Root, Space
from rye.trust.model import Evidence
from rye.trust.trust_set import TrustSet
from tests.benchmarks.asking import DISTANCE, Query
from tests.benchmarks.engine import Answer, Ask

Row = tuple[Item, ItemPlace, Evidence]

OPTIONS = {"relax": False, "include_superseded": True}
"""Of every search: the one query is measured, without the further stages that follow when it finds nothing."""


def text_of(query: Query) -> str:
    """Return a query in rye's language."""
    match query.kind:
        case "or3":
            return " OR ".join(query.words)
        case "phrase":
            return f'"{" ".join(query.words)}"'
        case "near":
            return f" NEAR/{DISTANCE} ".join(query.words)
        case "prefix":
            return f"{query.words[0]}*"
        case "infix":
            return f"*{query.words[0]}*"
        case "fuzzy":
            return f"{query.words[0]}~2"
        case _:
            return " ".join(query.words)


def evidence(item: Item) -> Evidence:
    """Return what a signed file of this item would prove, with digests and a signature of the right length."""
    digest = hashlib.sha256(f"{item.type}:{item.id}".encode())
    return Evidence(
        content_digest=digest.hexdigest(),
        format="v2",
        digest=digest.hexdigest()[::-1],
        signature=base64.b64decode(base64.b64encode(digest.digest() * 2)),
        fingerprint="8d7e7bd7ceb902d33c556200a5306ff7ad3fa651446bcc9b254243fb404ef70a",
        signed_at="2026-02-18T12:00:00Z",
    )


class Rye:
    """The engine that this project is."""

    name = "rye"

    def __init__(self) -> None:
        self.lacks: dict[str, str] = {}

    def prepare(self, items: Sequence[Item]) -> list[Row]:
        """Return what reading the files would have given, which is not timed."""
        suffix = {ItemType.TOOL: ".py"}
        rows = []
        for item in items:
            end = suffix.get(item.type, ".md")
            place = ItemPlace("project", "", f"{item.type.folder}/{item.id}{end}")
            rows.append((item, place, evidence(item)))
        return rows

    def build(self, rows: list[Row], folder: Path) -> None:
        """Write one generation of the index, as a refresh does: on every processor, in runs that are joined."""
        store = Store(folder)
        files = Files(tuple(place.path for _, place, _ in rows), np.zeros((len(rows), 4), np.int64))
        with store.locked() as held:
            assert held
            store.commit(None, FileList(files), partial(_write, rows, folder))

    def open(self, folder: Path) -> Ask:
        """Return what answers queries from the index in a folder."""
        snapshot = Store(folder).open()
        assert snapshot is not None
        reader = Reader([(Root(Space.PROJECT, folder / "nowhere"), snapshot)])
        world = SearchContext(reader, reader, lambda: TrustSet(()), (), datetime(2026, 2, 18, tzinfo=UTC))
        return partial(_ask, world)


def _write(rows: Sequence[Row], folder: Path, path: Path) -> int:
    """Write a segment; of many items, each process writes its share of the pieces."""
    if len(rows) < ALONE_BELOW:
        return _builder(rows).write(path)
    processes = cores()
    size = -(-len(rows) // (processes * PIECES_EACH))
    pieces = [(rows[at : at + size], folder / f"run-{at}") for at in range(0, len(rows), size)]
    fork = get_context("fork")
    helpers = [fork.Process(target=_spill, args=(pieces[one::processes],)) for one in range(1, processes)]
    for helper in helpers:
        helper.start()
    _spill(pieces[::processes])
    for helper in helpers:
        helper.join()
        assert helper.exitcode == 0
    count = join([run for _, run in pieces], path)
    for _, run in pieces:
        run.unlink()
    return count


def _spill(pieces: Sequence[tuple[Sequence[Row], Path]]) -> None:
    for rows, run in pieces:
        _builder(rows).write(run, interim=True)


def _builder(rows: Sequence[Row]) -> SegmentBuilder:
    builder = SegmentBuilder()
    for item, place, found in rows:
        builder.add(item, place, found)
    return builder


def _ask(world: SearchContext, query: Query) -> Answer:
    """Go the whole way of a search but for reading the ten files of the page; a query asked before is parsed again."""
    rye.query._parse.cache_clear()
    filters = {"type": query.item_type} if query.item_type else None
    search = Search(make_request(text_of(query), OPTIONS | {"filters": filters, "offset": query.offset}), world)
    answer = search.answer(read(search.request), search.allowed())
    return Answer(answer.total, tuple(answer.top.docs[query.offset : query.offset + 10].tolist()))
