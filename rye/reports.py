"""What the façade answers with besides search: loading, verifying, signing, refreshing and the state of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rye.items.model import Item
from rye.manifest_reports import ManifestReport
from rye.signing.model import Signature

if TYPE_CHECKING:
    from rye.index.vector_status import VectorStatus


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


class VerifiedItem(NamedTuple):
    """The verdict on one file. A named tuple, as :class:`rye.signing.Signature` and for the same reason.

    ``line`` is where its signature stands or belongs; ``digest`` the SHA-256 of the bytes the verdict is on, ``length``
    their number, for what else is to be said of the very same bytes.
    """

    type: str
    id: str
    space: str
    bundle: str
    path: str
    signature: Signature
    line: int = 1
    digest: str = ""
    length: int = 0

    @property
    def ref(self) -> str:
        """``type:id``."""
        return f"{self.type}:{self.id}"

    @property
    def source(self) -> str:
        """``project``, ``user`` or ``system:<bundle>``."""
        return f"{self.space}:{self.bundle}" if self.bundle else self.space

    def to_dict(self) -> dict[str, Any]:
        """Return where it is and the seven facts of its signature, flat."""
        place = {"type": self.type, "id": self.id, "space": self.space, "bundle": self.bundle, "path": self.path}
        return place | {"line": self.line, "digest": self.digest} | self.signature.to_dict()


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A file or target on which there is no verdict, and why; ``str`` is the sentence."""

    message: str
    code: str = ""
    hint: str = ""
    path: str = ""

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "path": self.path}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Every verdict asked for, what could not be checked at all, and keys or bundles that could not be used.

    ``manifests`` has what was found in the manifest of each space of which everything was asked for, if there is or was
    one. An item may be trusted and yet not be the one that is listed: all is well if no manifest has ``errors``.
    """

    items: tuple[VerifiedItem, ...]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    manifests: tuple[ManifestReport, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of items by verdict."""
        return Counter(str(item.signature.verdict) for item in self.items)

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"items": […], "counts": {verdict: n}, "problems": […], "warnings": […], "manifests": […]}``."""
        return {
            "items": [item.to_dict() for item in self.items],
            "counts": dict(self.counts),
            "problems": list(self.problems),
            "warnings": list(self.warnings),
            "manifests": [report.to_dict() for report in self.manifests],
        }


@dataclass(frozen=True, slots=True)
class SignedItem:
    """One file that was signed, or would be; ``changed`` is False where it stood signed already.

    ``code`` is the reason code of how it stood before, judged by the signing key alone; in a bundle that is signed as
    one, by the bundle's own trust files. It is empty where the signature was valid and of the same format.
    """

    type: str
    id: str
    path: str
    changed: bool
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the five attributes."""
        place = {"type": self.type, "id": self.id, "path": self.path}
        return place | {"changed": self.changed, "code": self.code}


@dataclass(frozen=True, slots=True)
class SignReport:
    """What signing did: the key's fingerprint, every file, its trust file, and why it may not count.

    Fingerprint and trust file are empty where a bundle needed no signature; ``removed`` are the trust files that none
    of its items needed any more.
    """

    fingerprint: str
    items: tuple[SignedItem, ...]
    trust_file: str = ""
    warnings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the five attributes as JSON-able values."""
        return {
            "fingerprint": self.fingerprint,
            "items": [item.to_dict() for item in self.items],
            "trust_file": self.trust_file,
            "removed": list(self.removed),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh found on disk, summed over the spaces."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    stale: bool = False
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ``stale`` and ``warnings``."""
        return {name: getattr(self, name) for name in RefreshReport.__slots__} | {"warnings": list(self.warnings)}


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
    vectors: tuple[VectorStatus, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the nine attributes as JSON-able values."""
        vectors = [one.to_dict() for one in self.vectors]
        return {name: getattr(self, name) for name in SpaceStatus.__slots__} | {"vectors": vectors}


@dataclass(frozen=True, slots=True)
class VectorReport:
    """The vectors of all items under one model: how many, of how many items, and how many items have none."""

    model: str
    dimensions: int
    items: int
    vectors: int
    missing: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the six attributes as JSON-able values."""
        return {name: getattr(self, name) for name in VectorReport.__slots__} | {"warnings": list(self.warnings)}
