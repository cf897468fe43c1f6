"""One call while it is worked on in a thread: whether it is still wanted, how far it is, what its user is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from rye.errors import CancelledError

__all__ = ["Asked", "Call", "Confirm", "Report"]


_PACE = 0.05
"""Seconds between two steps that are told."""


class Report(Protocol):
    """Tells the client of a call how far it is; may be called from any thread."""

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Say that ``done`` of ``total`` is done."""


Confirm = Callable[[str, str], bool]
"""Asks the user of the client a question, given what the answer is bound to; waits for it."""


class Asked(Exception):
    """The client must ask its user, and call again with the answer.

    Attributes:
        question: What to ask.
        binding: What the answer will be about, to be handed back with it.
    """

    def __init__(self, question: str, binding: str) -> None:
        super().__init__(question)
        self.question = question
        self.binding = binding


class Call:
    """A call that a thread works on.

    Args:
        report: Where progress goes; None where nobody asked for it.
        confirm: How the user is asked; None where the client cannot.
    """

    def __init__(self, report: Report | None = None, confirm: Confirm | None = None) -> None:
        self._gone = threading.Event()
        self._report = report
        self.confirm = confirm
        self._before = 0.0
        self._last: tuple[str, float] = ("", 0.0)
        self._told, self._next = -1.0, 0.0

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits."""
        return not self._gone.is_set()

    def abandon(self) -> None:
        """Say that nobody waits any more."""
        self._gone.set()

    def check(self) -> None:
        """Stop here if nobody waits.

        Raises:
            CancelledError: ``cancelled``: nobody does.
        """
        if self._gone.is_set():
            raise CancelledError("cancelled", "the call was cancelled", hint="what it had not begun was not done")

    def tell(self, done: int, total: int, source: str) -> None:
        """Report that ``done`` of ``total`` files of a source are read; what is reported only grows."""
        if self._report is None or self._gone.is_set():
            return
        last_source, last = self._last
        if source != last_source:
            self._before += last
        self._last = (source, float(done))
        now, reached = time.monotonic(), self._before + done
        if reached <= self._told or now < self._next:
            return
        self._told, self._next = reached, now + _PACE
        whole = f"{done} of {total} files" if total else f"{done} files"
        self._report(reached, self._before + total if total else None, f"{source}: {whole}".lstrip(": "))
