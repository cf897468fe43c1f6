"""What the façade answers with about manifests: what a check found, and what writing did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rye.manifest import Finding, ManifestCheck

__all__ = ["ManifestReport", "ManifestWritten"]


@dataclass(frozen=True, slots=True)
class ManifestReport:
    """What the check of one space's manifest found.

    Attributes:
        source: ``project``, ``user`` or ``system:<bundle>``.
        root: The folder.
        check: Version, expiry, signers and findings.
        problems: Files that could not be read, so that nothing can be said of them.
        digest: SHA-256 of all files of the manifest, names and bytes, hex; empty where there is none.
    """

    source: str
    root: str
    check: ManifestCheck
    problems: tuple[str, ...] = ()
    digest: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that fail the check."""
        return self.check.errors

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-able values."""
        place = {"source": self.source, "root": self.root}
        return place | self.check.to_dict() | {"problems": list(self.problems)}


@dataclass(frozen=True, slots=True)
class ManifestWritten:
    """What writing a manifest did.

    Attributes:
        source: The space.
        folder: Where the files are.
        version: Of the manifest.
        written: Roles that are new.
        missing: Role → signatures it lacks before the manifest passes a check.
        waiting: Delegated roles whose keys were not given.
        pending: Delegated role → signatures that its newest list lacks; it counts once the manifest's owner writes.
        changes: What the manifest before said otherwise, as findings; empty for a first one.
        listed: How many items there are.
    """

    source: str
    folder: str
    version: int
    written: tuple[str, ...]
    missing: Mapping[str, int]
    waiting: tuple[str, ...]
    changes: tuple[Finding, ...]
    listed: int
    pending: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-able values."""
        lists = {"written": list(self.written), "waiting": list(self.waiting)}
        signatures = {"missing": dict(self.missing), "pending": dict(self.pending)}
        changes = [found.to_dict() for found in self.changes]
        facts = {"source": self.source, "folder": self.folder, "version": self.version, "listed": self.listed}
        return facts | lists | signatures | {"changes": changes}
