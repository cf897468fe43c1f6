"""A verification reads each file once, whatever asks about it: the signature, imports, and the list of its space."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from rye.cli import main
from tests.support.files import lay
from tests.support.spacesim import SpaceSim

LONG = "Longer than a link that git wrote as a file. " * 9
FILES = {
    "AGENTS.md": f"# Agents\n\nBe kind. See @docs/style.md. {LONG}\n",
    "docs/style.md": f"# Style\n\nBe brief. {LONG}\n",
    ".ai/knowledge/ops/note.md": f"# Note\n\nBack up. {LONG}\n",
    ".ai/tools/ops/run.py": f'"""{LONG}"""\n',
    ".ai/tools/ops/data.json": f'{{"title": "{LONG}"}}\n',
    ".ai/notes.txt": f"{LONG}\n",
    ".claude/skills/pdf/SKILL.md": f"---\nname: pdf\ndescription: Fill forms\n---\n\n{LONG}\n",
    ".claude/skills/pdf/reference.md": f"# Reference\n\n{LONG}\n",
    ".claude/skills/pdf/scripts/fill.py": f'"""{LONG}"""\n',
    ".claude/skills/pdf/logo.bin": f"{LONG}\n",
}


def test_each_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list that covers the items, a signed skill, strict, and with what an instruction file imports."""
    sim = SpaceSim(tmp_path, bundles=())
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(lay(sim.project, FILES))
    assert main(["keys", "generate"]) == 0
    assert main(["sign", "--all", "--yes"]) == main(["sign", "list", "--yes"]) == 0
    opened, real = Counter[str](), os.open

    def count(path: str, flags: int, *rest: int, **options: int) -> int:
        opened[Path(path).name] += 1
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", count)
    assert main(["verify", "--strict", "--space", "project"]) == 1  # nobody signed docs/style.md
    assert {name: opened[Path(name).name] for name in FILES} == {name: int(name != "docs/style.md") for name in FILES}
