"""One file of named, memory-mapped numpy arrays: the storage format of the index. Nothing in it is ever unpickled.

Layout: 8 bytes magic, then little-endian ``u32`` header length and ``u32`` CRC-32 of the header, the header (JSON:
format version, meta, and per array its dtype, shape, offset, CRC-32), then the arrays, each aligned to 64 bytes.

The checksums of small files are checked whenever they are opened. Of large files only the header is checked then; the
arrays are checked when segments are merged or an index is repaired.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import mmap
import os
import stat
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from rye._process import check_cancelled
from rye.index.storage.arrays import Array, Arrays
from rye.index.storage.cache_folder import try_remove
from rye.index.storage.terms import Strings

logger = logging.getLogger(__name__)

MAGIC = b"RYEARR01"
FORMAT_VERSION = 29
FULL_CHECK_BYTES = 8 << 20
"""Files up to this size are checked completely whenever they are opened."""

IN_MEMORY = 1 << 20
"""Bytes of an array built from pieces that stay in memory."""

_ALIGN = 64
_PREFIX = struct.Struct("<8sII")
_KINDS = frozenset("biuf")

SYMPTOMS = (ArithmeticError, AttributeError, BufferError, LookupError, MemoryError, TypeError, ValueError, zlib.error)
"""Errors caused by arrays that are intact but not what rye writes; readers do not check each number."""


class DamagedError(Exception):
    """The file is not a readable container. It never leaves this room: the index is rebuilt instead."""


class OutdatedError(DamagedError):
    """The file has another format version: it is intact, but this version of rye cannot read it."""


def damage_text(error: Exception) -> str:
    """Describe damage to an index in a warning, given the error that it caused."""
    return str(error) if isinstance(error, DamagedError) else f"it is not what this version writes: {error!r}"


def opener(path: str, flags: int) -> int:
    """Open a regular file for :func:`open`; do not block if it is a pipe.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if stat.S_ISREG(os.fstat(number).st_mode):
        return number
    os.close(number)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


class Pieces:
    """Non-negative integers that are appended piece by piece, in an unnamed file if memory cannot hold them.

    Attributes:
        shape: Their number, as the shape of an array.

    Args:
        folder: The folder of the file, which is removed when the process ends.
    """

    def __init__(self, folder: Path) -> None:
        self.shape = (0,)
        self._most = 0
        self._file = SpooledTemporaryFile(IN_MEMORY, prefix="run-", dir=str(folder))  # noqa: SIM115 - closed with this
        weakref.finalize(self, self._file.close)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest dtype that holds all numbers."""
        return np.dtype(np.min_scalar_type(self._most))

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.shape[0] * self.dtype.itemsize

    def append(self, values: Array) -> None:
        """Append non-negative numbers.

        Raises:
            OverflowError: A number has more than 32 bits.
        """
        self._most = max(self._most, int(values.max(initial=0)))
        if self._most >> 32:
            message = f"{self._most} has more than 32 bits"
            raise OverflowError(message)
        self._file.write(_bytes(np.ascontiguousarray(values, np.uint32)))
        self.shape = (self.shape[0] + len(values),)

    def blocks(self) -> Iterator[memoryview]:
        """Yield all of its bytes."""
        self._file.seek(0)
        while block := self._file.read(IN_MEMORY):
            yield _bytes(np.frombuffer(block, np.uint32).astype(self.dtype))


Parts = Mapping[str, Array | Pieces]
"""Arrays to write, by name."""


def write(path: Path, arrays: Parts, meta: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write arrays and JSON-able ``meta`` to a new file.

    A large file is flushed to disk if it is ``durable``. Damage to a smaller one by a power loss is detected on
    opening.
    """
    # the header comes first, so offsets and checksums are computed before writing
    table: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        check_cancelled()
        checksum = 0
        for block in _blocks(array):
            checksum = zlib.crc32(block, checksum)
        table[name] = [array.dtype.str, list(array.shape), offset, checksum]
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"version": FORMAT_VERSION, "meta": meta, "arrays": table, "bytes": offset}).encode()
    with path.open("xb") as handle:
        handle.write(_PREFIX.pack(MAGIC, len(header), zlib.crc32(header)))
        handle.write(header)
        handle.write(b"\0" * (_data_start(len(header)) - handle.tell()))
        for array in arrays.values():
            check_cancelled()
            handle.writelines(_blocks(array))
            handle.write(b"\0" * (-array.nbytes % _ALIGN))
        if durable and handle.tell() > FULL_CHECK_BYTES:
            handle.flush()
            os.fsync(handle.fileno())


def _blocks(array: Array | Pieces) -> Iterable[memoryview]:
    return array.blocks() if isinstance(array, Pieces) else [_bytes(np.ascontiguousarray(array))]


def _bytes(array: Array) -> memoryview:
    """Return the memory of an array as bytes, without copying."""
    return array.reshape(-1).view(np.uint8).data


def _data_start(header_length: int) -> int:
    return -(-(_PREFIX.size + header_length) // _ALIGN) * _ALIGN


class Container:
    """A read-only view of a container file.

    Attributes:
        meta: The data written with the arrays.

    Raises:
        DamagedError: Wrong magic, version, checksum, length or table.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            with open(path, "rb", opener=opener) as handle:
                self._map = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise self._damaged("it is empty") from error
        try:
            self._table, self.meta, self._start = self._read_header()
        except (struct.error, RecursionError, *SYMPTOMS) as error:
            raise self._damaged("its header cannot be read") from error
        if len(self._map) <= FULL_CHECK_BYTES:
            self.check()

    def _damaged(self, how: str) -> DamagedError:
        return DamagedError(f"{self._name} is damaged: {how}")

    def _read_header(self) -> tuple[dict[str, Any], dict[str, Any], int]:
        # the header is untrusted until its checksum matches
        magic, length, crc = _PREFIX.unpack_from(self._map)
        raw = self._map[_PREFIX.size : _PREFIX.size + length]
        if magic != MAGIC or len(raw) != length or zlib.crc32(raw) != crc:
            raise self._damaged("its header does not match its checksum")
        header = json.loads(raw)
        if header["version"] != FORMAT_VERSION:
            message = f"{self._name} has format version {header['version']}, this is {FORMAT_VERSION}"
            raise OutdatedError(message)
        start = _data_start(length)
        if len(self._map) != start + header["bytes"]:
            raise self._damaged("it is cut short or too long")
        table, meta = header["arrays"], header["meta"]
        if not isinstance(table, dict) or not isinstance(meta, dict):
            raise self._damaged("its header is not a table")
        return table, meta, start

    def check(self) -> None:
        """Read the whole file and compare it with its checksums.

        Raises:
            DamagedError: An array does not match its checksum.
        """
        for name, row in self._table.items():
            check_cancelled()
            if zlib.crc32(_bytes(self.array(name))) != row[3]:
                raise self._damaged(f"array {name!r} does not match its checksum")
        self.drop_pages()

    def drop_pages(self) -> None:
        """Drop the pages of a large file from memory; they are read again when needed."""
        if len(self._map) > FULL_CHECK_BYTES and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def array(self, name: str) -> Array:
        """Return the array as a view of the map, without copying.

        Raises:
            DamagedError: There is no such array, or its entry in the header is invalid.
        """
        if name not in self._table:
            raise self._damaged(f"array {name!r} is missing")
        try:
            dtype, shape, offset, _ = self._table[name]
            # the table is untrusted: the array must be inside the map and hold plain numbers
            kind, begin = np.dtype(str(dtype)), self._start + offset
            size = math.prod(shape) * kind.itemsize
            fits = min([0, *shape]) == 0 and self._start <= begin <= begin + size <= len(self._map)
            if kind.kind in _KINDS and fits:
                return np.frombuffer(self._map, kind, math.prod(shape), begin).reshape(shape)
        except SYMPTOMS as error:
            raise self._damaged(f"the header is wrong about array {name!r}") from error
        raise self._damaged(f"the header is wrong about array {name!r}")

    def arrays(self) -> dict[str, Array]:
        """Return all arrays.

        Raises:
            DamagedError: The entry of one in the header is invalid.
        """
        return {name: self.array(name) for name in self._table}

    def buffer(self, name: str) -> memoryview:
        """Return the bytes of an array as a memoryview of the map."""
        return _bytes(self.array(name))

    def strings(self, name: str) -> Strings:
        """Return a table of packed strings."""
        return Strings(self.array(f"{name}.offsets"), self.buffer(f"{name}.buffer"))


def cached_arrays(
    path: Path,
    *,
    of: str,
    make: Callable[[], Arrays],
    holds: Callable[[Arrays], bool] = lambda _: True,
    keep: Callable[[], None] = lambda: None,
) -> Arrays:
    """Return arrays that take long to compute: mapped from ``path``, or computed and written there.

    If they cannot be written, they are computed again each time.

    Args:
        path: Their file, which is replaced if its content depends on other values.
        of: A text that names everything they depend on.
        make: Computes them.
        holds: Returns whether arrays that were read are still valid.
        keep: Called after they were written, to remove files that are no longer needed.
    """
    try:
        file = Container(path)
        if file.meta["of"] == of and holds(arrays := file.arrays()):
            return arrays
    except (DamagedError, *SYMPTOMS) as error:
        logger.info("%s is made anew: %s", path.name, error)
    arrays = make()
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        write(temporary, arrays, {"of": of})
        temporary.replace(path)
        keep()
    except OSError as error:
        logger.info("%s not kept: %s", path.name, error)
        try_remove(temporary)
    return arrays
