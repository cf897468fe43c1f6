"""Two things at once: NumPy and zlib let go of the interpreter while they work, so threads use more than one core."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


def together(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Call both, the first in a thread of its own, and return what they return; both can be cancelled."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(copy_context().run, first)
        done = second()
        return waiting.result(), done
