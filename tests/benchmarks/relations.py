"""What relations add to a query, and to an index, beside the query and the index themselves.

``python -m tests.benchmarks.relations --items 100000`` lays so many signed files, each of which refers to three others,
mentions one and names one that is not there, and measures in one process

- warm: a query, the same query with a condition on relations, and the search for the condition alone, in turns. A
  condition also leaves less to rank, so what it costs at most is the search for it alone;
- cold: the first query of a new registry, and the first with a condition; ``is:orphan`` also where nothing is kept of
  it, so that all references are resolved;
- refs: ``Registry.refs`` of an item, one step and three steps, ten relations listed.

Of each query the best round counts.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from rye.items.model import Item
from tests.benchmarks import report
from tests.benchmarks.asking import queries
from tests.benchmarks.corpus import SHORT, Corpus
from tests.benchmarks.laying import Laid, lay
from tests.benchmarks.ours import text_of

CONDITIONS = ("is:orphan", "is:dangling", "references:{}", "referenced-by:{}", "references:{}*")
FIRST = ("is:orphan", "is:dangling", "references:{}", "referenced-by:{}")
_STRIDES = (1, 7, 101)


def related(items: Sequence[Item]) -> list[Item]:
    """Return items that refer to each other."""
    found = []
    for number, item in enumerate(items):
        ids = [items[(number * stride + stride) % len(items) // (1 + number % 3)].id for stride in _STRIDES]
        body = f"{item.body}\n\nSee {items[number // 2].id}.\n"
        found.append(replace(item, body=body, metadata={**item.metadata, "references": [*ids, f"gone/{number}"]}))
    return found


def clock(work: Callable[[], Any]) -> float:
    """Return the milliseconds that something takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def warm(laid: Laid, asked: Sequence[str], named: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return for each condition the median over the queries of: the query, what the condition adds, and takes alone."""
    registry = laid.registry(max_staleness=math.inf)
    registry.search("is:orphan")
    plain = [math.inf] * len(asked)
    with_it = {condition: [math.inf] * len(asked) for condition in CONDITIONS}
    alone = {condition: [math.inf] * len(asked) for condition in CONDITIONS}
    for _ in range(rounds + 1):
        gc.collect()
        for at, (text, item_id) in enumerate(zip(asked, named, strict=True)):
            plain[at] = min(plain[at], clock(partial(registry.search, text, relax=False)))
            for condition, best in with_it.items():
                whole = f"({text}) {condition.format(item_id)}"
                best[at] = min(best[at], clock(partial(registry.search, whole, relax=False)))
                only = partial(registry.search, condition.format(item_id), limit=1)
                alone[condition][at] = min(alone[condition][at], clock(only))
    return {
        condition: {
            "query_ms": round(median(plain), 3),
            "added_ms": round(median(one - other for one, other in zip(best, plain, strict=True)), 3),
            "alone_ms": round(median(alone[condition]), 3),
            "ratio": round(median(one / other for one, other in zip(alone[condition], plain, strict=True)), 3),
        }
        for condition, best in with_it.items()
    }


def cold(laid: Laid, text: str, item_id: str, rounds: int) -> dict[str, float]:
    """Return the best milliseconds of the first query of a new registry, and what conditions add to the first.

    ``anew`` is what one adds where the index has changed, so that all references are resolved.
    """
    best = {"query": math.inf} | dict.fromkeys((*FIRST, "anew"), math.inf)
    for _ in range(rounds):
        for name in best:
            if name == "anew":
                for kept in laid.folder.glob("cache/**/*.relations.ryx"):
                    kept.unlink()
            registry = laid.registry(max_staleness=math.inf)
            condition = {"query": "", "anew": "is:orphan"}.get(name, name).format(item_id)
            best[name] = min(best[name], clock(partial(registry.search, f"({text}) {condition}")))
    added = {name: round(took - best["query"], 2) for name, took in best.items()}
    return added | {"query": round(best["query"], 2)}


def refs(laid: Laid, names: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of following relations from some items."""
    registry = laid.registry(max_staleness=math.inf)
    found = {}
    for depth in (1, 3):
        best = [math.inf] * len(names)
        for _ in range(rounds):
            for at, name in enumerate(names):
                best[at] = min(best[at], clock(partial(registry.refs, name, depth=depth, limit=10)))
        found[f"depth_{depth}_ms"] = round(median(best), 3)
    return found


def measure(number: int, *, each: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Lay the files below a folder and measure."""
    corpus = Corpus(SHORT)
    items = related(corpus.items(number))
    laid = lay(items, folder)
    asked = [query for query in queries(items, corpus.vocabulary, each) if query.kind in {"term common", "and", "or3"}]
    named = [items[at * len(items) // len(asked)] for at in range(len(asked))]
    began = time.perf_counter()
    laid.registry().refresh()
    built = time.perf_counter() - began
    return {
        "items": number,
        "machine": report.machine(),
        "first_build_s": round(built, 2),
        "warm": warm(laid, [text_of(query) for query in asked], [item.id for item in named], rounds),
        "cold": cold(laid, text_of(asked[0]), items[number // 3].id, rounds),
        "refs": refs(laid, [f"{item.type}:{item.id}" for item in named[:10]], rounds),
    }


def tables(found: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    rows = [
        [name, *(f"{row[part]:g}" for part in ("query_ms", "added_ms", "alone_ms", "ratio"))]
        for name, row in found["warm"].items()
    ]
    first, walk = found["cold"], found["refs"]
    return "\n\n".join(
        (
            f"{found['items']:,} files, five references each; built in {found['first_build_s']} s",
            report.table(["condition", "query, p50 ms", "added, p50 ms", "alone, p50 ms", "alone / query"], rows),
            f"first query of a process: {first['query']} ms; conditions add to it",
            report.table(["condition", "added, ms"], [[name, f"{first[name]:g}"] for name in FIRST]),
            f"where the index has changed, is:orphan adds {first['anew']} ms",
            f"refs, one step: {walk['depth_1_ms']} ms; three steps: {walk['depth_3_ms']} ms",
        )
    )


def main() -> None:
    """Measure, print the tables, and write them beside the other results."""
    options = report.read_options(__doc__, items=10_000, each=8, rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.items, each=options.each, rounds=options.rounds, folder=Path(folder))
    report.tell("relations", options, found, tables(found))


if __name__ == "__main__":
    main()
