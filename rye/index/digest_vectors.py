"""Vectors by the digest of the bytes that they were made of, in one file for each model, for later processes.

The file is a cache: it is written anew as a whole, of two writers the last one wins, and one that is damaged, or cannot
be read or written, is as good as none.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rye.embedding.protocol import Floats
from rye.index import container
from rye.index.cache_folder import try_remove
from rye.index.container import Container, DamagedError
from rye.index.segment import EXTENSION
from rye.index.vectors import SCALE

logger = logging.getLogger(__name__)

_DIGEST_BYTES = 32


class DigestVectors:
    """A file of vectors of one model.

    Args:
        folder: Where it is, below the cache folder.
        model: The model, with all that its vectors depend on beside the bytes.
        dimensions: The length of a vector.
    """

    def __init__(self, folder: Path, model: str, dimensions: int) -> None:
        self.path = folder / f"beginnings-{hashlib.sha256(model.encode()).hexdigest()[:32]}{EXTENSION}"
        self._model, self._dimensions = model, dimensions

    def read(self) -> dict[str, Floats]:
        """Return the vectors by digest, in hexadecimal digits, the one used longest ago first."""
        try:
            file = Container(self.path)
            digests, rows = file.array("digest"), file.array("vector")
        except (OSError, DamagedError, KeyError) as error:
            if not isinstance(error, FileNotFoundError):
                logger.info("%s is not used: %s", self.path, error)
            return {}
        layout = [(each.dtype.str, each.shape) for each in (digests, rows)]
        count = len(digests)
        if file.meta.get("model") != self._model or layout != [
            ("|u1", (count, _DIGEST_BYTES)),
            ("<i2", (count, self._dimensions)),
        ]:
            return {}
        vectors = rows.astype(np.float32) / SCALE
        return {bytes(digest).hex(): vector for digest, vector in zip(digests, vectors, strict=True)}

    def write(self, vectors: Mapping[str, Floats]) -> None:
        """Write the vectors, by digest, in place of those that were there."""
        digests = np.frombuffer(bytes.fromhex("".join(vectors)), np.uint8).reshape(-1, _DIGEST_BYTES)
        rows = np.rint(np.stack(list(vectors.values())) * SCALE).astype(np.int16)
        temporary = self.path.with_suffix(f".{uuid.uuid4().hex}.tmp")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            container.write(temporary, {"digest": digests, "vector": rows}, {"model": self._model}, lasting=False)
            temporary.replace(self.path)
        except OSError as error:
            logger.info("%s is not written: %s", self.path, error)
            try_remove(temporary)
