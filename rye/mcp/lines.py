"""What the client writes, line by line, read by a thread that holds nothing up when the server is to end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import BinaryIO

from rye.mcp.ending import end_soon
from rye.mcp.wire import text_of

__all__ = ["Lines"]

_AHEAD = 16
"""Lines that are read before the first of them is taken."""


class Lines:
    """The lines of a pipe. Made in the event loop that takes them.

    Args:
        reading: The pipe.
    """

    def __init__(self, reading: BinaryIO) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, args=(reading,), name="rye-lines", daemon=True).start()

    def _read(self, reading: BinaryIO) -> None:
        with suppress(RuntimeError):  # the loop has ended
            with suppress(OSError):
                for line in text_of(reading):
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            end_soon()
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line
