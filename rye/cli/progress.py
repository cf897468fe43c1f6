"""A progress bar on standard error, only where someone looks and only when the work takes more than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rye.cli.text import inline

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["IndexProgress"]

_PATIENCE = 1.0
_FRAME = 0.1


class IndexProgress:
    """The ``progress`` callback of a registry; as a context it clears the bar away at its end.

    Args:
        watched: Whether someone looks at standard error.
        clock: Seconds that only grow.
        doing: What the bar says is going on.
    """

    def __init__(
        self, *, watched: bool | None = None, clock: Callable[[], float] = time.monotonic, doing: str = "indexing"
    ) -> None:
        self._doing = doing
        self._watched = _is_watched() if watched is None else watched
        self._clock = clock
        self._begun = self._drawn = clock()
        self._bar: Progress | None = None

    def __call__(self, done: int, total: int, source: str) -> None:
        """Show that ``done`` of ``total`` files of ``source`` are read; of a total of 0, as it is not known."""
        now = self._clock()
        if not self._watched or now - self._begun < _PATIENCE or now - self._drawn < _FRAME:
            return
        self._drawn = now
        bar = self._bar = self._bar or _open_bar()
        bar.update(bar.task_ids[0], completed=done, total=total or None, description=f"{self._doing} {inline(source)}")
        bar.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _open_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True, highlight=False),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.start()
    bar.add_task("indexing")
    return bar
