"""How fast texts become vectors, how fast these answer, how large they are, and what they cost a new process.

``python -m tests.benchmarks.meaning --items 10000`` lays so many signed files, and measures with the embedded model

- first: sections embedded in a second of processor time, reading and parsing the items among it;
- query: a search in semantic and in hybrid mode, by a description and by two of its words, ten hits read and verified;
  one text embedded; and compared with 100,000 vectors on disk;
- bytes: what the files of vectors take for each section;
- process: ``rye search --mode semantic`` beside ``rye search``, in pairs, one after the other.

Of each query the best round counts; p50 and p95 are over the queries.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from rye import Registry
from rye.embedding.choice import Choice
from rye.embedding.loader import open_embedder
from rye.embedding.protocol import Embedder
from rye.index.build.reader import Reader
from rye.index.text.chunks import Chunk
from rye.index.vectors.vectors import RootVectors, VectorFile, Vectors, VectorTable, item_keys, write_vectors
from tests.benchmarks import report
from tests.benchmarks.corpus import LONG, SHORT, Corpus
from tests.benchmarks.laying import Laid, lay

GOALS = {
    "sections_per_s": 2_000,
    "semantic_ms": 4,
    "hybrid_ms": 6,
    "large_ms": 25,
    "bytes_per_section": 600,
    "process_s": 0.5,
}
LARGE = 100_000
MODES = ("semantic", "hybrid")
ASKED = ("a description", "two words")
STALE = 1e9


def timed(ask: Callable[[str], object], texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Return p50 and p95 of the best times of each text."""
    best = []
    for text in texts:
        times = []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            ask(text)
            times.append(time.perf_counter() - began)
        best.append(min(times[1:]))
    return report.spread(best)


class Documents:
    """Stands for a reader of so many items without files."""

    def __init__(self, size: int) -> None:
        paths = SimpleNamespace(everything=list(map(str, range(size))))
        evidence = SimpleNamespace(raw_content_digests=np.zeros((size, 32), np.uint8))
        self.parts = [SimpleNamespace(segment=SimpleNamespace(evidence=evidence, paths=paths))]
        self.size, self.live = size, np.ones(size, bool)


def large(embedder: Embedder, number: int, folder: Path) -> Vectors:
    """Return so many random vectors in a file, mapped into memory."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((number, embedder.dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    reader = cast("Reader", Documents(number))
    chunks = [Chunk(0, 0, "text")] * number
    table = VectorTable.of(item_keys(reader).tolist(), chunks, rows)
    path = write_vectors(folder, "benchmark", embedder.embed(["probe"])[0], table)
    return Vectors([RootVectors(reader, VectorFile(path).table)])


def process(laid: Laid, texts: Sequence[str], pairs: int) -> dict[str, float]:
    """Return the seconds of ``rye search`` by word and by meaning, and the median of their differences."""
    environment = {**os.environ, **laid.environment()}
    took: dict[str, list[float]] = {"keyword": [], "semantic": []}
    for pair in range(pairs):
        for mode, times in took.items():
            words = ["search", texts[pair % len(texts)], *laid.arguments(), "--max-staleness", str(STALE)]
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "rye", *words, "--mode", mode, "--json"],
                env=environment,
                check=False,
                capture_output=True,
            )
            times.append(time.perf_counter() - began)
            assert json.loads(done.stdout)["search_type"] == mode, done.stderr
    more = median(one - other for one, other in zip(took["semantic"], took["keyword"], strict=True))
    return {mode: round(median(times), 3) for mode, times in took.items()} | {"more": round(more, 3)}


def warm(registry: Registry, texts: Sequence[str], mode: str, rounds: int) -> dict[str, dict[str, float]]:
    """Return the times of searches by texts, and by two words from the middle of each."""
    first = registry.search(texts[0], mode=mode)
    assert first.search_type == mode, first.warnings
    pairs = [" ".join(text.split()[2:4]) for text in texts]
    return {
        name: timed(lambda text: registry.search(text, mode=mode), some, rounds)
        for name, some in zip(ASKED, (texts, pairs), strict=True)
    }


def measure(number: int, words: int, *, rounds: int, pairs: int, folder: Path, vectors: int = LARGE) -> dict[str, Any]:
    """Lay the files below a folder and measure; ``vectors`` more are compared with by themselves."""
    described, corpus = report.machine(), Corpus(words)
    items = corpus.items(number)
    laid = lay(items, folder)
    texts = [item.description or item.title for item in items[:: max(1, number // 100)]]
    registry = laid.registry(max_staleness=math.inf)
    registry.refresh()
    embedder = open_embedder(Choice())
    began = time.process_time()
    made = registry.embed()
    first = time.process_time() - began
    size = sum(path.stat().st_size for path in folder.glob("cache/v1/*/vectors-*"))
    many = large(embedder, vectors, folder)
    tenth = np.zeros(vectors, bool)
    tenth[::10] = True
    return {
        "items": number,
        "words": words,
        "machine": described,
        "vectors": made.vectors,
        "sections_per_s": round(made.vectors / first),
        "bytes_per_section": round(size / made.vectors, 1),
        **{mode: warm(registry, texts, mode, rounds) for mode in MODES},
        "embed": timed(lambda text: embedder.embed([text]), texts, rounds),
        "large_vectors": vectors,
        "large": timed(lambda text: many.similarities(embedder.embed([text])[0]), texts, rounds),
        "large_filtered": timed(lambda text: many.similarities(embedder.embed([text])[0], tenth), texts, rounds),
        "process": process(laid, texts, pairs),
    }


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown."""
    rows = [
        ["sections embedded in a second", f"{found['sections_per_s']:,}", "", f"≥ {GOALS['sections_per_s']:,}"],
        ["bytes for each section", f"{found['bytes_per_section']:g}", "", f"≤ {GOALS['bytes_per_section']}"],
        *(
            [name, *(f"{times[part]:.4g} ms" for part in ("p50", "p95")), goal]
            for name, times, goal in (
                *(
                    (f"{mode} search by {asked}", found[mode][asked], f"≤ {most} ms")
                    for mode, most in zip(MODES, (GOALS["semantic_ms"], GOALS["hybrid_ms"]), strict=True)
                    for asked in ASKED
                ),
                ("embedding a query", found["embed"], ""),
                (f"a query over {found['large_vectors']:,} vectors", found["large"], f"≤ {GOALS['large_ms']} ms"),
                ("the same, a tenth of them allowed", found["large_filtered"], ""),
            )
        ),
        ["a new process, more than by word", f"{found['process']['more']} s", "", f"≤ {GOALS['process_s']} s"],
    ]
    head = f"{found['items']:,} files, {found['vectors']:,} vectors, bodies of {found['words']} words"
    return "\n\n".join((head, json.dumps(found["machine"]), report.table(["", "p50", "p95", "goal"], rows)))


def main() -> None:
    """Measure, print the table, and write it beside the other results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--body", type=int, choices=(SHORT, LONG), default=SHORT, help="mean words of a body")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=9, help="processes of each of the two")
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.items, options.body, rounds=options.rounds, pairs=options.pairs, folder=Path(folder))
    text = tables(found)
    print(text)
    if not options.no_write:
        report.write(f"meaning-{options.items}-{options.body}", found, text)


if __name__ == "__main__":
    main()
