"""``skills-lock.json`` of ``npx skills``: what is compared, and that nothing becomes trusted by it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rye.errors import ItemError
from rye.spaces.model import Root, Space
from rye.spaces.skills_lock import folder_hash, read_lock
from tests.support.files import lay
from tests.support.spacesim import SpaceSim

FILES = {
    "SKILL.md": "a\n",
    "scripts/a.py": "b\n",
    "scripts/B.py": "c\n",
    "a b.txt": "d\n",
    "a_b.txt": "e\n",
    "a-b.txt": "f\n",
    "LICENSE.txt": "g\n",
    "ref/x.md": "h\n",
    "Abc": "k\n",
    "abc": "l\n",
    "abC": "m\n",
    "node_modules/y/z": "i\n",
    ".git/k": "j\n",
}
HASH = "9076b903deb9fa55c317dbbae5f120715c3f4d56b1138987d0a545f5f694ab88"
"""What the installer's way of hashing gives for these files, computed with Node.js."""

NAMES = ["_x", "1", "10", "2", "a", "A", "a b", "a_b", "a-b", "a.b", "b", "LICENSE.txt", "references/x.md", "S", "s/a"]
SORT = "const n=JSON.parse(process.argv[1]);console.log(JSON.stringify(n.sort((a,b)=>a.localeCompare(b,'en'))))"
SKILL = "---\nname: pdf\ndescription: Fill forms\n---\n"


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project and a user space."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    return SpaceSim(tmp_path, bundles=())


def lock(project: Path, digest: str, **more: str) -> None:
    """Write a lock file that names the skill ``pdf``."""
    entry = {"source": "acme/skills", "sourceType": "github", "computedHash": digest, **more}
    lay(project, {"skills-lock.json": json.dumps({"version": 1, "skills": {"pdf": entry}})})


def test_the_hash_is_that_of_the_installer(tmp_path: Path) -> None:
    """Over paths and bytes, in its order; ``.git`` and ``node_modules`` are left out."""
    lay(tmp_path / "x", FILES)
    assert folder_hash(Root(Space.PROJECT, tmp_path), "x") == HASH


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_paths_sort_as_in_javascript(tmp_path: Path) -> None:
    """By letters first, then small letters before capitals: the hash is over the files in that order."""
    import hashlib

    done = subprocess.run(["node", "-e", SORT, json.dumps(NAMES)], capture_output=True, text=True, check=True)
    lay(tmp_path / "x", {name: name.upper() for name in NAMES})
    expected = hashlib.sha256("".join(f"{name}{name.upper()}" for name in json.loads(done.stdout)).encode())
    assert folder_hash(Root(Space.PROJECT, tmp_path), "x") == expected.hexdigest()


@pytest.mark.parametrize("code", ["", "lock-changed", "lock-missing"])
def test_a_skill_that_differs_or_is_missing_is_named_with_its_source(sim: SpaceSim, code: str) -> None:
    """As a note; with ``strict`` as a finding. A skill that is as it was installed is not named, and not trusted."""
    folder = lay(sim.project / ".claude/skills/pdf", {"SKILL.md": SKILL})
    lock(
        sim.project,
        "0" * 64 if code == "lock-changed" else folder_hash(Root(Space.PROJECT, folder.parent), "pdf"),
        ref="v2",
    )
    if code == "lock-missing":
        shutil.rmtree(folder)
        sim.write("project", "knowledge/a.md", "# A\n")
    run = sim.registry().verify(space="project")
    assert "trusted" not in {item.verdict for item in run.items}
    named = [text for text in run.warnings if "skills-lock.json" in text]
    assert [("acme/skills#v2" in text, code in text) for text in named] == ([(True, True)] if code else [])
    strict = [each.code for each in sim.registry().verify(space="project", strict=True).found]
    assert [each for each in strict if each.startswith("lock-")] == ([code] if code else [])


BAD = [
    "",
    "[]",
    "{",
    '{"version": 2, "skills": {}}',
    '{"version": 1}',
    '{"version": 1, "skills": {"a": 1}}',
    "[" * 9999,
]


@pytest.mark.parametrize("text", [*BAD, '{"version": 1, "skills": {"a": {"source": 1, "computedHash": "x"}}}'])
def test_what_is_no_lock_file_is_refused(tmp_path: Path, text: str) -> None:
    """With a clear error, not as an empty list."""
    lay(tmp_path, {"skills-lock.json": text})
    with pytest.raises(ItemError) as caught:
        read_lock(tmp_path)
    assert caught.value.code == "unparsable"
