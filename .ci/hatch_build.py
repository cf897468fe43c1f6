"""What the wheel installs beside the package: the completion of three shells.

The scripts are printed by the command itself, so the environment that builds must have what rye imports; a wheel built
without that, as by ``pip install .``, has none. ``rye completion`` prints the same at any time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_COMPLETIONS = {
    "bash": "share/bash-completion/completions/rye",
    "zsh": "share/zsh/site-functions/_rye",
    "fish": "share/fish/vendor_completions.d/rye.fish",
}


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds them to the data of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files into a folder of their own, and name where each is installed."""
        if version == "editable" or self._rye("--version") is None:
            return
        made = Path(self._folder.name)
        for shell, place in _COMPLETIONS.items():
            script = made / shell
            script.write_text(self._rye("completion", shell) or "", encoding="utf-8")
            build_data["shared_data"][str(script)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface
        """Remove that folder."""
        self._folder.cleanup()

    @cached_property
    def _folder(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory()

    def _rye(self, *words: str) -> str | None:
        """Return what a command of the rye that is built prints; None where it cannot be run."""
        env = {**os.environ, "PYTHONPATH": self.root}
        done = subprocess.run(  # noqa: S603 - the program that is being built
            [sys.executable, "-P", "-m", "rye", *words], env=env, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else None
