"""What is kept beside segments: verdicts under one set of keys, and sets of documents; all else there is replaced."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rye.index.arrays import Arrays
from rye.index.container import FORMAT_VERSION, MAGIC
from rye.index.schema import ItemPlace
from rye.index.segment import Segment
from rye.index.segment_builder import SegmentBuilder
from rye.index.verdict_cache import VERDICT_NAMES, VerdictColumn, cached_arrays, verdict_column
from rye.items.model import Item, ItemId, ItemType
from rye.spaces.model import Root, Space
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.model import Origin
from rye.trust.trust_set import TrustSet
from tests.support.signed import GOLDEN, NOW, OLD, SIGNED_AT, TRUST, entry

ROOT = Root(Space.PROJECT, Path("/project/.ai"))


def made(folder: Path) -> Segment:
    """Write a segment of every golden file that lies in a project."""
    builder = SegmentBuilder()
    for golden in GOLDEN.values():
        origin = golden.origin
        if origin.space == ROOT.space:
            item = Item(ItemType(origin.item_type), ItemId(origin.item_id), "hello")
            evidence = inspect(golden.make(), origin=origin, declared=golden.declared)
            builder.add(item, ItemPlace(ROOT.space, "", "path"), evidence)
    builder.write(folder / "segment")
    return Segment(folder / "segment")


@pytest.fixture(scope="session")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Segment:
    """Return a segment with items of every verdict."""
    return made(tmp_path_factory.mktemp("made"))


def column(path: Path, segment: Segment, trust: TrustSet = TRUST, now: datetime = NOW) -> VerdictColumn:
    """Return the column kept at a path."""
    return verdict_column(path, segment, ROOT, trust=trust, now=now)


def read(found: VerdictColumn) -> list[tuple[str, str]]:
    """Return verdict and signer of every document."""
    return [
        (VERDICT_NAMES[verdict], found.signers[signer])
        for verdict, signer in zip(found.verdicts.tolist(), found.signer_of.tolist(), strict=True)
    ]


def naive(segment: Segment, trust: TrustSet = TRUST, now: datetime = NOW) -> list[tuple[str, str]]:
    """Judge every document by itself."""
    found = []
    for doc in range(segment.docs):
        origin = Origin(
            ROOT.space, ROOT.bundle, ["directive", "tool", "knowledge"][segment.types[doc]], segment.ids[doc]
        )
        signature = judge(segment.evidence[doc], origin=origin, trust=trust, now=now)
        found.append((str(signature.verdict), signature.signer))
    return found


def test_a_column_is_the_judgement_on_each_item(segment: Segment, tmp_path: Path) -> None:
    """Verdict and signer of every document are what judging it alone gives; every verdict occurs."""
    found = read(column(tmp_path / "c.ryx", segment))
    assert found == naive(segment)
    assert {verdict for verdict, _ in found} == set(VERDICT_NAMES)


@pytest.mark.parametrize(
    ("trust", "now"),
    [(TrustSet(), NOW), (TrustSet((entry(OLD),)), NOW), (TRUST, SIGNED_AT)],
    ids=["none", "old", "then"],
)
def test_another_trust_set_or_moment_is_judged_anew(
    segment: Segment, tmp_path: Path, trust: TrustSet, now: datetime
) -> None:
    """Keys and expiry change verdicts, and the digest that names a column with them."""
    assert trust.digest(now) != TRUST.digest(NOW)
    assert read(column(tmp_path / "a.ryx", segment, trust, now)) == naive(segment, trust, now) != naive(segment)


MASKS = {"odd": np.arange(21) % 2 == 1, "few": np.arange(21) < 3}
PACKED = {name: np.packbits(mask) for name, mask in MASKS.items()}
NAMES = tuple(MASKS)


def ask(path: Path, *, of: str = "these") -> tuple[dict[str, list[int]], int]:
    """Return the arrays of a file, and how often they were made for that."""
    made = []

    def make() -> Arrays:
        made.append(of)
        return PACKED

    found = cached_arrays(path, NAMES, of=of, make=make)
    return {name: bits.tolist() for name, bits in found.items()}, len(made)


EXPECTED = {name: bits.tolist() for name, bits in PACKED.items()}


class _Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def forged(header: Any, rest: bytes = bytes(1 << 10)) -> bytes:
    """Return a file with a header of one's own, and the checksum that it has to have."""
    raw = json.dumps(header).encode()
    start = b"".join((MAGIC, len(raw).to_bytes(4, "little"), zlib.crc32(raw).to_bytes(4, "little"), raw))
    return start + bytes(-len(start) % 64) + rest


def table(*rows: Any, meta: Any = None) -> Any:
    """Return a header with that table of arrays."""
    arrays = dict(zip(NAMES, rows, strict=False))
    return {"version": FORMAT_VERSION, "meta": meta or {"of": "these"}, "arrays": arrays, "bytes": 1 << 10}


FITS = ["|u1", [3], 0, zlib.crc32(bytes(3))]
HOSTILE: dict[str, Callable[[Path], bytes]] = {
    "a pickle": lambda ran: pickle.dumps(_Runs(ran)),
    "objects": lambda _: forged(table(FITS, ["|O", [3], 0, 0])),
    "beyond the end": lambda _: forged(table(FITS, ["|u1", [3], 1 << 40, 0])),
    "beyond all numbers": lambda _: forged(table(FITS, ["|u1", [3], 1 << 80, 0])),
    "before the beginning": lambda _: forged(table(FITS, ["|u1", [3], -(1 << 12), 0])),
    "one mask": lambda _: forged(table(FITS)),
    "meta that is a list": lambda _: forged(table(FITS, FITS, meta=["these"])),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_file_is_replaced(tmp_path: Path, attack: str) -> None:
    """Nothing in it is run or believed; the arrays are made, and kept in its place."""
    path, ran = tmp_path / "m.ryx", tmp_path / "ran"
    path.write_bytes(HOSTILE[attack](ran))
    assert ask(path) == (EXPECTED, 1)
    assert ask(path) == (EXPECTED, 0)
    assert not ran.exists()
