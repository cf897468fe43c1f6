"""Files of the index that are damaged between two commands: the next one answers as if nothing had happened."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.campaign.trial import Finding, Trial

QUERIES = ("deploy", "*", '"all about"', "notes NOT invoice", "bakcup", "type:tool ops/*")


class Damaged:
    """Trials of damage to the cache."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder, self._chance = folder, chance
        self._template = Trial(folder / "template").lay()
        self._wanted = {query: self._hits(self._template, query) for query in QUERIES}
        self.counts: Counter[str] = Counter()

    def _hits(self, trial: Trial, query: str) -> list[Any]:
        found = trial.answer("search", query, "--space", "project")
        return [(one["type"], one["id"], one["score"], one["signature"]["verdict"]) for one in found["results"]]

    def close(self) -> None:
        """Nothing was started."""

    def trial(self) -> None:
        """Damage a file or two of the index, then search."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            trial = self._template.copy(Path(folder) / "t")
            trial.answer("search", "deploy")  # an index for this folder
            files = [path for path in sorted((trial.folder / "cache").rglob("*")) if path.is_file()]
            done = [
                (path.name, self._damage(path)) for path in self._chance.sample(files, self._chance.choice((1, 1, 2)))
            ]
            self.counts.update(what for _, what in done)
            query = self._chance.choice(QUERIES)
            found = self._hits(trial, query)
            if found != self._wanted[query]:
                message = f"{done}: {query!r} finds {found}, not {self._wanted[query]}"
                raise Finding(message)
            if self._hits(trial, query) != found:
                message = f"{done}: {query!r} finds something else the second time"
                raise Finding(message)

    def _damage(self, path: Path) -> str:
        """Damage a file in one way, and return which."""
        data, size = bytearray(path.read_bytes()), path.stat().st_size
        way = self._chance.choice(("flip", "cut", "grow", "zero", "empty", "remove", "folder", "link", "old times"))
        at = self._chance.randrange(size) if size else 0
        if way == "flip" and size:
            data[at] ^= 1 << self._chance.randrange(8)
        elif way == "zero":
            data[at : at + 512] = bytes(len(data[at : at + 512]))
        elif way == "cut":
            data = data[:at]
        elif way == "grow":
            data += self._chance.randbytes(self._chance.randrange(1, 5000))
        elif way == "empty":
            data.clear()
        if way in {"flip", "zero", "cut", "grow", "empty"}:
            path.write_bytes(data)
        elif way == "old times":
            os.utime(path, (0, 0))
        else:
            path.unlink()
        if way == "folder":
            path.mkdir()
        elif way == "link":
            target = self._chance.choice(("/dev/null", "/nowhere", str(path.parent)))
            path.symlink_to(target)
        return way
