"""Value types for verdicts, evidence and signatures.

Types created for every file are named tuples, because these are created and sent between processes several times as
fast as frozen dataclasses.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, NewType, Protocol

from rye.errors import SigningError

Fingerprint = NewType("Fingerprint", str)
"""64 lower-case hex digits: SHA-256 of the public PEM."""

_RECORD: Final = "evidence-8"
"""First value of a record; identifies its layout."""


class Clock(Protocol):
    """A source of the current time. Only the outermost caller reads it; the core is passed the time."""

    def __call__(self) -> datetime:
        """Return the current time with its time zone."""


def as_utc(moment: datetime) -> datetime:
    """Return a time in UTC; a time without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Verdict(StrEnum):
    """The result of a verification, from best to worst."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    PARTIAL = "partial"
    MISPLACED = "misplaced"
    TAMPERED = "tampered"
    UNSIGNED = "unsigned"


class EnvelopeFormat(StrEnum):
    """The formats of a signature line."""

    V1 = "v1"
    V2 = "v2"
    RYEOS = "ryeos"


BY_LIST: Final = "list"
"""The format of a signature made by the list of a space."""

OMS: Final = "oms"
"""The format of a signature that is an OpenSSF Model Signing bundle."""


class Coverage(StrEnum):
    """The part of the file that the digest in the signature line covers; all but WHOLE leave something unsigned."""

    WHOLE = "whole"
    BELOW_LINE = "below-line"
    DIRECTIVE = "directive"
    BELOW_FRONT_MATTER = "below-front-matter"
    SKILL_FILE = "skill-file"


class Placement(StrEnum):
    """Where a signature is placed. A v2 message contains it, so that no signature can be moved to another place."""

    TOP = ""
    FRONT_MATTER = "front-matter"
    DETACHED = "detached"
    SKILL = "skill"
    LIST = "list"


class Origin(NamedTuple):
    """Where a file was found; decides which keys may sign it and what its signature must name.

    Attributes:
        space: ``project``, ``user`` or ``system``.
        bundle: Bundle id in system space, else empty.
        item_type, item_id: From the path.
        signed_id: The id that a signature binds; empty if that is ``item_id``. For a client's file it is a slash and
            the path from the top of the repository, so that no other file can become the instructions of a folder.
        folder: The client folder that contains the file, such as ``.claude/skills``; else empty.
        former_id: The id that earlier signatures bind instead of ``signed_id``, still accepted; else empty.
        skills: For a file of a project's skill, a slash and the path of the skills folder; else empty.
    """

    space: str
    bundle: str
    item_type: str
    item_id: str
    signed_id: str = ""
    folder: str = ""
    former_id: str = ""
    skills: str = ""

    def of_skill(self, skill: str) -> Origin:
        """Return the origin that a whole skill's signature names: the path of its folder, or the skill's bare name.

        The signature of a project's skill binds its path. A signature that names only the skill was made by a publisher
        for every place into which the skill may be installed.
        """
        path, name = (f"{self.skills}/{skill}", skill) if self.skills else ("", "")
        return self._replace(item_type="directive", item_id=skill, signed_id=path, former_id=name)


class Signature(NamedTuple):
    """The judgement on one file, as shown everywhere.

    Attributes:
        verdict: One of the six verdicts.
        code: Stable reason code, one of :data:`rye.trust.reasons.REASONS`.
        reason: The reason in words.
        signer: 64-hex fingerprint of the key if known, else the one in the line, else empty. For a certificate under a
            trusted root, its subject, such as ``CN=Signer,O=Acme``.
        owner: Owner named by the trust file of that key, else empty. Never taken from the line.
        signed_at: Time of the line (ISO 8601); only v2 signs it.
        format: ``v1``, ``v2``, ``ryeos``, ``list`` for a file signed only by the list of its space, ``oms`` for a skill
            signed by a Model Signing bundle, or empty.
        audience: The registry that the line names; empty for none or if malformed.
    """

    verdict: Verdict
    code: str
    reason: str
    signer: str = ""
    owner: str = ""
    signed_at: str = ""
    format: str = ""
    audience: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the eight attributes as text that JSON can hold."""
        return self._asdict() | {"verdict": str(self.verdict)}


def signer_words(signer: str) -> str:
    """Return the signer in words: the first digits of a fingerprint, or the subject of a certificate."""
    # a subject has an equals sign, a fingerprint none
    return f"the certificate of {signer}" if "=" in signer else f"key {signer[:16]}"


class Evidence(NamedTuple):
    """The facts that the bytes alone prove, without any key; independent of trust, so an index may keep them.

    Attributes:
        content_digest: SHA-256 hex of all bytes of the file.
        code: Empty if a key may decide; else the reason code of a fault that no key can change.
        detail: Words for the template of ``code`` or ``coverage``.
        format: ``v1``, ``v2``, ``ryeos``, ``oms``, or empty if there is no readable envelope.
        coverage: The part of the file that the digest in the line covers.
        misplaced: How extension, type, id, name or category disagree with the path, in words; empty if they agree.
        claims: Other ids that the file claims; a v2 signature that fails for this id may be valid for one of them.
        digest: SHA-256 hex as written in the line; it matches the bytes under ``coverage`` whenever ``code`` is empty.
            For a file without a signature, the digest of all its bytes if ``content_digest`` is empty.
        signature: 64 raw bytes, for a bundle a DER structure, or empty.
        fingerprint: As written in the line (16 or 64 hex); for a bundle, its name for the key or root certificate.
        signed_at: As written in the line.
        suffix: The extension that the line names; empty for none.
        audience: As written in the line; empty for none.
        placement: Where the signature is placed.
        skill: Id of the skill that was signed as a whole, which the signature binds instead of the item's; else empty.
        proof: For a bundle, the digests of the signed bytes, then its certificates, the signer's first; else empty.
    """

    content_digest: str
    code: str = ""
    detail: str = ""
    format: str = ""
    coverage: Coverage = Coverage.WHOLE
    misplaced: str = ""
    claims: tuple[str, ...] = ()
    digest: str = ""
    signature: bytes = b""
    fingerprint: str = ""
    signed_at: str = ""
    suffix: str = ""
    audience: str = ""
    placement: Placement = Placement.TOP
    skill: str = ""
    proof: tuple[bytes, ...] = ()

    @property
    def may_be_listed(self) -> bool:
        """Whether the file has no signature of its own, so that the list of its space may sign it."""
        return self.code in {"no-envelope", "envelope-elsewhere"}

    def to_record(self) -> list[str]:
        """Return a flat list of text for JSON, readable by :meth:`from_record`."""
        signature, *proof = [base64.b64encode(part).decode("ascii") for part in (self.signature, *self.proof)]
        line = (self.digest, signature, self.fingerprint, self.signed_at, self.suffix, self.audience)
        rest = (*line, self.placement, self.skill, " ".join(proof))
        return [_RECORD, *map(str, self[: Evidence._fields.index("claims")]), *map(str, rest), *self.claims]

    @classmethod
    def from_record(cls, record: Sequence[str]) -> Evidence:
        """Read the output of :meth:`to_record`.

        Raises:
            SigningError: ``bad-record``: it has another layout or is damaged.
        """
        try:
            layout, content, code, detail, form, coverage, misplaced, *rest = record
            digest, signature, key, when, suffix, audience, placement, skill, parts, *claims = rest
            raw, *proof = [base64.b64decode(text, validate=True) for text in (signature, *parts.split())]
            part, ids, place = Coverage(coverage), tuple(claims), Placement(placement)
            line = (digest, raw, key, when, suffix, audience, place, skill, tuple(proof))
            evidence = cls(content, code, detail, form, part, misplaced, ids, *line)
        except (TypeError, ValueError, AttributeError):
            layout = ""
        if layout != _RECORD:
            raise SigningError("bad-record", "a stored record of evidence cannot be read", hint="read the file again")
        return evidence
