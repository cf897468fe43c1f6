"""rye beside plain Whoosh, SQLite FTS5, tantivy and bm25s: the same items and queries, in one process.

``python -m tests.benchmarks.engines --items 100000`` generates the items, has every engine build its index, and asks
every query of every engine, for the number of matches and the ten best by BM25.

- Build: from texts in memory to an index on disk that can be opened. Generating and preparing are not timed. Objects
  that are there before are frozen out of garbage collection, which otherwise stays on. rye builds in one process for
  each core, as a refresh does from so many files; the peers build on one. Processor seconds are those of all processes.
  The engines build in turn, several times over, and the quickest counts; who takes longer than 20 s builds once.
- Queries: round by round, kind by kind, the engines in turn, so that whatever else the machine does hits all alike;
  garbage is collected before each round, and stays on. Of each query the best round counts, because others measure what
  else the machine did; p50 and p95 are over the queries of a kind. The JSON also has the p95 over all rounds, and the
  number of matches of each query. An engine that has spent its budget on a kind is asked no more of it.
- Memory: in a process of its own for each engine, what opening the index and 100 queries add to the bare imports.

``--columns`` gives the peers a column for each field instead of one for all text. What an engine cannot do is marked –.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

from rye.items.model import Item
from tests.benchmarks import report
from tests.benchmarks.asking import KINDS, Query, queries
from tests.benchmarks.corpus import LONG, SHORT, Corpus
from tests.benchmarks.engine import Ask, Engine
from tests.benchmarks.ours import Rye
from tests.benchmarks.peers import MODULES, peers

MEMORY_QUERIES = 100
LONG_BUILD = 20.0
"""Seconds; who needs more to build builds once."""

PEER = "FTS5"
"""The engine of which rye's figures are multiples when two runs are compared; it is in every Python."""

WORSE = 1.15
"""From this many times an earlier multiple on, a figure is called worse."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured and how often."""

    items: int
    words: int = SHORT
    each: int = 20
    rounds: int = 5
    builds: int = 3
    budget: float = 10.0
    columns: bool = False
    only: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS

    def engines(self) -> list[Engine]:
        """Return rye and the peers that are asked for and installed."""
        every = [Rye(), *peers(columns=self.columns)]
        return [engine for engine in every if not self.only or engine.name.casefold() in self.only]


def build(engine: Engine, items: Sequence[Item], folder: Path) -> dict[str, Any]:
    """Have an engine build its index; returns seconds and bytes."""
    with tempfile.TemporaryDirectory() as empty:  # what is imported when first used is not timed
        engine.build(engine.prepare(items[:1]), Path(empty))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows = engine.prepare(items)
    gc.collect()
    gc.freeze()
    began, burnt = time.perf_counter(), _worked()
    engine.build(rows, folder)
    took, worked = time.perf_counter() - began, _worked() - burnt
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"seconds": round(took, 3), "processor_seconds": round(worked, 3), "bytes": size}


def _worked() -> float:
    """Return the processor seconds of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def ask_all(asks: Mapping[str, tuple[Engine, Ask]], asked: Sequence[Query], plan: Plan) -> dict[str, dict[str, Any]]:
    """Return per engine and kind: p50 and p95 in milliseconds, and how many matches each query has."""
    samples: dict[tuple[str, int], list[float]] = {}
    totals: dict[tuple[str, int], int] = {}
    spent = dict.fromkeys(((name, query.kind) for name in asks for query in asked), 0.0)
    names = list(asks)
    for turn in range(plan.rounds + 1):  # the first opens files and fills caches, and counts only if there is no other
        gc.collect()
        for kind, name in product(plan.kinds, names[turn % len(names) :] + names[: turn % len(names)]):
            engine, ask = asks[name]
            for number, query in enumerate(asked):
                if query.kind != kind or kind in engine.lacks or spent[name, kind] > plan.budget:
                    continue
                began = time.perf_counter()
                totals[name, number] = ask(query).total
                took = time.perf_counter() - began
                spent[name, kind] += took
                samples.setdefault((name, number), []).append(took)
    return {name: _by_kind(name, asked, samples, totals) for name in names}


def _by_kind(
    name: str,
    asked: Sequence[Query],
    samples: Mapping[tuple[str, int], list[float]],
    totals: Mapping[tuple[str, int], int],
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in dict.fromkeys(query.kind for query in asked):
        numbers = [n for n, query in enumerate(asked) if query.kind == kind and (name, n) in samples]
        if numbers:
            rounds = [samples[name, n][1:] or samples[name, n] for n in numbers]
            high = report.spread([took for one in rounds for took in one])["p95"]
            more = {"p95_all_rounds": high, "totals": [totals[name, n] for n in numbers]}
            found[kind] = report.spread(list(map(min, rounds))) | more
    return found


def memory(engine: Engine, folder: Path, asked: Sequence[Query], plan: Plan) -> dict[str, int]:
    """Return the bytes that opening an index and asking 100 queries add, measured in a process of its own."""
    able = [query for query in asked if query.kind not in engine.lacks]
    if engine.name == "Whoosh":  # whose searches of the whole dictionary take seconds
        able = [query for query in able if query.kind not in {"infix", "fuzzy"}]
    chosen = [able[n * len(able) // MEMORY_QUERIES] for n in range(MEMORY_QUERIES)]
    given = json.dumps([asdict(query) for query in chosen])
    command = [sys.executable, "-m", "tests.benchmarks.engines", "--child", engine.name, str(folder)]
    command += ["--columns"] * plan.columns
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def child(name: str, folder: Path, *, columns: bool) -> None:
    """Measure memory for :func:`memory`: queries come in, bytes go out."""
    asked = [Query(row["kind"], tuple(row["words"]), row["item_type"], row["offset"]) for row in json.load(sys.stdin)]
    (engine,) = (one for one in (Rye(), *peers(columns=columns)) if one.name == name)
    with tempfile.TemporaryDirectory() as empty:  # a whole turn over one item imports all that is ever needed
        tiny = Path(empty)
        build(engine, Corpus().items(1), tiny / "index")
        small = engine.open(tiny / "index")
        for kind in dict.fromkeys(query.kind for query in asked):
            small(next(query for query in asked if query.kind == kind))
    gc.collect()
    before = report.resident()
    ask = engine.open(folder)
    for query in asked:
        ask(query)
    after = report.resident()
    print(json.dumps({key: after[key] - before[key] for key in before}))


def measure(plan: Plan, folder: Path) -> dict[str, Any]:
    """Build, ask and weigh; indexes go into ``folder``."""
    corpus = Corpus(plan.words)
    items = corpus.items(plan.items)
    asked = queries(items, corpus.vocabulary, plan.each, plan.kinds)
    described = report.machine()
    engines = plan.engines()
    built: dict[str, dict[str, Any]] = {}
    for _, engine in product(range(plan.builds), engines):
        before = built.get(engine.name)
        if before is None or before["seconds"] <= LONG_BUILD:
            print(f"building: {engine.name}", file=sys.stderr)
            found = build(engine, items, folder / engine.name)
            built[engine.name] = min(before or found, found, key=itemgetter("seconds"))
    weighed = {engine.name: memory(engine, folder / engine.name, asked, plan) for engine in engines}
    del items
    gc.unfreeze()
    asks = {engine.name: (engine, engine.open(folder / engine.name)) for engine in engines}
    print("asking", file=sys.stderr)
    timed = ask_all(asks, asked, plan)
    return {
        "plan": asdict(plan),
        "machine": described,
        "missing": [name for name in MODULES if name not in built and (not plan.only or name.casefold() in plan.only)],
        "queries": [asdict(query) for query in asked],
        "engines": {name: {"build": built[name], "memory": weighed[name], "queries": timed[name]} for name in built},
        "lacks": {engine.name: engine.lacks for engine in engines},
    }


def figures(found: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return each figure by its label, and by engine."""
    engines = found["engines"]
    values = {
        "build, s": {name: one["build"]["seconds"] for name, one in engines.items()},
        "disk, MB": {name: one["build"]["bytes"] / 1e6 for name, one in engines.items()},
        "memory, MB": {name: one["memory"]["resident"] / 1e6 for name, one in engines.items()},
    }
    for kind in found["plan"]["kinds"]:
        for part in ("p50", "p95"):
            row = {name: one["queries"][kind][part] for name, one in engines.items() if kind in one["queries"]}
            values[f"{kind}, {part} ms"] = row
    return values


def worsened(found: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each figure of rye that is more than 15 % above what it was, both as multiples of FTS5's.

    Left out are p95, which differ from run to run, and memory, of which the pages of the index are a part.
    """
    earlier = figures(before)
    for label, row in figures(found).items():
        was = earlier.get(label, {})
        if "p95" in label or "memory" in label or not ({"rye", PEER} <= row.keys() & was.keys()):
            continue
        now, then = row["rye"] / row[PEER], was["rye"] / was[PEER]
        if now > WORSE * then:
            yield f"worse: {label}: {now:.3g} of {PEER}'s, and was {then:.3g}"


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown: the values, then rye's as a multiple of each peer's."""
    plan, engines, values = found["plan"], found["engines"], figures(found)
    matches = {kind: f"{median(one['totals']):,.0f}" for kind, one in next(iter(engines.values()))["queries"].items()}
    rows, ratios = [], []
    for label, row in values.items():
        several = matches.get(label.partition(",")[0], "")
        rows.append([label, several, *(f"{row[name]:.4g}" if name in row else "–" for name in engines)])
        if "rye" in row:
            cells = [report.ratio(row["rye"], row[name]) if name in row else "–" for name in engines if name != "rye"]
            ratios.append([label, *cells])
    peer = "a column for each field" if plan["columns"] else "all text in one column"
    what = f"{plan['items']:,} items, bodies of {plan['words']} words, {plan['each']} queries of each kind"
    text = [
        f"{what}; peers have {peer}; rye builds on {found['machine']['cores']} cores, they on one",
        json.dumps(found["machine"]),
        report.table(["", "matches", *engines], rows),
    ]
    others = [name for name in engines if name != "rye"]
    if "rye" in engines and others:
        text += ["rye's time, size or memory as a multiple of", report.table(["", *others], ratios)]
    if found["missing"]:
        text.append(f"not installed: {', '.join(found['missing'])} (pip install 'rye-search[bench]')")
    return "\n\n".join(text)


def main() -> None:
    """Measure, print the tables, and write them beside the other results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--body", type=int, choices=(SHORT, LONG), default=SHORT, help="mean words of a body")
    parser.add_argument("--each", type=int, default=20, help="queries of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--builds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds an engine may spend on one kind")
    parser.add_argument("--columns", action="store_true", help="give the peers a column for each field")
    parser.add_argument("--only", nargs="+", default=[], metavar="ENGINE", help=f"of rye, {', '.join(MODULES)}")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, metavar="KIND")
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    parser.add_argument("--keep", type=Path, help="folder to leave the indexes in")
    parser.add_argument("--child", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]), columns=options.columns)
        return
    plan = Plan(
        options.items,
        options.body,
        options.each,
        options.rounds,
        options.builds,
        options.budget,
        options.columns,
        tuple(name.casefold() for name in options.only),
        tuple(options.kinds),
    )
    folder = options.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        found = measure(plan, folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    text = tables(found)
    print(text)
    name = f"engines-{plan.items}-{plan.words}{'-columns' if plan.columns else ''}"
    if before := report.read(name):
        print("", *(list(worsened(found, before)) or [f"nothing is worse than in {name}.json"]), sep="\n")
    if not options.no_write:
        report.write(name, found, text)


if __name__ == "__main__":
    main()
