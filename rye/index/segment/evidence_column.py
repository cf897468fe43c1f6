"""The evidence of every document as columns: digests and signatures as bytes, the rest in two small tables.

Most documents of a space share format, key, audience and coverage. These are stored once, in a table of distinct
records, and so are the signing times. A value without the regular form, such as a digest that is not 64 hex digits,
stays in its record, so that every evidence is read back equal. A record begins with letters for the values stored in
columns: ``c`` content digest, ``d`` digest, ``s`` signature. A document with neither ``d`` nor ``s`` is *bare* and has
no row in ``evidence.line``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from rye.errors import SigningError
from rye.index.storage.arrays import Array, Arrays, Ints, pack_table
from rye.index.storage.container import Container, DamagedError
from rye.index.storage.terms import Strings
from rye.trust.model import Evidence

_DIGEST, _SIGNATURE = 32, 64
_NO_DIGEST, _NO_SIGNATURE = bytes(_DIGEST), bytes(_SIGNATURE)


class EvidenceWriter:
    """Collects the evidence of documents, in their order, and packs it."""

    def __init__(self) -> None:
        self._contents: list[bytes] = []
        self._lines: list[bytes] = []
        self._bare: list[int] = []
        self._rests: list[str] = []
        self._times: list[str] = []

    def add(self, rows: Sequence[Evidence], paths: Sequence[str]) -> None:
        """Add the evidence of more documents, given their paths; most state a place that ends with their path."""
        contents = _raw_digests([evidence.content_digest for evidence in rows])
        digests = _raw_digests([evidence.digest for evidence in rows])
        for evidence, path, content, digest in zip(rows, paths, contents, digests, strict=True):
            signature = evidence.signature if len(evidence.signature) == _SIGNATURE else b""
            self._contents.append(content or _NO_DIGEST)
            if digest or signature:
                self._lines.append((digest or _NO_DIGEST) + (signature or _NO_SIGNATURE))
            else:
                self._bare.append(len(self._rests))
            rest = (
                "" if content else evidence.content_digest,
                *evidence[1:6],
                "" if digest else evidence.digest,
                b"" if signature else evidence.signature,
                evidence.fingerprint,
                "",
                _without_path(evidence.stated, path),
                evidence.audience,
                evidence.placement,
                evidence.skill,
                evidence.proof,
            )
            columns = ("c" if content else "") + ("d" if digest else "") + ("s" if signature else "")
            self._rests.append(_record(columns, rest))
            self._times.append(_to_json(evidence.signed_at))

    def take(self, column: EvidenceColumn, docs: Ints) -> None:
        """Copy the evidence of some documents of a file, ascending."""
        # only documents that are not bare have a line: line = document − number of bare ones before it
        bare = column.bare.astype(np.int64)
        has_line = np.isin(docs, bare, invert=True)
        lines = docs[has_line]
        self._contents.append(column.raw_content_digests[docs].tobytes())
        self._lines.append(column.lines[lines - np.searchsorted(bare, lines)].tobytes())
        self._bare += (np.flatnonzero(~has_line) + len(self._rests)).tolist()
        rests, times = column.rests.everything, column.times.everything
        self._rests += [rests[number] for number in column.rest_of[docs].tolist()]
        self._times += [times[number] for number in column.time_of[docs].tolist()]

    def arrays(self) -> Arrays:
        """Return the arrays ``evidence.*``."""
        return {
            "evidence.content": np.frombuffer(b"".join(self._contents), np.uint8).reshape(-1, _DIGEST),
            "evidence.line": np.frombuffer(b"".join(self._lines), np.uint8).reshape(-1, _DIGEST + _SIGNATURE),
            "evidence.bare": np.asarray(self._bare, np.min_scalar_type(len(self._rests))),
            **pack_table("evidence.rest", self._rests),
            **pack_table("evidence.time", self._times),
        }


class _Paths(Protocol):
    def __getitem__(self, doc: int, /) -> str: ...


_PATH = "*"
"""Stands for the path of the document at the end of a stated place, in which it cannot occur."""


def _without_path(stated: str, path: str) -> str:
    return f"{stated.removesuffix(path)}{_PATH}" if path and stated.endswith(f"/{path}") else stated


def _raw_digests(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes of each lower-case hex SHA-256; empty for a text of another form."""
    joined, size = "".join(texts), 2 * _DIGEST  # all hex digits, to decode in one call
    if set(map(len, texts)) == {size} and (raw := _raw(joined)):  # the common case
        return [raw[at : at + _DIGEST] for at in range(0, len(raw), _DIGEST)]
    return [_raw(text) if len(text) == size else b"" for text in texts]


def _raw(text: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return b""
    return raw if raw.hex() == text else b""


@lru_cache(maxsize=1024)
def _record(columns: str, rest: tuple[Any, ...]) -> str:
    return json.dumps([columns, *Evidence(*rest).to_record()], ensure_ascii=True, separators=(",", ":"))


_to_json = lru_cache(maxsize=1024)(json.dumps)


def _read_rest(rests: Strings, number: int) -> tuple[str, Evidence]:
    try:
        columns, *record = json.loads(rests[number])
        return str(columns), Evidence.from_record(record)
    except (ValueError, TypeError, SigningError) as error:
        raise DamagedError(f"evidence {number}: {error}") from error


class EvidenceColumn(Sequence[Evidence]):
    """Reads what :class:`EvidenceWriter` wrote: the evidence of each document of a file.

    Args:
        file: The file.
        paths: The path of each document.

    Attributes:
        raw_content_digests: Shape ``(docs, 32)``: zeros if the content digest is not a SHA-256.
        lines: Shape ``(lines, 96)``: digest and signature of the documents that are not bare.
        bare: The bare documents, ascending.
        rests, times: The distinct records and signing times.
        rest_of, time_of: Shape ``(docs,)``: the number of each document's record and time.

    Raises:
        DamagedError: On access, a record is not what this version writes.
    """

    def __init__(self, file: Container, paths: _Paths) -> None:
        self._paths = paths
        self.raw_content_digests = file.array("evidence.content")
        self.lines, self.bare = file.array("evidence.line"), file.array("evidence.bare")
        self.rests, self.rest_of = file.strings("evidence.rest"), file.array("evidence.rest")
        self.times, self.time_of = file.strings("evidence.time"), file.array("evidence.time")
        self._rest = lru_cache(maxsize=256)(partial(_read_rest, self.rests))

    def __len__(self) -> int:
        return len(self.rest_of)

    def __iter__(self) -> Iterator[Evidence]:
        return (self[doc] for doc in range(len(self)))

    def __getitem__(self, doc: Any) -> Any:
        if isinstance(doc, slice):
            return [self[at] for at in range(*doc.indices(len(self)))]
        columns, evidence = self._rest(int(self.rest_of[doc]))
        fields = {"signed_at": json.loads(self.times[int(self.time_of[doc])])}
        if evidence.stated.endswith(_PATH):
            fields["stated"] = evidence.stated[:-1] + self._paths[doc]
        if "c" in columns:
            fields["content_digest"] = self.raw_content_digests[doc].tobytes().hex()
        if "d" in columns or "s" in columns:
            line = self.lines[doc - int(np.searchsorted(self.bare, np.asarray(doc, self.bare.dtype)))].tobytes()
            fields |= {"digest": line[:_DIGEST].hex()} if "d" in columns else {}
            fields |= {"signature": line[_DIGEST:]} if "s" in columns else {}
        return evidence._replace(**fields)

    def kinds(self) -> tuple[Array, list[Evidence]]:
        """Return the kind of evidence of each document, and one example of each kind, without digests and signature.

        All documents of a kind have the same fault and the same fingerprint of the key.
        """
        return self.rest_of, [_read_rest(self.rests, number)[1] for number in range(len(self.rests))]

    def content_digest(self, doc: int) -> str:
        """Return the content digest of one document."""
        columns, evidence = self._rest(self.rest_of.item(doc))
        return self.raw_content_digests[doc].tobytes().hex() if "c" in columns else evidence.content_digest
