"""Kills processes in the middle of writing an index, again and again, and looks at what they leave.

Run as ``python -m tests.support.killing FOLDER SEED TRIALS``. This process has everything imported; each trial changes
some files, forks a process that refreshes the index, kills it after a random time, looks at what is left, and
refreshes. It ends with a line of JSON that counts what happened, or with an assertion that says what was wrong.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np

from rye.index import parallel_build as runs
from rye.index.refresh import SpaceIndex
from rye.index.segment import EXTENSION
from rye.index.store import Snapshot, Store
from rye.spaces.model import Root, Space

State = dict[str, str]
"""Path of each item and the SHA-256 of its bytes."""


def held(snapshot: Snapshot | None) -> State | None:
    """Return what a snapshot holds, every posting of it read."""
    if snapshot is None:
        return None
    found = {}
    for listed in snapshot.segments:
        segment = listed.segment
        keys, _ = segment.occurrences(np.arange(segment.term_postings.item(-1)))
        assert len(keys) >= segment.docs
        assert len(segment.keywords.everything) > 0
        for doc in listed.live.nonzero()[0].tolist():
            found[segment.paths[doc]] = segment.evidence[doc].content_digest
    return found


class Trials:
    """A space and its index, and what became of the processes that wrote it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._root = Root(Space.PROJECT, folder / "project" / ".ai")
        self._index = folder / "index"
        self._takes = {"build": 0.03, "refresh": 0.03}
        self.counts: Counter[str] = Counter()
        (self._root.path / "tools").mkdir(parents=True)
        self._index.mkdir(mode=0o700)

    def _state(self) -> State:
        files = (self._root.path / "tools").glob("*.py")
        return {f"tools/{path.name}": sha256(path.read_bytes()).hexdigest() for path in files}

    def _change(self) -> None:
        """Write, change and remove some files; the number of all stays about the same."""
        names = [f"tool{number}.py" for number in range(60)]
        for name in self._random.sample(names, self._random.choice([1, 3, 30])):
            path = self._root.path / "tools" / name
            if path.exists() and self._random.random() < 0.4:
                path.unlink()
            else:
                words = " ".join(self._random.choices(["deploy", "fileSystem", "snapshot", "the"], k=40))
                path.write_text(f'"""{words} {self._random.random()}"""\n', encoding="utf-8")

    def trial(self) -> None:
        """Change, refresh in another process, kill it, look, fix."""
        kind = "build" if self._random.random() < 0.2 else "refresh"
        if kind == "build":
            shutil.rmtree(self._index)
            self._index.mkdir(mode=0o700)
        before = held(Store(self._index).open())
        self._change()
        after = self._state()
        killed = self._killed(kind)
        seen = held(Store(self._index).open())
        assert seen in (before, after), f"{kind}: neither the snapshot before nor the one after"
        assert killed or seen == after
        self.counts[f"{kind}, {'killed' if killed else 'ended'}, {'new' if seen == after else 'old'}"] += 1
        self.counts["left something"] += self._names() != self._expected()
        fixed = SpaceIndex(self._root, self._index).refresh()
        assert not fixed.stale
        assert held(Store(self._index).open()) == after
        if fixed.added or fixed.changed or fixed.removed:
            assert self._names() == self._expected(), "something was left"
            self.counts["swept"] += 1

    def _killed(self, kind: str) -> bool:
        """Refresh in another process for a random time and return whether it was killed before its end."""
        began = time.perf_counter()
        child = os.fork()
        if not child:
            try:
                SpaceIndex(self._root, self._index).refresh()
            finally:
                os._exit(0)
        time.sleep(self._takes[kind] * self._random.uniform(0, 1.2))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            self._takes[kind] *= 1.02
            return True
        self._takes[kind] = 0.5 * (self._takes[kind] + time.perf_counter() - began) * 0.9
        return False

    def _names(self) -> set[str]:
        return {path.name for path in self._index.iterdir()}

    def _expected(self) -> set[str]:
        """Return the files of the newest generation, and those that belong to none."""
        store = Store(self._index)
        snapshot = store.open()
        if snapshot is None:
            return set()
        own = {f"_MAIN_{snapshot.generation}.toc", f"files-{snapshot.generation}{EXTENSION}"}
        return own | {listed.row.file(EXTENSION) for listed in snapshot.segments} | {"MAIN_WRITELOCK", "compared"}


def main() -> None:
    """Run the trials."""
    folder, seed, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:  # pieces, so that runs are written and joined as well; no helpers, which take long to start
        runs.PIECE_BYTES = 2_000
    trials = Trials(folder, seed)
    for _ in range(number):
        trials.trial()
    sys.stdout.write(json.dumps(trials.counts))


if __name__ == "__main__":
    main()
