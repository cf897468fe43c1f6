"""Sets of documents that take long to work out, kept in a file between processes.

Such a file stands beside a segment and goes with it. It holds a bit per document, and what it was made of: of anything
else, or damaged, it is made anew. Nothing but these bits is taken from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rye.index import container
from rye.index.container import Container, DamagedError
from rye.index.segment import Bools

logger = logging.getLogger(__name__)

Masks = Mapping[str, Bools]


def kept_masks(path: Path, names: Sequence[str], size: int, *, of: str, make: Callable[[], Masks]) -> Masks:
    """Return masks over documents, read from ``path`` or made anew and written there.

    Args:
        path: Their file; the last one made of anything else is replaced.
        names: What the masks are called.
        size: How many documents there are.
        of: Names everything that they depend on.
        make: Returns them.
    """
    try:
        return _read(path, names, size, of)
    except DamagedError:
        masks = make()
    temporary = path.with_suffix(".tmp")
    try:
        temporary.unlink(missing_ok=True)
        container.write(temporary, {name: np.packbits(masks[name]) for name in names}, {"of": of})
        temporary.replace(path)
    except OSError as error:
        logger.info("%s not kept: %s", ", ".join(names), error)
    return masks


def _read(path: Path, names: Sequence[str], size: int, of: str) -> Masks:
    try:
        file = Container(path)
        if file.meta["of"] != of:
            message = f"{path.name} is of something else"
            raise DamagedError(message)
        packed = [file.array(name) for name in names]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DamagedError(str(error)) from error
    if any(bits.dtype != np.uint8 or bits.shape != (-(-size // 8),) for bits in packed):
        message = f"{path.name} is not of {size} documents"
        raise DamagedError(message)
    return {name: np.unpackbits(bits, count=size).view(bool) for name, bits in zip(names, packed, strict=True)}
