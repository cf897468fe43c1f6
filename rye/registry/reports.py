"""Results of the façade besides search results: loaded items and the state of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rye._report import Report, as_json
from rye.index.vectors.vectors import VectorReport
from rye.items.model import Item
from rye.spaces.model import InSpace, ItemFile, Root
from rye.trust.model import Signature

_METADATA = (
    "name", "title", "description", "category", "version", "tags", "author", "created", "updated", "metadata"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedItem(InSpace, Report):
    """One item with its content and the verdict on exactly that content.

    Attributes:
        item: The parsed item.
        root, file: The root that contains it, and its path there.
        content: The text of ``data``.
        signature: The verdict.
        shadows, shadowed_by: Sources (``project``, ``user``, ``system:<bundle>``) with the same id.
        states, successor: As those of a hit.
        warnings: Sentences on hidden copies of another signer, and on a successor that is not trusted or not believed.
        installed_from: Where an installed skill came from according to the tool that installed it; not signed.
        address: The address of its file on a cluster; empty for a local file.
        data: The bytes of the file.
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
        """The client folder that contains it; else empty."""
        return self.root.folder

    @property
    def path(self) -> str:
        """The absolute path of the file, or its address on a cluster."""
        return self.address or str(self.root.path / self.file.rel_path)

    def to_dict(self) -> dict[str, Any]:
        """Return type, id, place, metadata, content and verdict as JSON values."""
        item = self.item
        facts = {name: as_json(getattr(item, name)) for name in ("type", "id", *_METADATA)}
        sections = [{"heading_path": list(section.heading_path), "line": section.line} for section in item.sections]
        symbols = [symbol.to_dict() for symbol in item.symbols]
        own_fields = Report.to_dict(self)
        del own_fields["item"], own_fields["root"], own_fields["file"], own_fields["address"], own_fields["data"]
        own_fields |= {name: getattr(self, name) for name in ("space", "bundle", "path", "folder")}
        return facts | {"sections": sections, "symbols": symbols} | own_fields


@dataclass(frozen=True, slots=True)
class SpaceStatus(Report):
    """The index of one space root: its place and size, and its vectors by model."""

    source: str
    root: str
    cache: str
    exists: bool
    items: int
    segments: int
    generation: int
    bytes: int
    vectors: tuple[VectorReport, ...] = ()
