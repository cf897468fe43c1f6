"""Verdicts, evidence and signatures as values.

Those made for every file are named tuples: they are made, and sent between processes, several times as fast as frozen
dataclasses.
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
"""First value of a record; another one is another layout."""


class Clock(Protocol):
    """The seam for time: the core is given the moment, only the outermost caller asks for it."""

    def __call__(self) -> datetime:
        """Return the present moment with its time zone."""


def as_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a time zone is taken as UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Verdict(StrEnum):
    """The result of a verification; from best to worst."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    PARTIAL = "partial"
    MISPLACED = "misplaced"
    TAMPERED = "tampered"
    UNSIGNED = "unsigned"


class EnvelopeFormat(StrEnum):
    """The forms of the signature line."""

    V1 = "v1"
    V2 = "v2"
    RYEOS = "ryeos"


BY_LIST: Final = "list"
"""The format of a signature that is made by the list of a space."""

OMS: Final = "oms"
"""The format of a signature that is a bundle of OpenSSF Model Signing."""


class Coverage(StrEnum):
    """Which part of the file the digest in the signature line was made of; all but WHOLE leave something unsigned."""

    WHOLE = "whole"
    BELOW_LINE = "below-line"
    DIRECTIVE = "directive"
    BELOW_FRONT_MATTER = "below-front-matter"
    SKILL_FILE = "skill-file"


class Placement(StrEnum):
    """Where a signature stands. A message of format v2 names it, so that no signature can be moved to another place."""

    TOP = ""
    FRONT_MATTER = "front-matter"
    DETACHED = "detached"
    SKILL = "skill"
    LIST = "list"


class Origin(NamedTuple):
    """Where the bytes were found: decides which keys count and what a signature must name.

    Attributes:
        space: ``project``, ``user`` or ``system``.
        bundle: Bundle id in system space, else empty.
        item_type, item_id: From the path.
        signed_id: The id that a signature binds; empty if that is ``item_id``. Of a file of a client it is a
            slash and the path from the top of the repository: no other file becomes the instructions of a folder.
        folder: The folder of a client that it lies in, as in ``.claude/skills``; else empty.
        former_id: What earlier signatures bind in place of ``signed_id``, and still may; else empty.
        skills: Of a file of a project's skill, a slash and the path of the folder of skills; else empty.
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
        """Return what the signature of a whole skill names: the path of its folder, or the bare name of the skill.

        The signature of a project's skill binds its path. One that names the skill alone was made by a publisher for
        every place into which the skill may be installed.
        """
        path, name = (f"{self.skills}/{skill}", skill) if self.skills else ("", "")
        return self._replace(item_type="directive", item_id=skill, signed_id=path, former_id=name)


class Signature(NamedTuple):
    """The judgement on one file, as every surface shows it.

    Attributes:
        verdict: One of six.
        code: Stable reason code, one of :data:`rye.trust.reasons.REASONS`.
        reason: The same in words.
        signer: 64-hex fingerprint of the key when known, else the one in the line, else empty. Of a certificate that a
            trusted root vouches for, its subject, such as ``CN=Signer,O=Acme``.
        owner: Owner named by the trust file of that key, else empty. Never taken from the line.
        signed_at: Time of the line (ISO 8601); only v2 signs it.
        format: ``v1``, ``v2``, ``ryeos``, ``list`` for a file that only the list of its space signs, ``oms`` for a
            skill that a bundle of Model Signing signs, or empty.
        audience: The registry that the line names; empty for none, and where it is malformed.
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
        """Return the eight attributes as JSON-able text."""
        return self._asdict() | {"verdict": str(self.verdict)}


def signer_words(signer: str) -> str:
    """Return who signed, in words: the first digits of a fingerprint, or the subject of a certificate."""
    # a subject has an equals sign, a fingerprint none
    return f"the certificate of {signer}" if "=" in signer else f"key {signer[:16]}"


class Evidence(NamedTuple):
    """The facts that the bytes alone prove, before any key is consulted; trust-independent, so an index may keep it.

    Attributes:
        content_digest: SHA-256 hex of all bytes of the file.
        code: Empty when a key may decide; else the reason code of the finding that no key can change.
        detail: Words that go with ``code``, or with ``coverage``.
        format: ``v1``, ``v2``, ``ryeos``, ``oms``, or empty when there is no readable envelope.
        coverage: What the digest in the line covers.
        misplaced: Words on how extension, type, id, name or category disagree with the path; empty when they agree.
        claims: Other ids the file claims for itself; a v2 signature that fails here may hold for one of them.
        digest: SHA-256 hex as written in the line; it matches the bytes under ``coverage`` whenever ``code`` is empty.
            Of a file without a signature, of all its bytes if ``content_digest`` is empty.
        signature: 64 raw bytes, of a bundle those of a DER structure, or empty.
        fingerprint: As written in the line (16 or 64 hex); of a bundle, what it calls the key or root certificate.
        signed_at: As written in the line.
        suffix: The extension that the line names; empty for none.
        audience: As written in the line; empty for none.
        placement: Where the signature stands.
        skill: Id of the skill that was signed as a whole, which the signature binds instead of the item's; else empty.
        proof: Of a bundle, the digests of what was signed, and its certificates, that of the signer first; else empty.
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
        """Whether the list of its space may sign the file: it has no signature of its own."""
        return self.code in {"no-envelope", "envelope-elsewhere"}

    def to_record(self) -> list[str]:
        """Return a flat list of JSON-able text, readable by :meth:`from_record`."""
        signature, *proof = [base64.b64encode(each).decode("ascii") for each in (self.signature, *self.proof)]
        line = (self.digest, signature, self.fingerprint, self.signed_at, self.suffix, self.audience)
        rest = (*line, self.placement, self.skill, " ".join(proof))
        return [_RECORD, *map(str, self[: Evidence._fields.index("claims")]), *map(str, rest), *self.claims]

    @classmethod
    def from_record(cls, record: Sequence[str]) -> Evidence:
        """Read what :meth:`to_record` wrote.

        Raises:
            SigningError: ``bad-record`` when it is of another layout or damaged.
        """
        try:
            layout, content, code, detail, form, coverage, misplaced, *rest = record
            digest, signature, key, when, suffix, audience, placement, skill, parts, *claims = rest
            raw, *proof = [base64.b64decode(each, validate=True) for each in (signature, *parts.split())]
            part, ids, place = Coverage(coverage), tuple(claims), Placement(placement)
            line = (digest, raw, key, when, suffix, audience, place, skill, tuple(proof))
            evidence = cls(content, code, detail, form, part, misplaced, ids, *line)
        except (TypeError, ValueError, AttributeError):
            layout = ""
        if layout != _RECORD:
            raise SigningError("bad-record", "a stored record of evidence cannot be read", hint="read the file again")
        return evidence
