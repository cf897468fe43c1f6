"""Registries that are built once for each worker and that no test may change; a test that writes takes a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from rye import Registry
from tests.support.spacesim import SpaceSim, furnish

__all__ = ["Samples"]


class Samples:
    """Sample spaces by name, each built when it is first asked for.

    Args:
        folder: Where they are built.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: dict[str, SpaceSim] = {}
        self._registries: dict[str, Registry] = {}

    def spaces(self, build: Callable[[SpaceSim], object] = furnish) -> SpaceSim:
        """Return spaces that a function has filled and that are indexed. They are shared: change nothing.

        Args:
            build: A function of a module, by default the one that lays :data:`tests.support.spacesim.FURNITURE`.
        """
        name = f"{build.__module__}.{build.__qualname__}"
        if name not in self._built:
            sim = SpaceSim(self._folder / name)
            build(sim)
            self._registries[name] = sim.registry()
            self._registries[name].refresh()
            self._built[name] = sim
        return self._built[name]

    def registry(self, build: Callable[[SpaceSim], object] = furnish) -> Registry:
        """Return an open registry over the spaces that a function fills. It is shared: do not close it."""
        self.spaces(build)
        return self._registries[f"{build.__module__}.{build.__qualname__}"]

    def copy(self, folder: Path, build: Callable[[SpaceSim], object] = furnish) -> SpaceSim:
        """Return a copy of the spaces that a function fills, for a test that changes them.

        Args:
            folder: An empty folder.
            build: As for :meth:`spaces`.
        """
        source = self.spaces(build)
        for part in ("project", "home", "bundles"):
            shutil.copytree(source.folder / part, folder / part, symlinks=True)
        return SpaceSim(folder, bundles=tuple(source.bundles), is_laid=True)
