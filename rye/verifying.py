"""One file from its bytes to its verdict, by the code that search and show use; what the processes of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from rye import items, signing, spaces
from rye._envelope import BOM
from rye.errors import ItemError
from rye.items import ItemType
from rye.reports import Unchecked, VerifiedItem
from rye.signing import EnvelopeFormat, Evidence, Origin, TrustSet, Verdict
from rye.spaces import ItemFile, Root, Space

__all__ = ["Outcome", "Verifier"]

Outcome = VerifiedItem | Unchecked
Read = Callable[[Root, str], bytes]

_NOTHING: Mapping[str, str] = {}
_TYPES = {each: each.value for each in ItemType}
_SPACES = {each: each.value for each in Space}
_V2 = EnvelopeFormat.V2.value
_SHEBANGS = (b"#!", BOM + b"#!")


@dataclass(frozen=True, slots=True)
class Verifier:
    """What each verdict of a run depends on besides the file, and whether trusted items too are to have a ``digest``.

    What the file says of itself (name, category, type, id) is read only where it could change the verdict. Where the
    bytes are at fault, it cannot. A v2 line binds type and id, so there it only helps to tell a file that was moved
    from one whose line was altered. An unsigned file is read too: what is no item at all is not
    an item that lacks a signature.
    """

    trust: TrustSet
    now: datetime
    digests: bool = True

    def check(self, root: Root, file: ItemFile, read: Read = spaces.read_file) -> Outcome:
        """Read one file and return the verdict on exactly these bytes, or why there is none."""
        rel_path, item_type, item_id = file[:3]
        kind, space = _TYPES[item_type], _SPACES[root.space]
        origin = Origin(space, root.bundle, kind, item_id)
        path = f"{root.path}/{rel_path}"
        try:
            data = read(root, rel_path)
            evidence = signing.inspect(data, origin=origin, declared=_NOTHING, content_digest="")
            signature = None
            if evidence.code or evidence.format == _V2:
                signature = signing.judge(evidence, origin=origin, trust=self.trust, now=self.now)
            if signature is None or signature.code == "signature" or signature.verdict is Verdict.UNSIGNED:
                declared = items.declared(data, item_type=item_type, item_id=item_id, suffix=file.suffix)
                evidence = signing.with_declared(evidence, declared, origin)
                signature = signing.judge(evidence, origin=origin, trust=self.trust, now=self.now)
        except ItemError as error:
            return Unchecked(error.message, error.code, error.hint, path)
        return VerifiedItem(
            type=kind,
            id=item_id,
            space=space,
            bundle=root.bundle,
            path=path,
            signature=signature,
            line=_line(data, evidence),
            digest=sha256(data).hexdigest() if self.digests or signature.verdict is not Verdict.TRUSTED else "",
            length=len(data),
        )


def _line(data: bytes, evidence: Evidence) -> int:
    """Return the 1-based line on which the signature stands, or would have to."""
    if evidence.code == "envelope-elsewhere":
        return int(evidence.detail)
    return 2 if data.startswith(_SHEBANGS) and b"\n" in data else 1
