"""One file from its bytes to its verdict, by the code that search and show use; what the processes of a run share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

_Inspected = tuple[str, ItemFile, bytes, Origin, Evidence]
"""The whole path of a file, its place, its bytes, where these count, and what they prove."""

_NOTHING: Mapping[str, str] = {}
_TYPES = {each: each.value for each in ItemType}
_SPACES = {each: each.value for each in Space}
_V2 = EnvelopeFormat.V2.value
_TRUSTED, _UNSIGNED = Verdict.TRUSTED, Verdict.UNSIGNED
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
        return self.check_all(root, [file], read)[0]

    def check_all(self, root: Root, files: Iterable[ItemFile], read: Read) -> list[Outcome]:
        """Return the outcome of each of some files of a root, in their order.

        All are read, then all inspected, before the first signature is checked: going from the one to the other for
        every file would empty the processor's caches of both, and takes a tenth longer.
        """
        base = f"{root.path}/"
        contents = [(file, _content(root, file, read)) for file in files]
        inspected = [_inspect(root, base + file.rel_path, file, content) for file, content in contents]
        return [each if isinstance(each, Unchecked) else self._judge(each) for each in inspected]

    def _judge(self, inspected: _Inspected) -> Outcome:
        path, file, data, origin, evidence = inspected
        trust, now = self.trust, self.now
        signature = signing.judge(evidence, origin=origin, trust=trust, now=now)
        if signature.code == "signature" or signature.verdict is _UNSIGNED:
            try:
                evidence = _with_declared(evidence, data, file, origin)
            except ItemError as error:
                return _unchecked(error, path)
            signature = signing.judge(evidence, origin=origin, trust=trust, now=now)
        space, bundle, kind, item_id = origin
        digest = sha256(data).hexdigest() if self.digests or signature.verdict is not _TRUSTED else ""
        return VerifiedItem(kind, item_id, space, bundle, path, signature, _line(data, evidence), digest, len(data))


def _content(root: Root, file: ItemFile, read: Read) -> bytes | ItemError:
    try:
        return read(root, file.rel_path)
    except ItemError as error:
        return error


def _inspect(root: Root, path: str, file: ItemFile, content: bytes | ItemError) -> _Inspected | Unchecked:
    """Return what :meth:`Verifier._judge` needs, or why there can be no verdict."""
    if isinstance(content, ItemError):
        return _unchecked(content, path)
    origin = Origin(_SPACES[root.space], root.bundle, _TYPES[file.item_type], file.item_id)
    evidence = signing.inspect(content, origin=origin, declared=_NOTHING, suffix=file.suffix, content_digest="")
    if evidence.format != _V2 and not evidence.code:
        try:
            evidence = _with_declared(evidence, content, file, origin)
        except ItemError as error:
            return _unchecked(error, path)
    return path, file, content, origin, evidence


def _unchecked(error: ItemError, path: str) -> Unchecked:
    return Unchecked(error.message, error.code, error.hint, path)


def _with_declared(evidence: Evidence, data: bytes, file: ItemFile, origin: Origin) -> Evidence:
    """Read what a file says of itself, too.

    Raises:
        ItemError: It is no item.
    """
    declared = items.declared(data, item_type=file.item_type, item_id=file.item_id, suffix=file.suffix)
    return signing.with_declared(evidence, declared, origin)


def _line(data: bytes, evidence: Evidence) -> int:
    """Return the 1-based line on which the signature stands, or would have to."""
    if evidence.code == "envelope-elsewhere":
        return int(evidence.detail)
    return 2 if data.startswith(_SHEBANGS) and b"\n" in data else 1
