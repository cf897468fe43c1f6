"""Where items, keys and the index are: the one value that commands, servers and pages open a registry by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rye.options.search import EMBED_SECONDS

if TYPE_CHECKING:
    from rye._process import Cancelled
    from rye.index.refresh import Progress
    from rye.registry.registry import Registry
    from rye.spaces.layout import Layout


@dataclass(frozen=True, slots=True)
class Where:
    """Where to look, as a user says it; what is left out comes from the environment and the user's settings.

    Attributes:
        project: The folder that holds ``.ai``; None looks upwards from the working directory.
        bundles: Folders of bundles that count beside those that are installed.
        trust: Trust files or folders that count as the user's own.
        audience: The name that signatures on the project's items must have been made for.
        clients: Of the clients of agents, those whose folders count; empty for all.
        index: Address of a registry on a cluster.
        may_choose_index: Whether the environment or the user's settings may name that registry.
        max_staleness: Seconds for which a scan of the spaces serves further searches.
        only_trusted: Whether all but verifying and signing know trusted items only.
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

    def layout(self) -> Layout:
        """Return the layout of the spaces, for what needs no index and therefore does not load the engine.

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
        """Return the registry of these spaces.

        Args:
            progress: As of :class:`rye.Registry`.
            cancelled: As of :class:`rye.Registry`.

        Raises:
            RyeError: As of :class:`rye.Registry`.
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
            embed_seconds=EMBED_SECONDS.default,
            index=self.index,
            may_choose_index=self.may_choose_index,
            only_trusted=self.only_trusted,
        )
