"""Real git repositories for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.files import lay

_ALLOWED = ("-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str, author: str = "Ann", settings: Mapping[str, str] | None = None) -> str:
    """Run git in a folder, as an author who has no settings but these, and return what it prints."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", f"user.name={author}", "-c", f"user.email={author.lower()}@example.org")
    more = [part for name, value in (settings or {}).items() for part in ("-c", f"{name}={value}")]
    done = subprocess.run(
        ["git", *_ALLOWED, *who, *more, *words], cwd=folder, check=True, capture_output=True, text=True, env=env
    )
    return done.stdout


def commit(folder: Path, message: str = "all", author: str = "Ann") -> Path:
    """Commit all that is in a folder, which becomes a repository if it is none; return the folder."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message, author=author)
    return folder


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a repository with some files, all committed; return its folder."""
    return commit(lay(folder, files))
