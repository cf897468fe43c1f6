"""What GitHub reads: actions are pinned, the matrix is what the package promises, links and forms are right."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rye.items import yaml

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
READ_BY_GITHUB = sorted(path.relative_to(GITHUB).as_posix() for path in GITHUB.rglob("*.yml"))
CLASSIFIERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
SYSTEMS = {"ubuntu-latest": "POSIX :: Linux", "macos-latest": "MacOS", "windows-latest": "Microsoft :: Windows"}


def read(name: str) -> Mapping[str, Any]:
    """Return what a YAML file says."""
    found: Mapping[str, Any] = yaml.load((GITHUB / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", READ_BY_GITHUB)
def test_actions_are_pinned_by_commit(name: str) -> None:
    """Each names a commit, with its version beside it, or lies in this repository; every file is YAML."""
    assert read(name)
    for line in (GITHUB / name).read_text(encoding="utf-8").splitlines():
        if "uses:" in line:
            assert re.search(r"uses: (\./\S+( |$)|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)", line), line


def test_the_matrix_is_what_the_classifiers_say() -> None:
    """Every Python version that is promised is tried; a system that is not promised is tried too, and may fail."""
    job = read("workflows/ci.yml")["jobs"]["checks"]
    matrix = job["strategy"]["matrix"]
    versions = re.findall(r"Python :: (3\.\d+)$", "\n".join(CLASSIFIERS), re.MULTILINE)
    assert matrix["python"] == versions
    assert {*matrix["os"], *(row["os"] for row in matrix["include"])} == set(SYSTEMS)
    required = [SYSTEMS[name] for name in SYSTEMS if f"!= '{name}'" in job["continue-on-error"]]
    assert required == [row.removeprefix("Operating System :: ") for row in CLASSIFIERS if row.startswith("Operating")]


def test_what_the_action_installs_is_locked_by_hash() -> None:
    """Every dependency of rye, and what builds it, is one version with its hashes; nothing else is fetched."""
    locked = (GITHUB / "actions/verify/requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    rows = [line for line in locked.splitlines() if line and not line.startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", row) for row in rows)
    names = {re.split(r"==", row)[0].lower().replace("_", "-") for row in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.split(r"[><=\[; ]", each)[0].lower() for each in needed} <= names
    commands = [
        line for line in read("actions/verify/action.yml")["runs"]["steps"][0]["run"].splitlines() if "pip" in line
    ]
    assert [("--require-hashes" in line, "--no-index" in line) for line in commands] == [(True, False), (False, True)]


@pytest.mark.parametrize("page", sorted(GITHUB.rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page is a file of this repository."""
    for link in re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
