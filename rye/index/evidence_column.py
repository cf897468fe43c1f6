"""The evidence of every document as columns: digests and signatures as bytes, the rest in two small tables.

Most documents of a space share format, key and coverage, so these stand once, in a table of distinct records, and so do
the times of signing. What does not have the regular form (a digest that is no 64 hex digits) stays in its record, so
that every evidence is read back equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.errors import SigningError
from rye.index.arrays import pack_table, unique
from rye.index.container import DamagedError
from rye.index.terms import Strings
from rye.signing import Evidence

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

_DIGEST, _SIGNATURE = 32, 64
_NAMES = ("evidence.content", "evidence.line", "evidence.bare")
_TABLES = ("evidence.rest", "evidence.time")


class RecordWriter:
    """Collects the evidence of documents, in their order, and packs it."""

    def __init__(self) -> None:
        self._contents: list[bytes] = []
        self._lines: list[bytes] = []
        self._bare: list[int] = []
        self._rests: list[str] = []
        self._times: list[str] = []

    def __len__(self) -> int:
        return len(self._rests)

    def add(self, found: Iterable[Evidence]) -> None:
        """Add the evidence of further documents."""
        rows = list(found)
        contents = _raw_digests([one.content_digest for one in rows])
        digests = _raw_digests([one.digest for one in rows])
        for one, content, digest in zip(rows, contents, digests, strict=True):
            signature = one.signature if len(one.signature) == _SIGNATURE else b""
            self._contents.append(content or bytes(_DIGEST))
            if digest or signature:
                self._lines.append((digest or bytes(_DIGEST)) + (signature or bytes(_SIGNATURE)))
            else:
                self._bare.append(len(self))
            kept = (
                "" if content else one.content_digest,
                *one[1:7],
                "" if digest else one.digest,
                b"" if signature else one.signature,
                one.fingerprint,
            )
            columns = ("c" if content else "") + ("d" if digest else "") + ("s" if signature else "")
            self._rests.append(_to_line(columns, kept))
            self._times.append(_to_json(one.signed_at))

    def take(self, records: Records, docs: npt.NDArray[np.int64]) -> None:
        """Add the evidence of some documents of a segment, ascending, as it stands there."""
        columns = records.columns(docs)
        self._contents.append(columns.contents.tobytes())
        self._lines.append(columns.lines.tobytes())
        self._bare += (columns.bare + len(self)).tolist()
        self._rests += columns.rests
        self._times += columns.times

    def arrays(self) -> Arrays:
        """Return the arrays ``evidence.*``."""
        return {
            "evidence.content": np.frombuffer(b"".join(self._contents), np.uint8).reshape(-1, _DIGEST),
            "evidence.line": np.frombuffer(b"".join(self._lines), np.uint8).reshape(-1, _DIGEST + _SIGNATURE),
            "evidence.bare": np.asarray(self._bare, np.min_scalar_type(len(self))),
            **pack_table("evidence.rest", self._rests),
            **pack_table("evidence.time", self._times),
        }


def pack(found: Iterable[Evidence]) -> Arrays:
    """Return the arrays ``evidence.*`` of the evidence of each document."""
    writer = RecordWriter()
    writer.add(found)
    return writer.arrays()


def _raw_digests(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes of each SHA-256 in lower-case hex, or nothing where it is none."""
    joined, size = "".join(texts), 2 * _DIGEST
    if set(map(len, texts)) == {size} and (raw := _raw(joined)):  # as nearly all are
        return [raw[at : at + _DIGEST] for at in range(0, len(raw), _DIGEST)]
    return [_raw(text) if len(text) == size else b"" for text in texts]


def _raw(text: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return b""
    return raw if raw.hex() == text else b""


@lru_cache(maxsize=1024)
def _to_line(columns: str, rest: tuple[Any, ...]) -> str:
    """Return what does not stand in columns as one line: which values do, and the record of the others."""
    return json.dumps([columns, *Evidence(*rest).to_record()], ensure_ascii=True, separators=(",", ":"))


_to_json = lru_cache(maxsize=1024)(json.dumps)


class Columns(NamedTuple):
    """The evidence of some documents, packed.

    Attributes:
        contents: Shape ``(docs, 32)``.
        lines: Shape ``(lines, 96)``: digest and signature of those that have any.
        bare: Which of the documents have none, ascending.
        rests, times: What else each has, as it stands in the tables.
    """

    contents: Array
    lines: Array
    bare: npt.NDArray[np.int64]
    rests: list[str]
    times: list[str]


class Records(Sequence[Evidence]):
    """Reads what :func:`pack` made: the evidence of each document.

    Args:
        array: Returns an array by its name.
        table: Returns a table of strings by its name.

    Raises:
        DamagedError: On access, a record is not what this version writes.
    """

    def __init__(self, array: Callable[[str], Array], table: Callable[[str], Strings]) -> None:
        self._content, self._line, self._bare = map(array, _NAMES)
        self._rest_of, self._time_of = map(array, _TABLES)
        self._rests, self._times = map(table, _TABLES)
        self._rest = lru_cache(maxsize=256)(self._read_rest)

    def __len__(self) -> int:
        return len(self._content)

    def __getitem__(self, doc: Any) -> Any:
        if isinstance(doc, slice):
            return [self[at] for at in range(*doc.indices(len(self)))]
        columns, evidence = self._rest(int(self._rest_of[doc]))
        found = {"signed_at": json.loads(self._times[int(self._time_of[doc])])}
        if "c" in columns:
            found["content_digest"] = self._content[doc].tobytes().hex()
        if "d" in columns or "s" in columns:
            line = self._line[doc - int(np.searchsorted(self._bare, np.asarray(doc, self._bare.dtype)))].tobytes()
            found |= {"digest": line[:_DIGEST].hex()} if "d" in columns else {}
            found |= {"signature": line[_DIGEST:]} if "s" in columns else {}
        return evidence._replace(**found)

    def kinds(self) -> tuple[Array, list[Evidence]]:
        """Return which kind of evidence each document has, and an example of each: all but its digests and signature.

        What is at fault in the bytes, and the fingerprint of the key, are the same for all of a kind.
        """
        return self._rest_of, [self._read_rest(number)[1] for number in range(len(self._rests))]

    def columns(self, docs: npt.NDArray[np.int64]) -> Columns:
        """Return the evidence of some documents as it stands here."""
        bare = self._bare.astype(np.int64)
        has_line = np.isin(docs, bare, invert=True)
        lines = docs[has_line]
        rests, times = self._rests.everything, self._times.everything
        return Columns(
            self._content[docs],
            self._line[lines - np.searchsorted(bare, lines)],
            np.flatnonzero(~has_line),
            [rests[number] for number in self._rest_of[docs].tolist()],
            [times[number] for number in self._time_of[docs].tolist()],
        )

    @property
    def raw_content_digests(self) -> Array:
        """Shape ``(docs, 32)``: that part of every evidence, zeros where it is not a SHA-256."""
        return self._content

    def content_digest(self, doc: int) -> str:
        """Return that part of the evidence alone."""
        columns, evidence = self._rest(int(self._rest_of[doc]))
        return self._content[doc].tobytes().hex() if "c" in columns else evidence.content_digest

    @cached_property
    def content_digests(self) -> list[str]:
        """That part of every document's evidence."""
        raw, whole = self._content.tobytes().hex(), {}
        for number in unique(self._rest_of).tolist():
            columns, evidence = self._rest(number)
            whole[number] = "" if "c" in columns else evidence.content_digest
        width = 2 * _DIGEST
        rows = enumerate(self._rest_of.tolist())
        return [whole[number] or raw[doc * width : (doc + 1) * width] for doc, number in rows]

    def __iter__(self) -> Iterator[Evidence]:
        return (self[doc] for doc in range(len(self)))

    def _read_rest(self, number: int) -> tuple[str, Evidence]:
        try:
            columns, *record = json.loads(self._rests[number])
            return str(columns), Evidence.from_record(record)
        except (ValueError, TypeError, SigningError) as error:
            raise DamagedError(f"evidence {number}: {error}") from error
