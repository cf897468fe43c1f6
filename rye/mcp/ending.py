"""The end of a server: it comes promptly, when the client has left or a signal says so, whatever is going on."""

from __future__ import annotations

import os
import signal
import threading

import anyio

__all__ = ["GRACE", "end_soon", "signalled"]

GRACE = 3.0
"""Seconds that the process has left from when it is to end: a thread that waits for a client or a disk may wait on."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def end_soon() -> None:
    """Let this process end within :data:`GRACE`, even if a thread does not."""
    last = threading.Timer(GRACE, os._exit, (0,))
    last.daemon = True
    last.start()


async def signalled() -> None:
    """Wait for a signal to end; where signals cannot be waited for, they end the process themselves."""
    try:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for _ in signals:
                return
    except NotImplementedError:
        await anyio.sleep_forever()
