"""What all benchmarks share: the machine in words, percentiles, tables, and where results are written."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rye._process import cores

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "Whoosh-Reloaded", "tantivy", "bm25s", "rapidfuzz", "lark")


def machine() -> dict[str, Any]:
    """Describe what ran: processor, cores, memory, versions, and how busy the machine was at that moment."""
    import sqlite3

    versions = {"SQLite": sqlite3.sqlite_version}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor(),
        "architecture": platform.machine(),
        "cores": cores(),
        "memory": _first("/proc/meminfo", "MemTotal"),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _first(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def resident() -> dict[str, int]:
    """Return the memory of this process in bytes: all that is resident, and the part that is no file's; Linux only."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    values = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith(("VmRSS", "RssAnon"))}
    return {"resident": int(values["VmRSS"]) << 10, "anonymous": int(values["RssAnon"]) << 10}


def spread(samples: Sequence[float]) -> dict[str, float]:
    """Return p50 and p95 of times in seconds, as milliseconds."""
    middle, high = np.percentile(np.asarray(samples) * 1e3, [50, 95])
    return {"p50": round(float(middle), 4), "p95": round(float(high), 4)}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, aligned: the first column left, the others right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in
                  enumerate(zip(cells, widths, strict=True)))  # fmt: skip
        return f"| {' | '.join(padded)} |"

    rule = "|" + "|".join("-" * (width + 1) + (":" if at else "-") for at, width in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def ratio(value: float, of: float) -> str:
    """Return ``value / of`` in words: ``0.25 ×``."""
    return f"{value / of:.3g} ×" if of else "–"


def write(name: str, found: Mapping[str, Any], text: str) -> None:
    """Write a result as JSON and its tables as Markdown."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


def read(name: str) -> dict[str, Any]:
    """Return the result of that name that was written last; empty if there is none."""
    try:
        return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def read_options(doc: str | None, *, items: int, each: int, rounds: int) -> argparse.Namespace:
    """Return the options of a benchmark of queries; the numbers are what they are by default."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=items)
    parser.add_argument("--each", type=int, default=each, help="queries of each kind")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--no-write", action="store_true", help="leave the results folder alone")
    return parser.parse_args()


def tell(name: str, options: argparse.Namespace, found: Mapping[str, Any], text: str) -> None:
    """Print what was found, and write it beside the other results unless that is not wanted."""
    print(text)
    if not options.no_write:
        write(f"{name}-{options.items}", found, text)
