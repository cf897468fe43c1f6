"""A server that runs for long leaks neither memory nor open files."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.support.mcp_server import called, started
from tests.support.spacesim import SpaceSim, furnish


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files by /proc")
def test_1000_searches_leak_neither_memory_nor_handles(tmp_path: Path) -> None:
    """After a warm-up, a thousand calls leave memory and open files as they were; what leaks does so each time."""
    sim, measured = SpaceSim(tmp_path), list[tuple[int, int]]()
    furnish(sim)

    def measure(pid: int) -> tuple[int, int]:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return resident, len(list(Path(f"/proc/{pid}/fd").iterdir()))

    def is_stable() -> bool:
        (memory, handles), (later_memory, later_handles) = measured[-2:]
        return later_handles <= handles and later_memory - memory < 4_096

    async def run() -> None:
        async with started(sim) as client:

            async def search(count: int) -> None:
                for number in range(count):
                    await called(client, "rye_search", query=("thread", "read", "notes new", "creat~")[number % 4])
                measured.append(measure(_child_of_this_process()))

            await search(200)
            await search(1_000)
            while not is_stable() and len(measured) < 5:  # memory may also grow once, for other reasons
                await search(1_000)

    anyio.run(run)
    assert is_stable(), f"kB and open files after each thousand: {measured}"


def _child_of_this_process() -> int:
    """Return the process id of the one server that runs."""
    own = Path("/proc/self/task").iterdir()
    children = {int(pid) for task in own for pid in (task / "children").read_text(encoding="ascii").split()}
    servers = [pid for pid in children if b"mcp" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    (server,) = servers
    return server
