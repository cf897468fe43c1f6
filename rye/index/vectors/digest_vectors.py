"""A cache of vectors by the digest of the embedded bytes, one file for each model, shared with later processes.

The file is a log of records of equal size: digest, vector, checksum. New vectors are appended. When the file holds
twice as many as are kept, it is rewritten with the newest. A damaged record is skipped, and a file that cannot be read
or written is ignored.
"""

from __future__ import annotations

import hashlib
import logging
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from rye._files import write_atomically
from rye.embedding.protocol import Floats
from rye.errors import EnvironmentFault
from rye.index.segment.segment import EXTENSION
from rye.index.storage.arrays import Array
from rye.index.vectors.vectors import SCALE

logger = logging.getLogger(__name__)

KEPT: Final = 4_096
"""Vectors that are kept: 3 MB on disk with 384 dimensions, at most twice that."""

_DIGEST_BYTES: Final = 32


class DigestVectors:
    """A file of vectors of one model.

    Args:
        folder: Its folder, in the cache folder.
        model: The model, with everything else that its vectors depend on besides the bytes.
        dimensions: The length of a vector.
    """

    def __init__(self, folder: Path, model: str, dimensions: int) -> None:
        name = hashlib.sha256(f"{model}\0{dimensions}".encode()).hexdigest()[:32]
        self.path = folder / f"beginnings-{name}{EXTENSION}"
        self._record = np.dtype(
            [("digest", np.uint8, _DIGEST_BYTES), ("vector", "<i2", dimensions), ("check", "<u4")]
        )  # fmt: skip

    def read(self) -> dict[str, Floats]:
        """Return the newest vectors by hex digest, oldest first."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                logger.info("%s is not used: %s", self.path, error)
            return {}
        rows = np.frombuffer(data, self._record, len(data) // self._record.itemsize)
        intact = [zlib.crc32(row.tobytes()[:-4]) == row["check"] for row in rows]
        last = rows[intact][::-1]  # newest first
        vectors = {bytes(row["digest"]).hex(): row["vector"].astype(np.float32) / SCALE for row in last}
        return dict(list(vectors.items())[:KEPT][::-1])

    def add(self, vectors: Mapping[str, Floats]) -> None:
        """Append vectors, by digest."""
        rows = np.zeros(len(vectors), self._record)
        for row, (digest, vector) in zip(rows, vectors.items(), strict=True):
            row["digest"] = np.frombuffer(bytes.fromhex(digest), np.uint8)
            row["vector"] = np.rint(vector * SCALE)
            row["check"] = zlib.crc32(row.tobytes()[:-4])
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            size = self.path.stat().st_size if self.path.exists() else 0
            if size % self._record.itemsize or size >= 2 * KEPT * self._record.itemsize:
                self._compact(rows)
            else:
                handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                with os.fdopen(handle, "ab") as file:
                    file.write(rows.tobytes())
        except (OSError, EnvironmentFault) as error:
            logger.info("%s is not written: %s", self.path, error)

    def _compact(self, new: Array) -> None:
        """Rewrite the file with the newest records, followed by new ones."""
        data = self.path.read_bytes()
        rows = np.frombuffer(data, self._record, len(data) // self._record.itemsize)
        rows = rows[max(len(rows) + len(new) - KEPT, 0) :]
        write_atomically(self.path, rows.tobytes() + new.tobytes(), mode=0o600)
