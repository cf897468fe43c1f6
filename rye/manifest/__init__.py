"""manifest: a signed list of a space's items and trust files; it shows which are missing, renamed or rolled back.

The list is TUF metadata (root, timestamp, snapshot, targets, roles for delegated namespaces), written and read with
python-tuf. What anchors it is rye's own trust set: the first root that trusted keys have signed; each later one must be
signed by the keys of the one before. :func:`write_manifest` and :func:`check_manifest` take bytes, keys, a moment and
what was last seen, and touch no disk; :mod:`rye.manifest.store` alone reads and writes files, and needs no python-tuf,
which is loaded with ``check`` and ``write``, when a manifest is first checked or made: most runs only ask whether there
is one. So none of it is imported here.

    >>> from datetime import UTC, datetime
    >>> from rye.manifest.check import check_manifest
    >>> from rye.manifest.model import ListedItem, SpaceName
    >>> from rye.manifest.write import write_manifest
    >>> from rye.trust import TrustScope, SigningKey, TrustEntry, TrustSet
    >>> key, now = SigningKey.from_seed(bytes(32)), datetime(2026, 1, 1, tzinfo=UTC)
    >>> trust = TrustSet((TrustEntry(key.public, "ann", TrustScope.USER),))
    >>> one = ListedItem("tools/demo/hello.py", "tool", "demo/hello", 14, "0" * 64, "2026-01-01T00:00:00Z")
    >>> files = write_manifest({}, (one,), signers=(key,), now=now).files
    >>> sorted(files)
    ['1.root.json', '1.snapshot.json', '1.targets.json', 'timestamp.json']
    >>> place = SpaceName("project")
    >>> [found.code for found in check_manifest(files, (one,), place=place, trust=trust, now=now).findings]
    ['manifest-first-use']
    >>> [found.code for found in check_manifest(files, (), place=place, trust=trust, now=now).errors]
    ['item-removed']
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rye.manifest.store import read_manifest
from rye.trust import system_clock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from rye.spaces import Root
    from rye.trust import TrustLoad
    from rye.trust.trust_set import ListedRows

__all__ = ("keys_of_manifest", "with_listed")


def keys_of_manifest(root: Path) -> set[str]:
    """Return the fingerprints of all keys that have a part in the manifest of a root, whoever wrote it.

    Raises:
        EnvironmentFault: ``unreadable``.
    """
    files = read_manifest(root)
    if not files:
        return set()
    from rye.manifest.metadata import named_keys

    return named_keys(files)


def with_listed(load: TrustLoad, roots: Iterable[Root]) -> TrustLoad:
    """Return a trust set with which files count that can hold no signature, and manifests of these roots sign."""
    return load._replace(trust=replace(load.trust, listed=_Listed(load, roots)))


class _Listed:
    """Reads the manifest of a root when a file is judged that it may sign, and once; it signs nothing once expired."""

    def __init__(self, load: TrustLoad, roots: Iterable[Root]) -> None:
        self._trust, self._now = load.trust, system_clock()
        self._paths = {(str(root.space), root.bundle): root.path for root in roots if root.client is None}
        self._read: dict[tuple[str, str], tuple[datetime, ListedRows]] = {}

    def __call__(self, space: str, bundle: str) -> ListedRows:
        place = space, bundle
        if place not in self._read:
            from rye.manifest.check import signed_files
            from rye.manifest.model import SpaceName

            path = self._paths.get(place)
            has_manifest = path is not None and (path / "config" / "manifest").is_dir()
            named = SpaceName(*place)
            found = signed_files(path, named, self._trust, self._now) if path and has_manifest else (self._now, {})
            self._read[place] = found
        expires, rows = self._read[place]
        return rows if system_clock() < expires else {}
