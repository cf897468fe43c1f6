"""The evidence of every document as columns: digests and signatures as bytes, the rest in two small tables.

Most documents of a space share format, key and coverage, so these stand once, in a table of distinct records, and so do
the times of signing. What does not have the regular form (a digest that is no 64 hex digits) stays in its record, so
that every evidence is read back equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.errors import SigningError
from rye.index.container import DamagedError
from rye.index.packing import pack_table
from rye.index.strings import Strings
from rye.signing import Evidence

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

_DIGEST, _SIGNATURE = 32, 64
_NAMES = ("evidence.content", "evidence.line", "evidence.bare")
_TABLES = ("evidence.rest", "evidence.time")


def pack(found: Sequence[Evidence]) -> Arrays:
    """Return the arrays ``evidence.*`` of the evidence of each document."""
    contents: list[bytes] = []
    lines: list[bytes] = []
    rests: list[str] = []
    bare: list[int] = []
    for doc, one in enumerate(found):
        content, digest = _raw_digest(one.content_digest), _raw_digest(one.digest)
        signature = one.signature if len(one.signature) == _SIGNATURE else b""
        contents.append(content or bytes(_DIGEST))
        if digest or signature:
            lines.append((digest or bytes(_DIGEST)) + (signature or bytes(_SIGNATURE)))
        else:
            bare.append(doc)
        columns = ("c" if content else "") + ("d" if digest else "") + ("s" if signature else "")
        kept = (
            "" if content else one.content_digest,
            *one[1:7],
            "" if digest else one.digest,
            b"" if signature else one.signature,
            one.fingerprint,
        )
        rests.append(_to_line(columns, kept))
    return {
        "evidence.content": np.frombuffer(b"".join(contents), np.uint8).reshape(-1, _DIGEST),
        "evidence.line": np.frombuffer(b"".join(lines), np.uint8).reshape(-1, _DIGEST + _SIGNATURE),
        "evidence.bare": np.asarray(bare, np.min_scalar_type(len(found))),
        **pack_table("evidence.rest", rests),
        **pack_table("evidence.time", [json.dumps(one.signed_at) for one in found]),
    }


def _raw_digest(text: str) -> bytes:
    """Return the bytes of a SHA-256 in lower-case hex, or nothing."""
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * _DIGEST else b""
    except ValueError:
        return b""
    return raw if raw.hex() == text else b""


@lru_cache(maxsize=1024)
def _to_line(columns: str, rest: tuple[Any, ...]) -> str:
    """Return what does not stand in columns as one line: which values do, and the record of the others."""
    return json.dumps([columns, *Evidence(*rest).to_record()], ensure_ascii=True, separators=(",", ":"))


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
        for number in np.unique(self._rest_of).tolist():
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
