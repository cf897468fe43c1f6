"""The options that say where items, keys and the index are; commands, servers and pages open a registry with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rye.options.search import EMBED_SECONDS

if TYPE_CHECKING:
    from rye._process import Cancelled
    from rye.index.build.refresh import Progress
    from rye.registry.registry import Registry
    from rye.spaces.layout import Layout


@dataclass(frozen=True, slots=True)
class Where:
    """The user's options for opening a registry; the environment and the user's settings supply what is left out.

    Attributes:
        project: The folder that contains ``.ai``; None searches upwards from the working directory.
        bundles: Bundle folders to use beside the installed ones.
        trust: Trust files or folders to treat as the user's own.
        audience: The audience that signatures on the project's items must have.
        clients: Names of agents whose folders are searched; empty for all.
        index: Address of a registry on a cluster.
        may_choose_index: Whether the environment or the user's settings may name that registry.
        max_staleness: Seconds for which searches reuse a scan of the spaces.
        only_trusted: Only see trusted items, except in verifying and signing.
        embed_seconds: As in :class:`rye.Registry`.
    """

    project: Path | None = None
    bundles: tuple[Path, ...] = ()
    trust: tuple[Path, ...] = ()
    audience: str | None = None
    clients: tuple[str, ...] = ()
    index: str | None = None
    may_choose_index: bool = False
    max_staleness: float = 0.0
    only_trusted: bool = False
    embed_seconds: float = EMBED_SECONDS.default

    def layout(self) -> Layout:
        """Return the layout of the spaces, for commands that need no index and so should not load the engine.

        Raises:
            RyeError: As :meth:`rye.spaces.layout.Layout.find`.
        """
        from rye.spaces.layout import Layout

        return Layout.find(
            project=self.project,
            user=None,
            bundles=None,
            more=self.bundles,
            audience=self.audience,
            clients=self.clients or None,
        )

    def open(self, progress: Progress | None = None, cancelled: Cancelled | None = None) -> Registry:
        """Open the registry.

        Args:
            progress: As in :class:`rye.Registry`.
            cancelled: As in :class:`rye.Registry`.

        Raises:
            RyeError: As :class:`rye.Registry`.
        """
        from rye.registry.registry import Registry

        return Registry(
            self.project,
            more_bundles=self.bundles,
            max_staleness=self.max_staleness,
            trust=self.trust,
            audience=self.audience,
            clients=self.clients or None,
            progress=progress,
            cancelled=cancelled,
            embed_seconds=self.embed_seconds,
            index=self.index,
            may_choose_index=self.may_choose_index,
            only_trusted=self.only_trusted,
        )
