"""``rye sign`` killed while it writes: each file is the old one or the signed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.trust.line import unsigned_bytes
from rye.trust.model import Verdict
from tests.support.spacesim import SpaceSim

ROOT = Path(__file__).resolve().parents[2]
TOOL = '"""Say hello."""\n\n__version__ = "1.0.0"\n'


def halves(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every item below a folder, leaving out what a killed writer left beside it under a hidden name."""
    for path in sorted(folder.rglob("*.py")):
        if not path.name.startswith("."):
            yield path, path.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_killed_at_any_moment(tmp_path: Path) -> None:
    """SIGKILL while many files are signed: each is the old one or the signed one, whole; the next run ends the work."""
    count, dice = 80, random.Random(7)  # noqa: S311 - moments, not secrets
    sim = SpaceSim(tmp_path, bundles=())
    sim.save_user_key()
    for number in range(count):
        sim.write("project", f"tools/many/t{number:03}.py", TOOL + "#" * 50_000)
    before = dict(halves(sim.root("project") / "tools" / "many"))
    command = [sys.executable, "-m", "rye", "sign", "tool:many/*", "--force", "--yes"]
    env = {**os.environ, "USER_SPACE": str(sim.user), "PYTHONPATH": str(ROOT), "RYE_CACHE_DIR": str(sim.cache)}
    cut = 0
    for _ in range(5):
        for path, data in before.items():
            path.write_bytes(data)
        process = subprocess.Popen(command, cwd=sim.project, env=env, stdout=subprocess.DEVNULL)
        awaited = dice.choice(sorted(before)[: count - 10])
        while process.poll() is None and awaited.stat().st_size == len(before[awaited]):
            time.sleep(0.0005)
        time.sleep(dice.uniform(0, 0.01))
        process.send_signal(signal.SIGKILL)
        process.wait()
        signed = 0
        for path, data in halves(sim.root("project") / "tools" / "many"):
            if data != before[path]:
                assert unsigned_bytes(data) == before[path]
                signed += 1
        cut += 0 < signed < count
    assert cut, "no run was cut short while it wrote"
    registry = sim.registry()
    registry.sign("tool:many/*")
    found = registry.verify("tool:many/*").items
    assert len(found) == count
    assert {str(item.signature.verdict) for item in found} == {str(Verdict.TRUSTED)}
