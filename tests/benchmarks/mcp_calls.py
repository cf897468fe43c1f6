"""What the protocol costs: ``python -m tests.benchmarks.mcp_calls [ITEMS]``.

Measures the median time of a call of ``rye_search`` over a pipe, with the protocol's own client, against that of the
same ``Registry.search`` in this process, interleaved in one run, 1,000 of each; and the time until a server answered
its first request against that of ``import mcp.server``, each in a process of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from rye import Registry
from tests.support.mcp_server import arguments, environment, started
from tests.support.spacesim import SpaceSim, furnish

QUERIES = ("thread", "read", "number", "notes OR thread", "numbr~")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


def lay(folder: Path, count: int) -> SpaceSim:
    """Lay the furnished spaces and a number of further items."""
    sim = SpaceSim(folder)
    furnish(sim)
    for number in range(count):
        sim.add(
            "project", f"knowledge/many/n{number:05}.md", f"# Number {number}\n\nThis is number {number} of many.\n"
        )
    return sim


async def calls(sim: SpaceSim, times: int) -> tuple[float, float]:
    """Return the median seconds of a search in this process and over the pipe."""
    registry = Registry(sim.project, user=sim.user, more_bundles=tuple(sim.bundles.values()), cache_dir=sim.cache)
    here: list[float] = []
    there: list[float] = []
    async with started(sim) as client:
        await client.list_tools()
        for number in range(times + 50):
            query = QUERIES[number % len(QUERIES)]
            began = time.perf_counter()
            registry.search(query)
            between = time.perf_counter()
            await client.call_tool("rye_search", {"query": query})
            ended = time.perf_counter()
            if number >= 50:
                here.append(between - began)
                there.append(ended - between)
    return statistics.median(here), statistics.median(there)


def ready(sim: SpaceSim) -> float:
    """Return the seconds until a server has answered its first request."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments(sim)],
        env=environment(sim),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        taken = time.perf_counter() - began
        process.stdin.close()
    return taken


def imported(sim: SpaceSim) -> float:
    """Return the seconds that a process takes to have the library of the protocol loaded."""
    began = time.perf_counter()
    code = "import mcp.server, os; os.write(1, b'.'); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], env=environment(sim), check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as folder:
        sim = lay(Path(folder), count)
        here, there = anyio.run(calls, sim, 1_000)
        print(f"search, {count} items: {here * 1e3:.2f} ms here, {there * 1e3:.2f} ms by MCP, ratio {there / here:.2f}")
        starts = [(imported(sim), ready(sim)) for _ in range(8)]
        least, soonest = (min(column) for column in zip(*starts, strict=True))
        print(f"start: import {least * 1e3:.0f} ms, ready {soonest * 1e3:.0f} ms, ratio {soonest / least:.2f}")


if __name__ == "__main__":
    main()
