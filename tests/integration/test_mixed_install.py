"""Another distribution that owns a package ``rye``, such as ryeos-engine: installed over rye, or under it."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rye
from rye._resources import has_foreign_modules

PACKAGE = Path(rye.__file__).parent
ENGINE = {
    "rye/__init__.py": "from rye.constants import NAME\n",
    "rye/constants.py": "NAME = 'engine'\n",
    "rye/errors.py": "class EngineError(Exception): ...\n",
    "rye/actions/__init__.py": "",
}


def record(site: Path, name: str, files: list[str]) -> None:
    """Write the list of what a distribution installed, as installers do."""
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    rows = []
    for file in files:
        digest = hashlib.sha256((site / file).read_bytes()).digest()
        rows.append(f"{file},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},1\n")
    (folder / "RECORD").write_text("".join(rows), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with rye installed in it."""
    return install_rye(tmp_path)


def install_rye(tmp_path: Path) -> Path:
    """Return a folder with rye installed in it."""
    folder = tmp_path / "site-packages"
    shutil.copytree(PACKAGE, folder / "rye", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("items", "grammar"):
        shutil.copytree(PACKAGE.parent / name, folder / "rye" / "_bundled" / name)
    files = [path.relative_to(folder).as_posix() for path in (folder / "rye").rglob("*.py")]
    record(folder, "rye-search", sorted(files))
    return folder


def install_engine(site: Path, *, over: bool) -> None:
    """Install the other distribution, over rye or before it."""
    for name, text in ENGINE.items():
        path = site / name
        path.parent.mkdir(exist_ok=True)
        if over or not path.exists():
            path.write_text(text, encoding="utf-8")
    record(site, "ryeos-engine", list(ENGINE))


def start(site: Path) -> tuple[int, str, str]:
    """Start the installed program; return its status, answer and messages."""
    command = [sys.executable, "-c", "import sys; from rye.__main__ import run; sys.exit(run())", "why", "hello"]
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(command, cwd=site.parent, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_an_installation_of_rye_alone_is_told_by_its_folder() -> None:
    """So a start compares no distributions."""
    assert not has_foreign_modules()


def test_rye_alone_says_nothing(site: Path) -> None:
    """No message where only rye's files are there."""
    status, out, error = start(site)
    assert (status, error) == (0, "")
    assert out.startswith("hello")


def test_attack_another_distribution_installed_over_rye(site: Path) -> None:
    """Its files are named, and rye ends with status 2 instead of a traceback or half an answer."""
    install_engine(site, over=True)
    status, out, error = start(site)
    assert (status, out) == (2, "")
    message, hint = error.splitlines()
    assert message.startswith(f"error[mixed-install]: {site / 'rye'} also belongs to ryeos-engine 1.0, which replaced ")
    assert "rye/errors.py" in message
    assert "pipx or uv tool" in hint


def test_another_distribution_that_replaced_single_files_is_found(site: Path) -> None:
    """One that brings no module of another name is found where an import fails."""
    (site / "rye" / "errors.py").write_text("class EngineError(Exception): ...\n", encoding="utf-8")
    record(site, "engine", ["rye/errors.py"])
    status, _, error = start(site)
    assert status == 2
    assert "also belongs to engine 1.0, which replaced rye/errors.py" in error
