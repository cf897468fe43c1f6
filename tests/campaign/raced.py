"""Searches in several processes while files change and the index is rebuilt and killed: no answer is of no moment.

A file says ``even`` and ``odd`` in turn. An answer that does not say that it is stale must agree with what the file
said at some time between the question and the answer.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.campaign.trial import Finding, Trial

SEARCHERS = 3
SECONDS = 4.0
ASK = """
import json, sys, time
from rye import Registry
registry = Registry(sys.argv[1], user=sys.argv[2], bundles=(), cache_dir=sys.argv[3])
ends = time.monotonic() + float(sys.argv[4])
while time.monotonic() < ends:
    began = time.monotonic()
    found = registry.search("even turncoat", relax=False)
    print(json.dumps([began, time.monotonic(), found.total, found.stale]), flush=True)
"""


class Moment(NamedTuple):
    """When the writing of something began and ended."""

    began: float
    ended: float
    said: int


class Asked(NamedTuple):
    """One search."""

    began: float
    ended: float
    total: int
    stale: bool


class Raced:
    """Trials of searches beside a writer."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self._trial = Trial(folder / "template").lay()
        self._said = 0
        self.counts: Counter[str] = Counter()

    def close(self) -> None:
        """Nothing was started."""

    def trial(self) -> None:
        """Let some processes search for a few seconds while the file changes."""
        self._say()
        where = [str(self._trial.project), str(self._trial.home), str(self._trial.folder / "cache"), str(SECONDS)]
        command = [sys.executable, "-c", ASK, *where]
        env = self._trial.environment()
        several = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(SEARCHERS)]
        moments = [Moment(0.0, 0.0, self._said)]
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            began = time.monotonic()
            self._say()
            moments.append(Moment(began, time.monotonic(), self._said))
            if self._chance.random() < 0.1:
                self._rebuild_killed()
            time.sleep(self._chance.uniform(0, 0.1))
        for process in several:
            out, _ = process.communicate(timeout=60)
            if process.returncode:
                message = f"a search ended with {process.returncode}"
                raise Finding(message)
            for line in out.splitlines():
                self._compare(Asked(*json.loads(line)), moments)

    def _say(self) -> None:
        self._said += 1
        place = self._trial.project / ".ai" / "tools" / "turncoat.py"
        beside = place.with_suffix(".new")
        text = f'"""The turncoat is {"even" if self._said % 2 == 0 else "odd"} at {self._said}."""\n'
        beside.write_text(text, encoding="utf-8")
        beside.replace(place)

    def _rebuild_killed(self) -> None:
        command = [sys.executable, "-m", "rye", "index", "rebuild"]
        none = subprocess.DEVNULL
        env = self._trial.environment()
        process = subprocess.Popen(command, cwd=self._trial.project, env=env, stdout=none, stderr=none)
        time.sleep(self._chance.uniform(0.1, 0.5))
        process.send_signal(signal.SIGKILL)
        self.counts["rebuilds killed"] += process.wait() < 0

    def _compare(self, asked: Asked, moments: Sequence[Moment]) -> None:
        self.counts["stale answers, said so" if asked.stale else "answers"] += 1
        if asked.stale:
            return
        # what stood there: written before the end, and not replaced before the beginning
        gone = [*(moment.ended for moment in moments[1:]), float("inf")]
        several = zip(moments, gone, strict=True)
        possible = {one.said % 2 == 0 for one, end in several if one.began <= asked.ended and end >= asked.began}
        if bool(asked.total) not in possible:
            message = f"{asked} agrees with none of {sorted(possible)}"
            raise Finding(message)
