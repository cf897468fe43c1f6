"""One file of named, memory-mapped numpy arrays: the storage format of a segment. Nothing in it is ever unpickled.

Layout: 8 bytes magic, then little-endian ``u32`` header length and ``u32`` CRC-32 of the header, the header (JSON:
format version, meta, and per array its dtype, shape, offset, CRC-32), then the arrays, each on a 64-byte border.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import stopping

MAGIC = b"RYEARR01"
FORMAT_VERSION = 6
FULL_CHECK_BYTES = 8 << 20
"""Files up to this size are checked whole when opened; of larger ones only header and length are."""

_ALIGN = 64
_PREFIX = struct.Struct("<8sII")
_KINDS = frozenset("biuf")

Array = npt.NDArray[Any]


class DamagedError(Exception):
    """The file is not a readable container; the index room answers by rebuilding, callers never see this."""


def write(path: Path, arrays: Mapping[str, Array], meta: Mapping[str, Any], *, lasting: bool = True) -> None:
    """Write arrays and JSON-able ``meta`` to a new file.

    One too large to be checked whole when it is opened is flushed to disk before this returns, if it is a lasting one:
    after a loss of power, what is missing of a smaller one is noticed.
    """
    table: dict[str, Any] = {}
    offset = 0
    ready = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in ready.items():
        stopping.check()
        crc = zlib.crc32(_bytes(array))
        table[name] = [array.dtype.str, list(array.shape), offset, crc]
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"version": FORMAT_VERSION, "meta": meta, "arrays": table, "bytes": offset}).encode()
    with path.open("xb") as handle:
        handle.write(_PREFIX.pack(MAGIC, len(header), zlib.crc32(header)))
        handle.write(header)
        handle.write(b"\0" * (_data_start(len(header)) - handle.tell()))
        for array in ready.values():
            stopping.check()
            handle.write(_bytes(array))
            handle.write(b"\0" * (-array.nbytes % _ALIGN))
        if lasting and handle.tell() > FULL_CHECK_BYTES:
            handle.flush()
            os.fsync(handle.fileno())


def _bytes(array: Array) -> memoryview:
    """Return the memory of an array as bytes, without copying."""
    return array.reshape(-1).view(np.uint8).data


def _data_start(header_length: int) -> int:
    return -(-(_PREFIX.size + header_length) // _ALIGN) * _ALIGN


class Container:
    """A read-only view of a container file.

    Raises:
        DamagedError: Wrong magic, version, checksum, length or table.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as handle:
                self._map = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise DamagedError(f"{path.name} is damaged: it is empty") from error
        try:
            self._table, self.meta, self._start = self._read_header()
            if len(self._map) <= FULL_CHECK_BYTES:
                self._check_arrays()
        except DamagedError as error:
            raise DamagedError(f"{path.name} {error}") from error
        except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"{path.name} is damaged: its header cannot be read") from error

    def _read_header(self) -> tuple[dict[str, Any], dict[str, Any], int]:
        magic, length, crc = _PREFIX.unpack_from(self._map)
        raw = self._map[_PREFIX.size : _PREFIX.size + length]
        if magic != MAGIC or len(raw) != length or zlib.crc32(raw) != crc:
            raise DamagedError("is damaged: its header does not match its checksum")
        header = json.loads(raw)
        if header["version"] != FORMAT_VERSION:
            raise DamagedError(f"has format version {header['version']}, this is {FORMAT_VERSION}")
        start = _data_start(length)
        if len(self._map) != start + header["bytes"]:
            raise DamagedError("is damaged: it is cut short or too long")
        return header["arrays"], header["meta"], start

    def _check_arrays(self) -> None:
        for name, (_, _, _, crc) in self._table.items():
            if zlib.crc32(_bytes(self.array(name))) != crc:
                raise DamagedError(f"is damaged: array {name!r} does not match its checksum")

    def array(self, name: str) -> Array:
        """Return the array as a view of the map, without copying."""
        dtype, shape, offset, _ = self._table[name]
        kind = np.dtype(dtype)
        if kind.kind not in _KINDS:
            raise DamagedError(f"is damaged: array {name!r} has a dtype that is not a number")
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self._map, kind, count, self._start + offset).reshape(shape)

    def buffer(self, name: str) -> memoryview:
        """Return the bytes of a ``uint8`` array as a memoryview of the map."""
        _, shape, offset, _ = self._table[name]
        begin = self._start + offset
        return memoryview(self._map)[begin : begin + shape[0]]
