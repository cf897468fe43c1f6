"""What the façade answers with besides search: loading, verifying, signing, refreshing and the state of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rye.keys.manifests import ManifestReport
from rye.signing.model import Signature


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
