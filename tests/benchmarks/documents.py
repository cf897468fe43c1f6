"""rye beside SQLite FTS5 and tantivy on documents as people write them, fed from files: Agent Skills, a folder each.

``python -m tests.benchmarks.documents --items 10000`` lays the files, has every engine read and index them, each in a
process of its own, and measures

- build: seconds, processor seconds, bytes on disk, and the most memory of the process and of its largest helper (of
  peers, the texts are part of it);
- unchanged: a refresh of rye that finds nothing to do, beside a bare walk, of each the best round;
- pages: a page of ten, of rye with its files read, verified and marked but no look for changes, of the peers as the
  numbers of documents, and of FTS5 also with the best passage of each, marked.

The documents are of this project's own pages, put together anew: blocks of prose, lists, tables and code. What they
have in common with real skills is numbers, taken from 3,414 of them: how long they are, how many words are their own,
how much of them is code, and which characters beyond ASCII they have.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rye import Registry
from rye.items.model import Item, ItemId, ItemType
from tests.benchmarks import report
from tests.benchmarks.asking import SENTENCE, Query, queries
from tests.benchmarks.corpus import SEED, Vocabulary
from tests.benchmarks.ours import text_of
from tests.benchmarks.peers import Fts5Previews, peers
from tests.benchmarks.refresh import walk

PAGES = Path(__file__).resolve().parents[2] / "items" / "knowledge" / "rye"
SKILLS = Path(".claude", "skills")
KINDS = ("term common", "term medium", "and", "or3", "phrase", SENTENCE)
ENGINES = ("rye", "FTS5", Fts5Previews.name, "tantivy")

MEDIAN_BYTES, SPREAD, LEAST_BYTES, MOST_BYTES = 5_740, 0.79, 620, 91_000
"""Of a document: a log-normal distribution, cut; the mean is 7,800 bytes."""
CODE, FOREIGN, DRAWN, OWN_WORDS = 0.26, 0.045, 0.2, 0.016
"""Shares: of code in the text, of documents in other scripts, of words drawn from many, of words that stand once."""
_MARKS = ("—", "→", "✅", "❌", "│", "├── ", "└── ", "─" * 12, "═" * 8)
_SCRIPTS = ((0x4E00, 0x9FA5), (0x4E00, 0x9FA5), (0x4E00, 0x9FA5), (0x30A1, 0x30F6), (0x3041, 0x3093), (0xAC00, 0xD7A3))
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[a-z]{4,}")


class Documents:
    """Makes documents, always the same of the same number."""

    def __init__(self) -> None:
        texts = [path.read_text(encoding="utf-8").split("\n---\n", 1)[1] for path in sorted(PAGES.glob("*.md"))]
        self._code = [block for text in texts for block in _FENCED.findall(text)]
        self._prose = [block for text in texts for block in _FENCED.sub("", text).split("\n\n") if block.strip()]
        self.vocabulary = Vocabulary()

    def document(self, number: int) -> tuple[str, str]:
        """Return name and text of a document."""
        rng = np.random.default_rng([SEED, number])
        wanted = int(np.clip(MEDIAN_BYTES * np.exp(rng.normal(0, SPREAD)), LEAST_BYTES, MOST_BYTES))
        foreign = rng.random() < FOREIGN
        blocks, size, code = [], 0, 0
        while size < wanted:
            if code <= CODE * size and rng.random() < CODE:
                block = self._code[int(rng.integers(len(self._code)))]
                code += len(block)
            elif foreign and rng.random() < 0.5:
                low, high = _SCRIPTS[int(rng.integers(len(_SCRIPTS)))]
                lines = rng.integers(low, high, (4, 30)).tolist()
                block = "，".join("".join(map(chr, line)) for line in lines)
            else:
                block = self._varied(self._prose[int(rng.integers(len(self._prose)))], rng)
            if rng.random() < 0.15:
                block += f" {_MARKS[int(rng.integers(len(_MARKS)))]} {self._drawn(rng)}"
            block = block[: wanted - size]
            blocks.append(block)
            size += len(block.encode()) + 2
        name = f"{self._drawn(rng)}-{self._drawn(rng)}-{number}".replace("/", "-").replace(".", "-").lower()
        description = " ".join(self._drawn(rng) for _ in range(20))
        return name, f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n" + "\n\n".join(blocks) + "\n"

    def _drawn(self, rng: np.random.Generator) -> str:
        return self.vocabulary.words[int(self.vocabulary.draw(rng, 1)[0])]

    def _varied(self, block: str, rng: np.random.Generator) -> str:
        """Return a block with some words instead of its own: drawn from many, or of this place alone."""

        def other(found: re.Match[str]) -> str:
            roll = rng.random()
            if roll < OWN_WORDS:
                return f"{found[0]}{int(rng.integers(1 << 40)):x}"
            return self._drawn(rng) if roll < OWN_WORDS + DRAWN else found[0]

        return _WORD.sub(other, block)


def lay(number: int, project: Path) -> list[Item]:
    """Write documents as skills of a project; returns those of which queries are made."""
    documents, some = Documents(), []
    for at in range(number):
        name, text = documents.document(at)
        folder = project / SKILLS / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        if at < 2_000:
            some.append(Item(ItemType.DIRECTIVE, ItemId(name), name, body=text))
    return some


def rows(project: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield what peers index, read from the files."""
    for number, path in enumerate(sorted((project / SKILLS).glob("*/SKILL.md"))):
        yield number, "directive", (path.read_text(encoding="utf-8"),)


def child(name: str, folder: Path, rounds: int) -> None:
    """Have one engine index the files and answer the queries that come in; what it took goes out."""
    gc.set_threshold(100_000)  # as the command rye does
    asked = [Query(row["kind"], tuple(row["words"])) for row in json.load(sys.stdin)]
    project, place = folder / "project", folder / name
    place.mkdir(mode=0o700)
    more: dict[str, Any] = {}
    registry = Registry(project, user=folder / "home", bundles=(), cache_dir=place)
    peer = next((one for one in (*peers(), Fts5Previews()) if one.name == name), None)
    began = time.perf_counter()
    if peer is None:
        registry.refresh()
    else:
        peer.build(list(rows(project)), place)
    took = time.perf_counter() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    if peer is None:
        pairs = []
        for _ in range(rounds):
            began = time.perf_counter()
            walk(str(project / SKILLS))
            middle = time.perf_counter()
            registry.refresh()
            pairs.append((middle - began, time.perf_counter() - middle))
        bare, unchanged = map(min, zip(*pairs, strict=True))
        more = {"walk_ms": round(bare * 1e3, 2), "unchanged": round(unchanged / bare, 2)}
    registry.max_staleness = 600.0  # pages are asked without a look for changes
    ask = (lambda query: registry.search(text_of(query), relax=False)) if peer is None else peer.open(place)
    pages: dict[str, list[float]] = {}
    for query in asked:
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            ask(query)
            times.append(time.perf_counter() - began)
        pages.setdefault(query.kind, []).append(min(times))
    found = {
        "seconds": round(took, 2),
        "processor_seconds": round(sum(one.ru_utime + one.ru_stime for one in used), 2),
        "peak_mb": round(sum(one.ru_maxrss for one in used) / 1024),
        "bytes": sum(path.stat().st_size for path in place.rglob("*") if path.is_file()),
        "pages": {kind: report.spread(times) for kind, times in pages.items()},
    }
    print(json.dumps(found | more))


def measure(number: int, *, each: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Lay the files below a folder and measure every engine that is installed."""
    described = report.machine()
    some = lay(number, folder / "project")
    asked = json.dumps(
        [{"kind": one.kind, "words": one.words} for one in queries(some, Documents().vocabulary, each, KINDS)]
    )
    size = sum(path.stat().st_size for path in (folder / "project").rglob("*.md"))
    installed = {"rye", Fts5Previews.name, *(peer.name for peer in peers())}
    found = {}
    for name in (each for each in ENGINES if each in installed):
        command = [sys.executable, "-m", "tests.benchmarks.documents", "--child", name, str(folder)]
        command += ["--rounds", str(rounds)]
        done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout)
    return {"items": number, "bytes": size, "machine": described, "engines": found}


def tables(found: Mapping[str, Any]) -> str:
    """Return what was found as Markdown."""
    engines = found["engines"]
    parts = {"build, s": "seconds", "build, processor s": "processor_seconds", "peak memory, MB": "peak_mb"}
    table = [[label, *(f"{one[key]}" for one in engines.values())] for label, key in parts.items()]
    table.append(["disk, MB", *(f"{one['bytes'] / 1e6:.4g}" for one in engines.values())])
    table += [
        [f"{kind}, page of ten, p50 ms", *(f"{one['pages'][kind]['p50']:.3g}" for one in engines.values())]
        for kind in engines["rye"]["pages"]
    ]
    head = f"{found['items']:,} documents, {found['bytes'] / 1e6:.4g} MB; each engine reads the files"
    ours = engines["rye"]
    last = f"nothing changed: {ours['unchanged']} × a bare walk of {ours['walk_ms']} ms"
    return "\n\n".join((head, json.dumps(found["machine"]), report.table(["", *engines], table), last))


def main() -> None:
    """Measure, print the table, and write it beside the other results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=10, help="queries of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    parser.add_argument("--child", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]), options.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.items, each=options.each, rounds=options.rounds, folder=Path(folder))
    report.tell("documents", options, found, tables(found))


if __name__ == "__main__":
    main()
