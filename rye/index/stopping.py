"""Stopping work on an index that nobody waits for any more: the work asks at every file and between larger steps.

A step does not have to be handed what it asks: that belongs to the thread, for as long as the work goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rye.errors import CancelledError

Cancelled = Callable[[], bool]
"""Asked often, in the thread that works; True ends the work with :class:`rye.errors.CancelledError`."""

_ASKED: ContextVar[Cancelled | None] = ContextVar("rye_index_cancelled", default=None)


@contextmanager
def stoppable(cancelled: Cancelled | None) -> Iterator[None]:
    """Let what is done in this context by this thread be stopped."""
    token = _ASKED.set(cancelled)
    try:
        check()
        yield
    finally:
        _ASKED.reset(token)


def check() -> None:
    """Stop here if the work has been cancelled.

    Raises:
        CancelledError: ``cancelled``.
    """
    cancelled = _ASKED.get()
    if cancelled is not None and cancelled():
        message = "the indexing was cancelled; what was indexed before still serves"
        raise CancelledError("cancelled", message, hint="ask again: the next search indexes what is missing")
