"""Files that can hold no signature, which the manifest of their space signs while it holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.manifest.space import observe
from rye.manifest.store import MANIFEST_FOLDER, replace_manifest
from rye.manifest.write import write_manifest
from rye.spaces import project_root
from tests.support.signed import ANN
from tests.support.spacesim import SpaceSim


def test_an_answer_that_needs_no_scan_asks_whether_the_manifest_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry may use one scan for ever, but no manifest: neither for a verdict nor for what a search finds."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    sim = SpaceSim(tmp_path)
    sim.write("project", "tools/data.json", '{"title": "Data"}')
    root = project_root(sim.project)
    files = write_manifest({}, observe(root).all, signers=(ANN,), now=datetime.now(UTC)).files
    assert replace_manifest(root.path, files) == root.path / MANIFEST_FOLDER
    registry = sim.registry(max_staleness=float("inf"))
    assert registry.load("tool", "data").signature.code == "ok-manifest"
    assert registry.search("is:trusted", space="project").total == 1
    monkeypatch.setattr("rye.manifest.system_clock", lambda: datetime.now(UTC) + timedelta(days=100))
    assert registry.load("tool", "data").signature.code == "no-envelope"
    assert registry.search("is:trusted", space="project").total == 0
