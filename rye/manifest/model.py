"""The values of a manifest: listed items, findings of a check, and the versions seen before."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rye._report import Report, as_json
from rye._text import Advice
from rye.errors import SigningError
from rye.trust import Origin, PublicKey, TrustSet

DAYS: Final = 90
"""Days after which a manifest expires by default."""

FRESH_DAYS: Final = 7
"""Days after which the timestamp of a project's or the user's manifest expires, if not the whole before."""

MAX_DAYS: Final = 3650
"""The longest time for which a manifest may be valid."""

MAX_MANIFEST_FILE: Final = 33_554_432
"""A longer file of a manifest is refused, in bytes."""

MAX_MANIFEST_BYTES: Final = 134_217_728
"""A manifest whose files together are longer is refused, in bytes."""

MAX_ROOTS: Final = 1_024
"""More versions of the root than these are refused."""

MAX_ROLES: Final = 256
"""More delegated roles than these are refused."""

MAX_DELEGATED_DEPTH: Final = 8
"""The depth of folders below a namespace ``a/*`` that a delegation of it reaches."""


TRUST: Final = "trust"
"""The type under which a trust file is listed; its id is the stem of its name."""

FILE: Final = "file"
"""The type under which any other file is listed, that is neither item nor trust file; its id is its path."""


class Severity(StrEnum):
    """Whether a finding fails a check."""

    ERROR = "error"
    NOTE = "note"


class FindingKind(NamedTuple):
    """A kind of finding: whether it fails a check, and the command that fixes it, with a note after ``  # ``.

    Where no command can, the remedy begins with ``# `` and says what to do.
    """

    severity: Severity
    remedy: str


_WRITE: Final = "# once reviewed: rye manifest write"
_RESTORE: Final = "# put the listed file back, or once the change is reviewed: rye manifest write"
_TRUST: Final = (
    "rye trust add FILE  # the signer's trust file, as its owner gave it; for one run: --trust FILE; "
    "if the key is revoked, its owner begins anew with another: rye manifest write --new --key NAME"
)
_PUT_BACK: Final = "# get all files of one version again from its owner, and compare them with these"
_LISTED: Final = "# put back the file that is listed, from where the space came from, and compare the two with diff"
_BACK: Final = (
    "# put its files back as they were; if its owner says that there is none any more: rye manifest check --reset"
)
_ASK: Final = (
    "# get its newest files from its owner; if its owner says that it was begun anew: rye manifest check --reset"
)


def _error(remedy: str) -> FindingKind:
    return FindingKind(Severity.ERROR, remedy)


FINDINGS: Final[Mapping[str, FindingKind]] = MappingProxyType(
    {
        "manifest-first-use": FindingKind(
            Severity.NOTE, "rye manifest check  # compare the version with its owner's this once"
        ),
        "manifest-unsaved": FindingKind(Severity.NOTE, "export RYE_STATE_DIR=FOLDER  # one that can be written"),
        "manifest-missing": _error("# once all files are reviewed: rye manifest write"),
        "manifest-gone": _error(_BACK),
        "manifest-malformed": _error(_PUT_BACK),
        "manifest-unknown-signer": _error(_TRUST),
        "manifest-root-chain": _error(_ASK),
        "manifest-threshold": _error("# once reviewed, by each signer that is missing: rye manifest write --cosign"),
        "manifest-expired": _error(
            "rye manifest refresh  # for its owner, if it is timestamp.json alone, else rye manifest write; others get "
            "the newest one"
        ),
        "manifest-rollback": _error(_ASK),
        "manifest-fork": _error(_ASK),
        "manifest-mixed": _error(_PUT_BACK),
        "manifest-audience": _error(
            "# get the manifest and the items of this registry from its owner; one that names none is written again"
        ),
        "manifest-timestamp-key": _error(
            "rye trust list  # remove the key there, or have the owner of the manifest give the timestamp another one"
        ),
        "manifest-delegation": _error(
            "# once reviewed, for its owner, who may also --delegate the namespace: rye manifest write"
        ),
        "item-removed": _error(_RESTORE),
        "item-unlisted": _error(_WRITE),
        "item-renamed": _error("# move it back, or once the new name is reviewed: rye manifest write"),
        "item-copied": _error("# remove it, or once the copy is reviewed: rye manifest write"),
        "item-swapped": _error(_LISTED),
        "item-rolled-back": _error(_LISTED),
        "item-changed": _error(_RESTORE),
        "item-mislabelled": _error(_WRITE),
        "uncovered": FindingKind(Severity.NOTE, "# remove it, or once the file is reviewed: rye manifest write"),
    }
)
"""Every code a check can give: of the manifest as a whole, then of single items."""


class ManifestFinding(NamedTuple):
    """One finding of a check.

    Attributes:
        code: One of :data:`FINDINGS`.
        message: What was found, in words.
        path: The file below the space's root.
        item_type, item_id: Of the item, when the finding is about one.
        sha256: Of the item's file as it was found, as it is listed where it is gone; of what was last seen where the
            manifest is gone. Hex, empty for all else. It distinguishes a finding from a later one of the same code.
        demanded: Whether it fails the check though by its kind it is a note.
    """

    code: str
    message: str
    path: str = ""
    item_type: str = ""
    item_id: str = ""
    sha256: str = ""
    demanded: bool = False

    @property
    def severity(self) -> Severity:
        """Whether it fails the check."""
        return Severity.ERROR if self.demanded else FINDINGS[self.code].severity

    @property
    def advice(self) -> Advice:
        """The command that fixes it, and what to know before it is run."""
        return Advice.read(FINDINGS[self.code].remedy)

    def to_dict(self) -> dict[str, str]:
        """Return all but the digest, with the severity and the remedy, as JSON-able text."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "path": self.path,
            "type": self.item_type,
            "id": self.item_id,
            "remedy": self.advice.command,
            "note": self.advice.words,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRoles(Report):
    """The parts of a manifest, its roles, that were signed anew, and the signatures they lack.

    Attributes:
        version: Of the manifest.
        written: Roles that are new.
        missing: Role → how many signatures it still lacks; such a manifest does not pass a check.
        waiting: Delegated roles whose keys were not given, so that their lists stay as they were.
        pending: Delegated role → how many signatures its newest list still lacks. Such a list counts once it has all of
            them and somebody with a key of the manifest itself writes; until then the one before does.
    """

    version: int
    written: tuple[str, ...]
    missing: Mapping[str, int] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict)


class ListedItem(NamedTuple):
    """One file, as a manifest lists it or as it was found on disk: an item, a trust file, or any other.

    Attributes:
        path: Below the space's root, slashes always.
        item_type, item_id: By its path; :data:`TRUST` and the stem of a trust file, :data:`FILE` and the path else.
        length: Of the file in bytes.
        sha256: Hex digest of all bytes of the file, signature line included; of its target for a link that is no item.
        signed_at: Time in its signature line; empty when it has none.
        mode: ``100644``, ``100755`` or, of a link, ``120000``; empty where it is not known.
    """

    path: str
    item_type: str
    item_id: str
    length: int
    sha256: str
    signed_at: str = ""
    mode: str = ""


class SpaceName(NamedTuple):
    """The space that a manifest belongs to, which decides whose keys may sign it."""

    space: str
    bundle: str = ""

    @property
    def origin(self) -> Origin:
        """The origin by which the trust set decides."""
        return Origin(self.space, self.bundle, "manifest", "manifest")


class RootKeys(NamedTuple):
    """The keys of the manifest's own roles, and how many of them must sign root and list.

    Attributes:
        keys: Those of every role; empty to keep the present ones and their threshold.
        threshold: How many of them must sign root and list.
        timestamp: Further keys, that may sign the timestamp and nothing else; None keeps the present ones.
    """

    keys: tuple[PublicKey, ...] = ()
    threshold: int = 1
    timestamp: Sequence[PublicKey] | None = None


class SpaceKeys(NamedTuple):
    """The keys that may sign a manifest of one space at one moment."""

    place: SpaceName
    trust: TrustSet
    now: datetime

    def revoked(self, fingerprint: str) -> bool:
        """Return whether any file that may revoke the key does; then it counts nowhere."""
        return self.trust.may_sign(fingerprint, self.place.origin, self.now).code in {"revoked", "trust-unread"}

    def trusted_by(self, fingerprint: str) -> str:
        """Return a trust file by which a key may sign items of the space; empty where there is none."""
        standing = self.trust.may_sign(fingerprint, self.place.origin._replace(item_type="", item_id=""), self.now)
        return standing.entry.source or standing.entry.signer if standing.counts and standing.entry else ""

    def check_timestamp(self, wanted: RootKeys | None) -> None:
        """Refuse keys for the timestamp alone that may sign items of the space.

        Raises:
            SigningError: ``manifest-timestamp-key``.
        """
        for key in (wanted.timestamp or ()) if wanted else ():
            if found := self.trusted_by(key.fingerprint):
                words = f"key {key.fingerprint[:16]} is trusted for items here, by {found}"
                hint = "make another one, which no trust file names: rye keys generate NAME --no-trust"
                raise SigningError("manifest-timestamp-key", words, hint=hint)

    def anchors(self, fingerprint: str) -> bool:
        """Return whether a key may by itself sign for the whole space.

        A key that is limited to some items cannot sign for all of them.
        """
        return self.trust.may_sign(fingerprint, self.place.origin, self.now).counts


class Delegation(NamedTuple):
    """A namespace whose items are listed by other keys.

    Attributes:
        namespaces: Patterns as in a trust file: ``rye/core/*``, ``tool:rye/*``.
        keys: Who may sign the list.
        threshold: How many of them must.
    """

    namespaces: tuple[str, ...]
    keys: tuple[PublicKey, ...]
    threshold: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """The last manifest of a space that passed a check.

    Attributes:
        versions: Role → version.
        digests: Role → SHA-256 of what was signed.
        root: The last root, as it was.
        also: What was seen under other names of the same folder, where that is not the same: it must be met as well.
    """

    versions: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    root: bytes = b""
    also: tuple[Seen, ...] = ()

    @property
    def all(self) -> tuple[Seen, ...]:
        """This record and those of other names of the folder."""
        return (self, *self.also)

    @property
    def digest(self) -> str:
        """SHA-256 over the digests of all roles, under every name, hex: another one for each manifest."""
        rows = {f"{role} {digest}\n" for seen in self.all for role, digest in seen.digests.items()}
        return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()

    def newest(self, role: str) -> int:
        """Return the highest version of a role that was seen, 0 where none was."""
        return max(seen.versions.get(role, 0) for seen in self.all)


@dataclass(frozen=True, slots=True)
class ManifestReport(Report):
    """The result of checking the manifest of one space; all after ``seen`` is added where files were read from disk.

    Attributes:
        findings: Everything, of the manifest first, then of items by path.
        version: Of the list that was checked, 0 when none could be believed.
        expires: When its first part expires; None when none could be believed.
        listed: How many items it lists.
        signers: Fingerprints of the keys that signed the list.
        audience: The registry that the list is of; empty for none, as in manifests of earlier builds.
        timestamp_keys: Fingerprints of the keys that may sign the timestamp and nothing else; empty where whoever
            refreshes the manifest can also list other items.
        seen: The record to keep until the next check; the one given where the manifest is not good.
        source: ``project``, ``user`` or ``system:<bundle>``.
        root: The folder.
        problems: Files that could not be read, so they could not be checked.
        digest: SHA-256 of all files of the manifest, names and bytes, hex; empty where there is none.
    """

    findings: tuple[ManifestFinding, ...]
    version: int = 0
    expires: datetime | None = None
    listed: int = 0
    signers: tuple[str, ...] = ()
    audience: str = ""
    timestamp_keys: tuple[str, ...] = ()
    seen: Seen | None = None
    source: str = ""
    root: str = ""
    problems: tuple[str, ...] = ()
    digest: str = ""

    @property
    def errors(self) -> tuple[ManifestFinding, ...]:
        """The findings that fail the check."""
        return tuple(found for found in self.findings if found.severity is Severity.ERROR)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the record and the digest as JSON-able values."""
        shown = ["source", "root", "version", "expires", "listed", "signers", "audience"]
        shown += ["timestamp_keys", "findings", "problems"]
        expires = self.expires.isoformat() if self.expires else ""
        return {name: as_json(getattr(self, name)) for name in shown} | {"expires": expires}
