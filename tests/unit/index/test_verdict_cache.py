"""What is kept beside segments: verdicts under one set of keys, and sets of documents; all else there is replaced."""

from __future__ import annotations

import json
import os
import pickle
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from rye.index import container, verdict_cache
from rye.index.arrays import Arrays
from rye.index.container import FORMAT_VERSION, MAGIC
from rye.index.schema import ItemPlace
from rye.index.segment import Segment
from rye.index.segment_builder import SegmentBuilder
from rye.index.verdict_cache import MAX_COLUMNS, VERDICT_NAMES, VerdictColumn, cached_arrays, verdict_column
from rye.items.model import Item, ItemId, ItemType
from rye.spaces.model import Root, Space
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.model import Evidence, Origin, Signature
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


@pytest.fixture(scope="module")
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


def test_verdicts_of_trust_sets_long_gone_are_removed(tmp_path: Path) -> None:
    """After many trust sets a segment has the verdicts of the newest few, and its other files."""
    segment, names = made(tmp_path), [f"{number:016x}" for number in range(10)]
    before = set(tmp_path.iterdir())
    other = tmp_path / f"other.{names[0]}.ryx"
    other.write_bytes(b"of another segment")
    for age, name in enumerate(names):
        path = tmp_path / f"segment.{name}.ryx"
        column(path, segment)
        os.utime(path, (age, age))
    column(tmp_path / "segment.ffffffffffffffff.ryx", segment)
    newest = {f"segment.{name}.ryx" for name in (*names[-MAX_COLUMNS + 1 :], "ffffffffffffffff")}
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in before} == {*newest, other.name}


def test_a_column_is_the_judgement_on_each_item(segment: Segment, tmp_path: Path) -> None:
    """Verdict and signer of every document are what judging it alone gives; every verdict occurs."""
    found = read(column(tmp_path / "c.ryx", segment))
    assert found == naive(segment)
    assert {verdict for verdict, _ in found} == set(VERDICT_NAMES)


def test_a_kept_column_is_read_and_not_judged_again(
    segment: Segment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time the file answers; nothing unfinished stays beside it."""
    first = column(tmp_path / "c.ryx", segment)
    monkeypatch.setattr(verdict_cache, "judge", lambda *_args, **_options: pytest.fail("judged"))
    assert read(column(tmp_path / "c.ryx", segment)) == read(first)
    assert [path.name for path in tmp_path.iterdir()] == ["c.ryx"]


def test_of_what_no_trusted_key_signed_one_is_judged_for_all_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred files without a signature, and as many by an unknown key, take two judgements."""
    builder = SegmentBuilder()
    for number in range(200):
        digest = f"{number:064}"
        signed = Evidence(digest, digest=digest, signature=bytes([number] * 64), fingerprint="f" * 64)
        found = signed if number % 2 else Evidence(digest, "no-envelope")
        builder.add(Item(ItemType.TOOL, ItemId(f"ops/{number}"), "hello"), ItemPlace(ROOT.space, "", "p"), found)
    builder.write(tmp_path / "many")
    many, judged = Segment(tmp_path / "many"), []

    def counted(evidence: Evidence, **options: Any) -> Signature:
        judged.append(evidence)
        return judge(evidence, **options)

    monkeypatch.setattr(verdict_cache, "judge", counted)
    assert read(column(tmp_path / "c.ryx", many)) == naive(many)
    assert len(judged) == 2


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


@pytest.mark.parametrize("harm", ["cut", "empty", "changed", "of another segment", "without signers"])
def test_a_damaged_column_is_made_again(segment: Segment, tmp_path: Path, harm: str) -> None:
    """A column that cannot be read, or is not of this segment, is judged anew and replaced."""
    path = tmp_path / "c.ryx"
    column(path, segment)
    data = path.read_bytes()
    path.unlink()
    if harm == "of another segment":
        container.write(path, {"verdicts": np.zeros(1, np.uint8)}, {})
    elif harm == "without signers":
        container.write(path, {}, {})
    else:
        path.write_bytes({"cut": data[:-9], "empty": b"", "changed": bytes([*data[:-64], *b"\xff" * 64])}[harm])
    assert read(column(path, segment)) == naive(segment)
    assert path.read_bytes() == data


def test_an_unfinished_column_of_a_killed_process_is_no_hindrance(segment: Segment, tmp_path: Path) -> None:
    """A temporary file left behind is replaced."""
    (tmp_path / "c.tmp").write_bytes(b"half")
    assert read(column(tmp_path / "c.ryx", segment)) == naive(segment)
    assert [path.name for path in tmp_path.iterdir()] == ["c.ryx"]


def test_where_nothing_can_be_written_the_verdicts_are_judged_each_time(
    segment: Segment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only or full disk costs time only."""

    def full(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    assert read(column(tmp_path / "c.ryx", segment)) == naive(segment)
    assert list(tmp_path.iterdir()) == []
    assert read(column(tmp_path / "missing" / "c.ryx", segment)) == naive(segment)


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


def test_arrays_are_made_once(tmp_path: Path) -> None:
    """The second time the file answers."""
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 0)


def test_a_stale_file_is_made_anew(tmp_path: Path) -> None:
    """What was made of anything else does not answer, and gives way."""
    ask(tmp_path / "m.ryx", of="others")
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["m.ryx"]


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


def test_the_forger_of_these_tests_can_write_a_file_that_is_read(tmp_path: Path) -> None:
    """So it is what they say that keeps the others out."""
    (tmp_path / "m.ryx").write_bytes(forged(table(FITS, FITS)))
    assert ask(tmp_path / "m.ryx") == ({name: [0] * 3 for name in NAMES}, 0)


@pytest.mark.parametrize("place", [0, 20, -128, -64])
def test_a_damaged_file_is_replaced(tmp_path: Path, place: int) -> None:
    """A byte changed, or the end missing."""
    path = tmp_path / "m.ryx"
    ask(path)
    data = bytearray(path.read_bytes())
    for changed in (bytes(data[:place]), bytes(data[:place]) + bytes([data[place] ^ 1]) + bytes(data[place:][1:])):
        path.write_bytes(changed)
        assert ask(path) == (EXPECTED, 1)


def test_a_file_of_a_killed_process_is_no_hindrance(tmp_path: Path) -> None:
    """What it left unfinished is replaced."""
    (tmp_path / "m.tmp").write_bytes(b"half")
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert [each.name for each in tmp_path.iterdir()] == ["m.ryx"]


def test_where_nothing_can_be_written_arrays_are_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk or a folder that is gone costs time only."""

    def full(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(28, "No space left on device")

    assert ask(tmp_path / "gone" / "m.ryx") == (EXPECTED, 1)
    monkeypatch.setattr(container, "write", full)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
