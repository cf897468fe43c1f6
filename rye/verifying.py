"""One file from its bytes to its verdict, by the code that search and show use; what the processes of a run share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rye import items, signing, spaces
from rye._envelope import BOM
from rye.errors import ItemError
from rye.reports import Unchecked, VerifiedItem
from rye.signing import EnvelopeFormat, Evidence, Origin, TrustSet
from rye.spaces import FileStat, Root

__all__ = ["Outcome", "Verifier"]

Outcome = VerifiedItem | Unchecked

_SHEBANGS = (b"#!", BOM + b"#!")


@dataclass(frozen=True, slots=True)
class Verifier:
    """What every verdict of a run depends on besides the file."""

    trust: TrustSet
    now: datetime

    def check(self, root: Root, file: FileStat) -> Outcome:
        """Read one file and return the verdict on exactly these bytes, or why there is none."""
        rel_path, item_type, item_id = file[:3]
        origin = Origin(root.space, root.bundle, item_type.value, item_id)
        path = f"{root.path}/{rel_path}"
        try:
            data = spaces.read_file(root, rel_path)
            evidence = signing.inspect(data, origin=origin, declared={})
            signature = signing.judge(evidence, origin=origin, trust=self.trust, now=self.now)
            if _may_depend_on_what_it_says(evidence, signature.code):
                item = items.parse(data, item_type=item_type, item_id=item_id, suffix=file.suffix)
                evidence = signing.inspect(data, origin=origin, declared=item.declared)
                signature = signing.judge(evidence, origin=origin, trust=self.trust, now=self.now)
        except ItemError as error:
            return Unchecked(error.message, error.code, error.hint, path)
        return VerifiedItem(
            type=item_type.value,
            id=item_id,
            space=root.space.value,
            bundle=root.bundle,
            path=path,
            signature=signature,
            line=_line(data, evidence),
            digest=evidence.content_digest,
        )


def _may_depend_on_what_it_says(evidence: Evidence, code: str) -> bool:
    """Tell whether name, category, type or id in the file could change the verdict.

    Where the bytes are at fault, they cannot. A v2 line binds type and id, so there they only help to tell a file that
    was moved from one whose line was altered.
    """
    if evidence.code:
        return False
    return evidence.format != EnvelopeFormat.V2 or code == "signature"


def _line(data: bytes, evidence: Evidence) -> int:
    """Return the 1-based line on which the signature stands, or would have to."""
    if evidence.code == "envelope-elsewhere":
        return int(evidence.detail)
    return 2 if data.startswith(_SHEBANGS) and b"\n" in data else 1
