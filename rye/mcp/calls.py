"""One call while a thread works on it: progress and cancellation."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import anyio
from mcp.server.context import ServerRequestContext

from rye.errors import CancelledError

_PACE = 0.05
"""Minimum seconds between two progress reports."""


class ReportProgress(Protocol):
    """Reports progress to the client of a call; callable from any thread."""

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Report that ``done`` of ``total`` is done."""


class Call:
    """A call that a thread works on.

    Args:
        report: Takes progress; None if nobody asked for it.
        clock: Returns seconds, to limit the rate of reports.
    """

    def __init__(
        self,
        report: ReportProgress | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gone = threading.Event()
        self._report = report
        self._clock = clock
        self._before = 0.0
        self._last: tuple[str, float] = ("", 0.0)
        self._reported, self._next = -1.0, 0.0

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits."""
        return not self._gone.is_set()

    def abandon(self) -> None:
        """Record that nobody waits for the answer any more."""
        self._gone.set()

    def check(self) -> None:
        """Raise an error if the client no longer waits for the answer.

        Raises:
            CancelledError: ``cancelled``.
        """
        if self._gone.is_set():
            raise CancelledError("cancelled", "the call was cancelled", hint="steps that had not started were not done")

    def report_files(self, done: int, total: int, source: str) -> None:
        """Report that ``done`` of ``total`` files of a source are read; the reported number only grows."""
        if self._report is None or self._gone.is_set():
            return
        last_source, last = self._last
        if source != last_source:
            self._before += last
        self._last = (source, float(done))
        now, reached = self._clock(), self._before + done
        if reached <= self._reported or now < self._next:
            return
        self._reported, self._next = reached, now + _PACE
        count = f"{done} of {total} files" if total else f"{done} files"
        self._report(reached, self._before + total if total else None, f"{source}: {count}".lstrip(": "))


_WAITING = 16


@asynccontextmanager
async def progress_of(ctx: ServerRequestContext[Any, Any]) -> AsyncIterator[ReportProgress | None]:
    """Return the function that reports progress; None if the client did not ask for progress."""
    if (ctx.meta or {}).get("progress_token") is None:
        yield None
        return
    loop = asyncio.get_running_loop()
    send, receive = anyio.create_memory_object_stream[tuple[float, float | None, str]](_WAITING)

    def offer(*step: Any) -> None:
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError):  # a client that reads slowly misses steps
            send.send_nowait(step)

    def report(done: float, total: float | None, message: str) -> None:
        with suppress(RuntimeError):  # the server is ending
            loop.call_soon_threadsafe(offer, done, total, message)

    async def pump() -> None:
        async with receive:
            async for step in receive:
                await ctx.session.report_progress(*step)

    pumping = asyncio.create_task(pump())
    try:
        yield report
        send.close()
        await pumping
    finally:
        send.close()
        pumping.cancel()
