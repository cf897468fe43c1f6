"""What the façade answers with besides search: loading, verifying, signing, refreshing and the state of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rye._report import Report, as_json
from rye.index.vectors import VectorReport
from rye.items.model import Item
from rye.spaces.model import InSpace, ItemFile, Root
from rye.trust.model import Signature

_METADATA = (
    "name", "title", "description", "category", "version", "tags", "author", "created", "updated", "metadata"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedItem(InSpace, Report):
    """One item with its content and the verdict on exactly that content.

    ``root`` is the root below which it lies and ``file`` its path there. ``address`` is where a cluster has it; it is
    empty for a file on this machine. ``shadows`` and ``shadowed_by`` name the sources (``project``, ``user``,
    ``system:<bundle>``) of the same id. ``folder``, ``states`` and ``successor`` are as those of a hit; ``warnings``
    say where a copy of another signer is hidden, and what of its successor is not trusted or not believed.
    ``content`` is the text of ``data``, the bytes of the file.
    ``installed_from`` is where the tool that installed a skill wrote that it came from; nobody has signed that.
    """

    item: Item
    root: Root
    file: ItemFile
    content: str
    signature: Signature
    shadows: tuple[str, ...] = ()
    shadowed_by: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    successor: str = ""
    warnings: tuple[str, ...] = ()
    installed_from: str = ""
    address: str = ""
    data: bytes = b""

    @property
    def ref(self) -> str:
        """``type:id``."""
        return f"{self.item.type}:{self.item.id}"

    @property
    def folder(self) -> str:
        """The folder of a client in which it lies; else empty."""
        return self.root.folder

    @property
    def path(self) -> str:
        """The absolute path of the file; the address of one that a cluster has."""
        return self.address or str(self.root.path / self.file.rel_path)

    def to_dict(self) -> dict[str, Any]:
        """Return type, id, where it is, its metadata, content and verdict as JSON-able values."""
        item = self.item
        facts = {name: as_json(getattr(item, name)) for name in ("type", "id", *_METADATA)}
        sections = [{"heading_path": list(each.heading_path), "line": each.line} for each in item.sections]
        symbols = [each.to_dict() for each in item.symbols]
        mine = Report.to_dict(self)
        del mine["item"], mine["root"], mine["file"], mine["address"], mine["data"]
        mine |= {name: getattr(self, name) for name in ("space", "bundle", "path", "folder")}
        return facts | {"sections": sections, "symbols": symbols} | mine


@dataclass(frozen=True, slots=True)
class SpaceStatus(Report):
    """The index of one space root: where it is and how large, and the vectors beside it by model."""

    source: str
    root: str
    cache: str
    exists: bool
    items: int
    segments: int
    generation: int
    bytes: int
    vectors: tuple[VectorReport, ...] = ()
