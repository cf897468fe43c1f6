"""Value types for verdicts, evidence and signatures.

Types created for every file are named tuples, because these are created and sent between processes several times as
fast as frozen dataclasses.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal, NamedTuple, NewType, Protocol
from urllib.parse import quote, unquote

from rye._text import composed
from rye.errors import SigningError

Fingerprint = NewType("Fingerprint", str)
"""64 lower-case hex digits: SHA-256 of the public PEM."""

ITEM_TYPES: Final = ("directive", "tool", "knowledge")
"""The item types; any other value of a ``type`` key means something else."""

_RECORD: Final = "evidence-9"
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


Kind = Literal["item", "skill", "list", "settings", "trust"]
"""The kinds of things that are signed; ``skill`` is a skill as a whole and each item in it."""

_PLAIN: Final = re.compile(r"[\w.~/@+=,-]*", re.ASCII)
_QUOTED_AS_IS: Final = "/@+=,~"


class Place(NamedTuple):
    """What a signature is for: one thing, where it is. Every field has a value of its own; none stands for any other.

    Attributes:
        space: ``project``, ``user`` or ``system``.
        bundle: Bundle id in system space, name of a project given by its path; else empty.
        client: The client folder that contains it, such as ``.claude/skills``; empty for a space's own items and lists.
        kind: The kind of thing.
        type, id: Type and id of an item; for other kinds, the type is empty and the id a name.
        path: Its path from the top of its repository, from the home folder, or from the folder of its bundle.
        name: The name that a signature binds: for a skill the name of its folder, else the path.
    """

    space: str
    bundle: str
    client: str
    kind: Kind
    type: str
    id: str
    path: str
    name: str

    @property
    def stated(self) -> str:
        """The place as a v2 line states and signs it: ``WORD:NAME``, percent-encoded, in Unicode normal form C.

        The word is the type of an item, else the kind.
        """
        word, name = self.type if self.kind == "item" else self.kind, self.name
        if not name.isascii() or _PLAIN.fullmatch(name) is None:
            name = _quoted(name)
        return f"{word}:{name}"

    def of_skill(self, skill: str) -> Place:
        """Return the place of the whole skill that contains this file, given its id; only its name is bound."""
        return self._replace(kind="skill", type="directive", id=skill, name=skill.rpartition("/")[2])


def _quoted(name: str) -> str:
    return quote(composed(name), safe=_QUOTED_AS_IS, errors="surrogatepass")


def is_place(stated: str) -> bool:
    """Return whether a text is a place in its only spelling."""
    word, _, name = stated.partition(":")
    try:
        return stated == f"{word}:{_quoted(unquote(name, errors='surrogatepass'))}"
    except UnicodeError:
        return False


def readable_place(stated: str) -> str:
    """Return a place in words, given as a v2 line states it.

    >>> readable_place("directive:.claude/commands/a%20b.md")
    '.claude/commands/a b.md'
    >>> readable_place("skill:pdf")
    'skill pdf'
    """
    word, _, name = stated.partition(":")
    path = unquote(name, errors="surrogateescape")
    return path if word in ITEM_TYPES else f"{word} {path or 'at the top'}"


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
        digest: SHA-256 hex as written in the line; it matches the bytes under ``coverage`` whenever ``code`` is empty.
            For a file without a signature, the digest of all its bytes if ``content_digest`` is empty.
        signature: 64 raw bytes, for a bundle a DER structure, or empty.
        fingerprint: As written in the line (16 or 64 hex); for a bundle, its name for the key or root certificate.
        signed_at: As written in the line.
        stated: The place that a v2 line states, as :attr:`Place.stated`; else empty.
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
    digest: str = ""
    signature: bytes = b""
    fingerprint: str = ""
    signed_at: str = ""
    stated: str = ""
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
        line = (self.digest, signature, self.fingerprint, self.signed_at, self.stated, self.audience)
        rest = (*line, self.placement, self.skill, " ".join(proof))
        return [_RECORD, *map(str, self[: Evidence._fields.index("digest")]), *map(str, rest)]

    @classmethod
    def from_record(cls, record: Sequence[str]) -> Evidence:
        """Read the output of :meth:`to_record`.

        Raises:
            SigningError: ``bad-record``: it has another layout or is damaged.
        """
        try:
            layout, content, code, detail, form, coverage, misplaced, *rest = record
            digest, signature, key, when, stated, audience, placement, skill, parts = rest
            raw, *proof = [base64.b64decode(text, validate=True) for text in (signature, *parts.split())]
            line = (digest, raw, key, when, stated, audience, Placement(placement), skill, tuple(proof))
            evidence = cls(content, code, detail, form, Coverage(coverage), misplaced, *line)
        except (TypeError, ValueError, AttributeError):
            layout = ""
        if layout != _RECORD:
            raise SigningError("bad-record", "a stored record of evidence cannot be read", hint="read the file again")
        return evidence
