"""Progress of slow work: one line on standard error, shown only on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rye._text import inline
from rye.cli.terminal import Terminal, bar, cells, cut

_PATIENCE = 1.0
_FRAME = 0.1
_BAR = 30


class IndexProgress:
    """The ``progress`` callback of a registry: one line on standard error, removed at the end of the context.

    Args:
        watched: Whether standard error is a terminal; None finds out.
        clock: Monotonic seconds.
        doing: Text of the line.
    """

    def __init__(
        self, *, watched: bool | None = None, clock: Callable[[], float] = time.monotonic, doing: str = "indexing"
    ) -> None:
        self._doing = doing
        is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._watched = is_terminal if watched is None else watched
        self._clock = clock
        self._begun = self._drawn = clock()
        self._used = 0
        self._source, self._first, self._since = "", 0, self._begun

    def __call__(self, done: int, total: int, source: str) -> None:
        """Show that ``done`` of ``total`` items of ``source`` are done; a total of 0 is unknown."""
        now = self._clock()
        if source != self._source or done < self._first:
            first = not self._source
            self._source, self._first, self._since = source, 0 if first else done, self._begun if first else now
        if not self._watched or now - self._begun < _PATIENCE or now - self._drawn < _FRAME:
            return
        self._drawn = now
        total = max(total, done) if total else 0
        speed = (done - self._first) / max(now - self._since, _FRAME)
        facts = f"{done:,}/{total:,}" if total else f"{done:,}"
        facts += f"  {speed:,.0f}/s" if speed >= 1 else ""
        facts += f"  {_duration((total - done) / speed)} left" if total and speed else ""
        text = " ".join(filter(None, [self._doing, inline(source), facts]))
        room = min(_BAR, shutil.get_terminal_size().columns - cells(text) - 3)
        if total and room > 0:
            text += f"  {bar(done / total, room, Terminal.of(sys.stderr))}"
        self._draw(text)

    def _draw(self, text: str) -> None:
        """Overwrite the line. It is cut to the width, because a wrapped line cannot be overwritten."""
        text = cut(text, shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"\r{text}{' ' * (self._used - cells(text))}")
        sys.stderr.flush()
        self._used = cells(text)

    def clear(self) -> None:
        """Remove the line, so that another can be written in its place."""
        if self._used:
            self._draw("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.0f} h"
