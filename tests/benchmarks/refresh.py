"""How long it takes to bring an index up to date with the files of a project.

``python -m tests.benchmarks.refresh --items 10000`` lays so many signed files, and measures

- build: the first index, from reading the files to an index on disk;
- unchanged: a refresh that finds nothing to do, beside a bare walk that calls ``os.scandir`` and ``stat`` on the same
  files, one after the other, of each the best round;
- one changed: a search right after one file has changed, which must find what that file says now.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks import report
from tests.benchmarks.corpus import LONG, SHORT, Corpus
from tests.benchmarks.laying import lay

GOALS = {"unchanged": 2.0, "one changed, ms": 80.0}
SETTLE = 0.2
"""Seconds after which a file that has just been written is no longer read anew to be on the safe side."""


def walk(folder: str) -> int:
    """List every file below a folder and ask for its status; returns how many they are."""
    found = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += walk(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                found += 1
    return found


def measure(number: int, words: int, *, rounds: int, folder: Path) -> dict[str, Any]:
    """Lay the files below a folder and measure."""
    described = report.machine()
    items = Corpus(words).items(number)
    laid = lay(items, folder)
    registry, space = laid.registry(), str(laid.project / ".ai")
    time.sleep(SETTLE)
    began = time.perf_counter()
    first = registry.refresh()
    built = time.perf_counter() - began
    assert first.added == number
    time.sleep(SETTLE)
    registry.refresh()
    bare, unchanged, changed = [], [], []
    gc.collect()
    gc.freeze()  # the items of the corpus, which a user of the registry would not have
    for _ in range(rounds):
        began = time.perf_counter()
        assert walk(space) == number
        middle = time.perf_counter()
        again = registry.refresh()
        ended = time.perf_counter()
        assert (again.unchanged, again.changed) == (number, 0)
        bare.append(middle - began)
        unchanged.append(ended - middle)
    for turn in range(rounds):
        word = f"unheard{'abcdefghijklmnopqrstuvwxyz'[turn % 26]}{turn}"
        laid.write(items[turn * 37 % number], more=word)
        time.sleep(SETTLE)
        began = time.perf_counter()
        response = registry.search(word)
        changed.append(time.perf_counter() - began)
        assert response.total == 1
        assert response.results[0].id == items[turn * 37 % number].id
    gc.unfreeze()
    return {
        "items": number,
        "words": words,
        "machine": described,
        "build_s": round(built, 2),
        "walk_ms": round(min(bare) * 1e3, 2),
        "unchanged_ms": round(min(unchanged) * 1e3, 2),
        "unchanged": round(min(unchanged) / min(bare), 2),
        "one_changed": report.spread(changed),
    }


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown."""
    rows = [
        ["first build, s", f"{found['build_s']}", ""],
        ["bare walk, ms", f"{found['walk_ms']}", ""],
        ["nothing changed, ms", f"{found['unchanged_ms']}", ""],
        ["nothing changed, of the walk", f"{found['unchanged']} ×", f"≤ {GOALS['unchanged']} ×"],
        ["one changed, then a search, p50 ms", f"{found['one_changed']['p50']:.4g}", f"≤ {GOALS['one changed, ms']}"],
        ["one changed, then a search, p95 ms", f"{found['one_changed']['p95']:.4g}", ""],
    ]
    head = f"{found['items']:,} files, bodies of {found['words']} words"
    return "\n\n".join((head, json.dumps(found["machine"]), report.table(["", "measured", "goal"], rows)))


def main() -> None:
    """Measure, print the table, and write it beside the other results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--body", type=int, choices=(SHORT, LONG), default=SHORT, help="mean words of a body")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.items, options.body, rounds=options.rounds, folder=Path(folder))
    text = tables(found)
    print(text)
    if not options.no_write:
        report.write(f"refresh-{options.items}-{options.body}", found, text)


if __name__ == "__main__":
    main()
