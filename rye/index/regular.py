"""Opening files of which nothing but a regular file is expected."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["opener"]

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def opener(path: str, flags: int) -> int:
    """Open a file for :func:`open`: a pipe in its place holds nobody up, and an endless device is not read.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    number = os.open(path, flags | _NONBLOCK, 0o666)
    if stat.S_ISREG(os.fstat(number).st_mode):
        return number
    os.close(number)
    raise OSError(errno.EINVAL, "it is no regular file", path)
