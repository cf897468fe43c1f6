"""What the manifests of the spaces under verification say against them, as findings beside those of single items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye import spaces
from rye.errors import EnvironmentFault, ItemError
from rye.reports import Unchecked
from rye.spaces import Root

if TYPE_CHECKING:
    from rye.checking import Checking
    from rye.inventory import ManifestReport
    from rye.manifest import Finding

__all__ = ["Amiss", "Manifests"]

STATE = "amiss"
"""What stands in the place of a verdict."""


@dataclass(frozen=True, slots=True)
class Amiss:
    """What a manifest has something against: an item, or the manifest itself.

    Attributes:
        type, id: Of the item; empty for the manifest itself.
        space, bundle: Where it is.
        path: The file, which may be gone, or the folder of the manifest.
        digest: SHA-256 of the file, or of all files of the manifest; empty where there is none.
        line: Always 1.
    """

    type: str
    id: str
    space: str
    bundle: str
    path: str
    digest: str
    line: int = 1

    @property
    def ref(self) -> str:
        """``type:id``, or ``manifest``."""
        return f"{self.type}:{self.id}" if self.id else "manifest"

    @property
    def source(self) -> str:
        """``project``, ``user`` or ``system:<bundle>``."""
        return f"{self.space}:{self.bundle}" if self.bundle else self.space

    @property
    def state(self) -> str:
        """The word in the place of a verdict."""
        return STATE

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, with the word in the place of a verdict."""
        place = {"type": self.type, "id": self.id, "space": self.space, "bundle": self.bundle, "path": self.path}
        return place | {"line": self.line, "digest": self.digest, "verdict": STATE}


@dataclass(slots=True)
class Manifests:
    """The manifests of one run: iterate over it once; then it has the reports and the notes.

    Attributes:
        checking: Whose roots are looked at.
        named_trust: Trust files that count as the user's own.
        require: Whether a root that has items but no manifest is a finding.
        reports: What was found in each root, once it was looked for.
    """

    checking: Checking
    named_trust: tuple[Path, ...] = ()
    require: bool = False
    reports: tuple[ManifestReport, ...] = field(default=())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know and does not fail the check."""
        return tuple(
            f"{report.source}: {found.message} [{found.code}]"
            for report in self.reports
            for found in report.check.findings
            if found not in report.errors
        )

    def __iter__(self) -> Iterator[tuple[Amiss, Finding] | Unchecked]:
        """Yield what each manifest has something against and why, and what could not be read."""
        from rye.inventory import check_manifests

        roots = self.checking.roots
        try:
            self.reports = check_manifests(
                self.checking.layout, roots=roots, named_trust=self.named_trust, require=self.require
            )
        except EnvironmentFault as fault:
            yield Unchecked(fault.message, fault.code, fault.hint)
            return
        by_path = {str(root.path): root for root in roots}
        for report in self.reports:
            root = by_path[report.root]
            for text in report.problems:
                yield Unchecked(text, "unreadable-items", "mend or remove it", report.root)
            for found in report.errors:
                yield _amiss(root, found), found


def _amiss(root: Root, found: Finding) -> Amiss:
    of_item = bool(found.item_id and found.path)
    path = root.path / (found.path or "config/manifest")
    digest = _digest(root, found.path) if of_item else _manifest_digest(root)
    kind, item_id = (found.item_type, found.item_id) if of_item else ("", "")
    return Amiss(kind, item_id, str(root.space), root.bundle, str(path), digest)


def _digest(root: Root, path: str) -> str:
    try:
        return hashlib.sha256(spaces.read_file(root, path)).hexdigest()
    except ItemError:
        return ""


def _manifest_digest(root: Root) -> str:
    from rye.manifest import read_manifest

    try:
        files = read_manifest(root.path)
    except EnvironmentFault:
        return ""
    rows = (f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in sorted(files.items()))
    return hashlib.sha256("".join(rows).encode()).hexdigest() if files else ""
