"""What facets cost beside the query whose matches they count.

``python -m tests.benchmarks.facets --items 100000`` builds the index that the engines are compared by, and asks each
query without its page, and then for six facets of its matches. Of each query the best round counts; figures are p50
over the queries of a kind. The goal: all six together cost less than the query. The first time that a facet is asked
for in a process, its values are put in the order of the items, which stands apart as ``first``.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from rye.search.context import SearchContext
from rye.search.contract.request import make_request, read_facets
from rye.search.engine import Search
from rye.search.reading.reading import read
from rye.search.scoring.facets import count_facets
from tests.benchmarks import report
from tests.benchmarks.asking import KINDS, Query, queries
from tests.benchmarks.corpus import SHORT, Corpus
from tests.benchmarks.ours import OPTIONS, Rye, text_of

NAMES = ("type", "space", "category", "tag", "verdict", "signer")
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what a function returns, and the seconds it took."""
    began = time.perf_counter()
    found = work()
    return found, time.perf_counter() - began


def ask(world: SearchContext, query: Query) -> dict[str, float]:
    """Return the seconds of one query and of each facet of its matches, and how many these are."""
    filters = {"type": query.item_type} if query.item_type else None
    options = OPTIONS | {"filters": filters, "offset": query.offset}

    def run() -> Any:
        search = Search(make_request(text_of(query), options), world)
        return search, search.answer(read(search.request), search.allowed())

    (search, answer), took = timed(run)
    found = {"matches": float(answer.total), "query": took}
    docs = answer.matched.docs.numbers
    for names in (*((name,) for name in NAMES), NAMES):
        wanted = read_facets(names)
        counted = timed(partial(count_facets, search.reader, search.states, docs, wanted))
        found["all six" if len(names) > 1 else names[0]] = counted[1]
        assert len(counted[0]) == len(names)
    return found


def measure(number: int, *, each: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Build an index of so many items in an empty folder and measure."""
    described, corpus = report.machine(), Corpus(SHORT)
    items = corpus.items(number)
    engine = Rye()
    engine.build(engine.prepare(items), folder)
    world: SearchContext = engine.open(folder).args[0]  # type: ignore[attr-defined]
    asked = queries(items, corpus.vocabulary, each)
    first = ask(world, asked[0])
    best: list[dict[str, float]] = [{} for _ in asked]
    for _ in range(rounds):
        for row, query in zip(best, asked, strict=True):
            row |= {name: min(took, row.get(name, took)) for name, took in ask(world, query).items()}
    kinds = {
        kind: {
            name: median(row[name] for row, query in zip(best, asked, strict=True) if query.kind == kind)
            for name in first
        }
        for kind in KINDS
    }
    return {"items": number, "machine": described, "first": first, "kinds": kinds}


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown: milliseconds, and all six facets as a share of the query."""
    names = ("query", *NAMES, "all six")
    rows = [
        [kind, f"{row['matches']:.0f}", *(f"{row[name] * 1e3:.3f}" for name in names),
         report.ratio(row["all six"], row["query"])]
        for kind, row in {**found["kinds"], "first": found["first"]}.items()
    ]  # fmt: skip
    head = ["", "matches", *(f"{name}, ms" for name in names), "all six, of the query"]
    return f"{found['items']:,} items\n\n{json.dumps(found['machine'])}\n\n{report.table(head, rows)}"


def main() -> None:
    """Measure, print the table, and write it beside the other results."""
    options = report.read_options(__doc__, items=100_000, each=20, rounds=5)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.items, each=options.each, rounds=options.rounds, folder=Path(folder))
    report.tell("facets", options, found, tables(found))


if __name__ == "__main__":
    main()
