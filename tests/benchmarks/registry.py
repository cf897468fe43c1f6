"""How long a whole search takes: in a process that goes on, and as the ``rye search`` command.

``python -m tests.benchmarks.registry --items 10000`` lays so many signed files, and measures

- page: ``Registry.search``, ten hits read from disk and verified at that moment, with no look at the other files, also
  not by the query before it;
- scan: the same after comparing all files with the index, which is the default;
- process: ``rye search`` from start to end, beside a process that only imports what that one had imported of other
  people's, in pairs, one after the other.

Of each query the best round counts; p50 and p95 are over the queries of a kind.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rye import Registry
from rye.trust.model import Verdict
from tests.benchmarks import report
from tests.benchmarks.asking import KINDS, SENTENCE, Query, queries
from tests.benchmarks.corpus import LONG, SHORT, Corpus
from tests.benchmarks.laying import Laid, lay
from tests.benchmarks.ours import text_of

GOAL_MS = 2.5
STALE = 1e9
"""Seconds for which the last scan serves: for ever."""

_LOADED = """
import json, sys
from rye.cli import main
status = main(sys.argv[2:])
loaded = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
names = [name for name in loaded if name.partition(".")[0] != "rye"]
open(sys.argv[1], "w").write(json.dumps([status, names]))
"""
_BARE = """
import importlib, json, sys
for name in json.load(open(sys.argv[1])):
    importlib.import_module(name)
"""


def ask(registry: Registry, query: Query) -> float:
    """Return the seconds that one search takes; every hit must be verified."""
    filters = {"type": query.item_type} if query.item_type else None
    text = text_of(query)
    began = time.perf_counter()
    response = registry.search(text, filters=filters, offset=query.offset)
    took = time.perf_counter() - began
    assert all(hit.signature.verdict is Verdict.TRUSTED for hit in response.results), text
    return took


def pages(registries: Mapping[str, Registry], asked: Sequence[Query], rounds: int) -> dict[str, Any]:
    """Return p50 and p95 of each kind, and over all queries, for each registry in turn."""
    samples: dict[str, list[list[float]]] = {name: [[] for _ in asked] for name in registries}
    for turn in range(rounds + 1):  # the first fills caches and does not count
        gc.collect()
        for name, registry in registries.items():
            for number, query in enumerate(asked):
                took = ask(registry, query)
                samples[name][number] += [took] if turn else []
    found: dict[str, Any] = {}
    for name, rows in samples.items():
        times = list(map(min, rows))
        kinds = {
            kind: report.spread([took for took, query in zip(times, asked, strict=True) if query.kind == kind])
            for kind in dict.fromkeys(query.kind for query in asked)
        }
        found[name] = {"all": report.spread(times)} | kinds
    return found


def process(laid: Laid, words: Sequence[str], pairs: int) -> dict[str, float]:
    """Return the milliseconds of ``rye search`` and of its bare imports, medians, and the median of their ratios."""
    environment = {**os.environ, **laid.environment()}
    with tempfile.TemporaryDirectory() as folder:
        loaded, bare = Path(folder, "loaded.json"), Path(folder, "bare.json")
        arguments = ["search", words[0], *laid.arguments(), "--max-staleness", str(STALE)]
        _run([sys.executable, "-c", _LOADED, str(loaded), *arguments], environment)
        status, names = json.loads(loaded.read_text(encoding="utf-8"))
        assert status == 0
        bare.write_text(json.dumps(names), encoding="utf-8")
        whole, imports = [], []
        for pair in range(pairs):
            arguments[1] = words[pair % len(words)]
            whole.append(_run([sys.executable, "-m", "rye", *arguments], environment))
            imports.append(_run([sys.executable, "-c", _BARE, str(bare)], environment))
    ratio = median(one / other for one, other in zip(whole, imports, strict=True))
    return {
        "whole_ms": round(median(whole) * 1e3, 1),
        "imports_ms": round(median(imports) * 1e3, 1),
        "ratio": round(ratio, 3),
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=dict(environment), check=True, capture_output=True)
    return time.perf_counter() - began


def measure(number: int, words: int, *, each: int, rounds: int, pairs: int, folder: Path) -> dict[str, Any]:
    """Lay the files below a folder and measure."""
    described, corpus = report.machine(), Corpus(words)
    items = corpus.items(number)
    laid = lay(items, folder)
    asked = queries(items, corpus.vocabulary, each, (*KINDS, SENTENCE))
    del items
    began = time.perf_counter()
    laid.registry().refresh()
    built = time.perf_counter() - began
    registries = {"page": laid.registry(max_staleness=math.inf), "scan": laid.registry()}
    found = pages(registries, asked, rounds)
    common = [query.words[0] for query in asked if query.kind == "term common"]
    return {
        "items": number,
        "words": words,
        "machine": described,
        "first_build_s": round(built, 2),
        "process": process(laid, common, pairs),
        **found,
    }


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown."""
    rows = [
        [kind, *(f"{found[way][kind][part]:.4g}" for way in ("page", "scan") for part in ("p50", "p95"))]
        for kind in found["page"]
    ]
    one = found["process"]
    return "\n\n".join(
        (
            f"{found['items']:,} files, bodies of {found['words']} words; the goal of page is a p50 of {GOAL_MS} ms",
            json.dumps(found["machine"]),
            report.table(["", "page p50 ms", "page p95 ms", "scan p50 ms", "scan p95 ms"], rows),
            f"rye search: {one['whole_ms']} ms, {one['ratio']} × its bare imports ({one['imports_ms']} ms)",
        )
    )


def main() -> None:
    """Measure, print the tables, and write them beside the other results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--body", type=int, choices=(SHORT, LONG), default=SHORT, help="mean words of a body")
    parser.add_argument("--each", type=int, default=20, help=f"queries of each kind: {', '.join(KINDS)}, {SENTENCE}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=15, help="processes of each of the two")
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(
            options.items,
            options.body,
            each=options.each,
            rounds=options.rounds,
            pairs=options.pairs,
            folder=Path(folder),
        )
    text = tables(found)
    print(text)
    if not options.no_write:
        report.write(f"registry-{options.items}-{options.body}", found, text)


if __name__ == "__main__":
    main()
