"""The items of a corpus as signed files of a project, and a user who trusts their key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rye import Registry
from rye.items.model import Item, ItemType
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.signed import place

DOCSTRING = '"""'


@dataclass(frozen=True, slots=True)
class Laid:
    """A project on disk.

    Attributes:
        folder: Holds ``project``, ``home`` and ``cache``.
        key: What signed the items.
    """

    folder: Path
    key: SigningKey

    @property
    def project(self) -> Path:
        """The folder that holds ``.ai``."""
        return self.folder / "project"

    @property
    def home(self) -> Path:
        """The user's."""
        return self.folder / "home"

    def registry(self, *, max_staleness: float = 0.0) -> Registry:
        """Return a new registry over the project and the user, without bundles."""
        cache = self.folder / "cache"
        return Registry(self.project, user=self.home, bundles=(), cache_dir=cache, max_staleness=max_staleness)

    def arguments(self) -> list[str]:
        """Return what names the same places to the ``rye`` command."""
        return ["--project", str(self.project)]

    def environment(self) -> dict[str, str]:
        """Return the variables that name the same user to the ``rye`` command."""
        places = {"USER_SPACE": str(self.home), "HOME": str(self.home), "RYE_CACHE_DIR": str(self.folder / "cache")}
        return places | {"NO_COLOR": "1"}

    def write(self, item: Item, *, more: str = "") -> Path:
        """Write one item, with further text at its end, as a signed file."""
        suffix = ".py" if item.type is ItemType.TOOL else ".md"
        path = self.project / ".ai" / item.type.folder / f"{item.id}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        origin = place(item.id, str(item.type), suffix=suffix)
        now = datetime(2026, 2, 18, 12, tzinfo=UTC)
        data = (_code(item, more) if suffix == ".py" else _markdown(item, more)).encode()
        path.write_bytes(sign_bytes(data, suffix=suffix, origin=origin, key=self.key, now=now))
        return path


def lay(items: Sequence[Item], folder: Path) -> Laid:
    """Write the files of items, and the user's trust in who signed them, below a folder."""
    laid = Laid(folder, SigningKey.generate())
    trusted = laid.home / ".ai" / TRUSTED_FOLDER
    trusted.mkdir(parents=True)
    (folder / "cache").mkdir(mode=0o700)
    public = laid.key.public
    (trusted / trust_file_name(public)).write_bytes(trust_file_bytes(public, owner="bench"))
    for item in items:
        laid.write(item)
    return laid


def _markdown(item: Item, more: str) -> str:
    lines = [f"{key}: {json.dumps(value)}" for key, value in item.metadata.items()]
    return "\n".join(["---", *lines, "---", "", item.body, "", more]) + "\n"


def _code(item: Item, more: str) -> str:
    prose, _, code = item.body.partition("\n\ndef ")
    dunders: Mapping[str, Any] = {"tool_type": "python", **item.metadata}
    constants = "\n".join(f"__{key}__ = {value!r}" for key, value in dunders.items() if key != "name")
    return f"{DOCSTRING}{prose}\n\n{more}\n{DOCSTRING}\n\n{constants}\n\n\ndef {code}"
