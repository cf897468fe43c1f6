"""What the façade answers with besides search: loading, verifying, signing, refreshing and the state of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rye.index.refresh import RefreshReport
from rye.index.vector_store import VectorReport
from rye.items.model import Item
from rye.signing.model import Signature

__all__ = ["LoadedItem", "RefreshReport", "SpaceStatus", "VectorReport"]


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """One item with its content and the verdict on exactly that content.

    ``shadows`` and ``shadowed_by`` name the sources (``project``, ``user``, ``system:<bundle>``) of the same id.
    ``states`` and ``successor`` are as those of a hit; ``warnings`` say where a copy of another signer is hidden, and
    what of its successor is not trusted or not believed.
    """

    item: Item
    space: str
    bundle: str
    path: str
    content: str
    signature: Signature
    shadows: tuple[str, ...] = ()
    shadowed_by: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    successor: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """``type:id``."""
        return f"{self.item.type}:{self.item.id}"

    def to_dict(self) -> dict[str, Any]:
        """Return type, id, where it is, its metadata, content and verdict as JSON-able values."""
        item = self.item
        return {
            "type": str(item.type),
            "id": item.id,
            "space": self.space,
            "bundle": self.bundle,
            "path": self.path,
            "name": item.name,
            "title": item.title,
            "description": item.description,
            "category": item.category,
            "version": item.version,
            "tags": list(item.tags),
            "author": item.author,
            "created": item.created,
            "updated": item.updated,
            "metadata": dict(item.metadata),
            "sections": [{"heading_path": list(s.heading_path), "line": s.line} for s in item.sections],
            "symbols": [{"name": s.name, "line": s.line, "end_line": s.end_line} for s in item.symbols],
            "signature": self.signature.to_dict(),
            "shadows": list(self.shadows),
            "shadowed_by": list(self.shadowed_by),
            "states": list(self.states),
            "successor": self.successor,
            "warnings": list(self.warnings),
            "content": self.content,
        }


@dataclass(frozen=True, slots=True)
class SpaceStatus:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the nine attributes as JSON-able values."""
        vectors = [one.to_dict() for one in self.vectors]
        return {name: getattr(self, name) for name in SpaceStatus.__slots__} | {"vectors": vectors}
