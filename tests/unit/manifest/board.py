"""A manifest and the items it lists, in memory, with the hands of an attacker on both."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rye.manifest.check import check_manifest
from rye.manifest.model import ListedItem, ManifestReport, Seen, SpaceName
from rye.manifest.write import ManifestUpdate, write_manifest
from rye.trust import SigningKey, TrustSet
from tests.support.signed import ANN, BEA, NOW, SIGNED_AT, entry

USER = TrustSet((entry(ANN, owner="ann"),))
PROJECT = SpaceName("project")


def item(item_id: str, text: str = "", *, signed: datetime = SIGNED_AT) -> ListedItem:
    """Return a tool, with a content of its own unless one is given."""
    data = (text or item_id).encode()
    return ListedItem(
        f"tools/{item_id}.py", "tool", item_id, len(data), hashlib.sha256(data).hexdigest(), signed.isoformat()
    )


ITEMS = (item("a/one"), item("a/two"), item("b/three"))


@dataclass(slots=True)
class Board:
    """One space: its manifest's files, its items, what its user has seen, and the time."""

    files: dict[str, bytes] = field(default_factory=dict)
    items: tuple[ListedItem, ...] = ITEMS
    trust: TrustSet = USER
    place: SpaceName = PROJECT
    now: datetime = NOW
    seen: Seen | None = None

    def write(self, *signers: SigningKey, items: Sequence[ListedItem] | None = None, **options: Any) -> ManifestUpdate:
        """Write the next version."""
        written = write_manifest(
            self.files, self.items if items is None else items, signers=signers or (ANN,), now=self.now, **options
        )
        self.files = dict(written.files)
        return written

    def check(self, **changes: Any) -> ManifestReport:
        """Check what stands, as the user would."""
        given: dict[str, Any] = {
            "place": self.place,
            "trust": self.trust,
            "now": self.now,
            "seen": self.seen,
        }
        found = changes.pop("items", self.items)
        return check_manifest(changes.pop("files", self.files), found, **(given | changes))

    def codes(self, **changes: Any) -> list[str]:
        """Return the codes of what fails."""
        return [found.code for found in self.check(**changes).errors]

    def look(self) -> None:
        """Let the user see what stands, as a good check does."""
        self.seen = self.check().seen

    def later(self, days: float) -> None:
        """Let time pass."""
        self.now += timedelta(days=days)


def written(**options: Any) -> Board:
    """Return a space whose manifest ann has written, seen by nobody yet."""
    board = Board()
    board.write(**options)
    return board


def moved(one: ListedItem, path: str) -> ListedItem:
    """Return an item's content at another path."""
    return one._replace(path=f"tools/{path}.py", item_id=path)


BUNDLE_TRUST = TrustSet((entry(BEA, owner="bea", patterns=("bundle:shop",)),))
