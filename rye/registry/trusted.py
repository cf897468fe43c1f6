"""The view of trusted items: states of the indexes that hold no other item, so that no answer can name another."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from rye.index.build.reader import Reader
from rye.index.build.store import Snapshot
from rye.registry.state import State
from rye.search.states.states import States
from rye.trust.model import Verdict
from rye.trust.trust_store import system_clock


class _Narrowed(NamedTuple):
    """The trusted part of a reader, and the readers made of it since."""

    whole: Reader
    mask: bytes
    snapshots: tuple[Snapshot, ...]
    readers: dict[tuple[str, bool], Reader]


class TrustedView:
    """Narrows states to their trusted items.

    The last result is kept: while the same items are trusted, its readers and what they have worked out serve again.
    """

    def __init__(self) -> None:
        self._last: _Narrowed | None = None

    def of(self, state: State) -> State:
        """Return a state with the trusted items of another, without the files and warnings of all others."""
        whole, now = state.with_own, system_clock()
        trusted = States(whole, whole, lambda: state.trust.trust, now).having(Verdict.TRUSTED)
        last, mask = self._last, trusted.tobytes()
        if last is None or last.whole is not whole or last.mask != mask:
            last = _Narrowed(whole, mask, tuple(snapshot for _, snapshot in whole.only(trusted).snapshots), {})
            self._last = last
        pairs = zip(state.refreshed, last.snapshots, strict=True)
        refreshed = tuple((root, replace(report, snapshot=part, warnings=())) for (root, report), part in pairs)
        return replace(state, refreshed=refreshed, warnings=(), readers=last.readers, only_trusted=True)
