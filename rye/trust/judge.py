"""From evidence and trust to a verdict. No disk, no clock: the same input always gives the same judgement.

The questions are asked in a fixed order, and the first answer against the file decides: the bytes, the signature, the
key (:meth:`TrustSet.may_sign`), then audience, place and coverage. ``trusted`` stands at the end, after every question,
so nothing that a key says makes up for a fault in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from rye.trust.evidence import ITEM_TYPES
from rye.trust.keys import PublicKey
from rye.trust.line import signed_message
from rye.trust.model import BY_LIST, Coverage, EnvelopeFormat, Evidence, Fingerprint, Origin, Signature
from rye.trust.reasons import ABOUT_KEY, REASONS, audience_words
from rye.trust.trust_entry import TrustEntry
from rye.trust.trust_set import TrustSet

_PARTIAL_CODES: Final[Mapping[Coverage, str]] = MappingProxyType(
    {
        Coverage.BELOW_LINE: "outside-shebang",
        Coverage.DIRECTIVE: "outside-directive",
        Coverage.BELOW_FRONT_MATTER: "outside-front-matter",
        Coverage.SKILL_FILE: "outside-skill",
    }
)
_GOOD: Final = MappingProxyType({str(EnvelopeFormat.V2): "ok", BY_LIST: "ok-list"})
_UNTRUSTED_BUNDLE: Final = frozenset({"bundle-key", "signer-changed"})

Verify = Callable[[PublicKey, bytes, bytes], bool]


def judge(
    evidence: Evidence, *, origin: Origin, trust: TrustSet, now: datetime, verify: Verify = PublicKey.verify
) -> Signature:
    """Return the judgement on one file.

    All that concerns the key is asked before all that concerns the file. The one exception is a bundle that is not
    trusted yet: its items in a wrong place, or signed in part, would be so after trusting it as well, and say that.

    Args:
        evidence: What :func:`rye.trust.evidence.inspect` found in its bytes, for this origin.
        origin: Where the file is.
        trust: The keys of this run.
        now: The moment of judging, which decides what has expired.
        verify: Returns whether the signature by a key over a message holds, given these as (key, signature, message).
    """
    if evidence.code and evidence.may_be_listed:
        evidence = trust.lists(evidence, origin)
    # 1. A fault in the bytes, or no signature: no key can change that.
    if evidence.code:
        return _found(evidence.code, evidence, origin, detail=evidence.detail)
    # 2. The keys that the line may mean: 16 hex digits may name more than one.
    keys = {entry.public: entry.fingerprint for entry in trust.named(evidence.fingerprint)}
    if not keys:
        standing = trust.may_sign(evidence.fingerprint, origin, now)
        return _found(standing.code, evidence, origin, detail=standing.detail)
    # 3. The signature. What a skill's list signs is signed at the place of the skill's directive.
    skill = evidence.skill
    place = origin._replace(item_type="directive", item_id=skill, signed_id="") if skill else origin
    key, signed_as = _signed_by(keys, evidence, place, verify)
    if not key:
        return _found("signature", evidence, origin)
    # 4. The key: may it sign this file, and the skill that was signed with it?
    standing = trust.may_sign(key, origin, now)
    if skill and standing.counts:
        standing = trust.may_sign(key, place, now)
    entry = standing.entry
    if not standing.counts and standing.code not in _UNTRUSTED_BUNDLE:
        return _found(standing.code, evidence, origin, entry=entry, detail=standing.detail)
    # 5. Audience.
    demanded = trust.demanded(origin)
    if standing.counts and demanded not in {"", evidence.audience}:
        return _found("audience", evidence, origin, entry=entry, detail=audience_words(evidence.audience, demanded))
    # 6. Place.
    if signed_as or evidence.misplaced:
        code = "signed-elsewhere" if signed_as else "extension" if evidence.suffix else "misplaced"
        return _found(code, evidence, origin, entry=entry, detail=signed_as or evidence.misplaced)
    # 7. Coverage.
    if evidence.coverage is not Coverage.WHOLE:
        return _found(_PARTIAL_CODES[evidence.coverage], evidence, origin, entry=entry, detail=evidence.detail)
    # 8. A bundle that is not trusted yet; else nothing speaks against the file.
    return _found(
        standing.code or _GOOD.get(evidence.format, "ok-unbound"), evidence, origin, entry=entry, detail=standing.detail
    )


def _found(
    code: str, evidence: Evidence, origin: Origin, *, entry: TrustEntry | None = None, detail: str = ""
) -> Signature:
    """Return the judgement of a reason code."""
    reason, key, ref = REASONS[code], evidence.fingerprint, f"{origin.item_type}:{origin.item_id}"
    words = reason.words.format(signer=entry.signer if entry else key[:16], key=key[:16], ref=ref, detail=detail)
    if code in ABOUT_KEY:
        words = f"the signature holds, but {words}"
    signer, owner = (str(entry.fingerprint), entry.owner) if entry else (key, "")
    line = (evidence.signed_at, evidence.format, evidence.audience)
    return Signature(reason.verdict, code, words, signer, owner, *line)


def _signed_by(
    keys: Mapping[PublicKey, Fingerprint], evidence: Evidence, place: Origin, verify: Verify
) -> tuple[str, str]:
    """Return the key under which the signature holds, and the ``type:id`` it was made for if that is not the place.

    A v2 line does not spell out the type and id it was signed for. If the signature holds for another type, or for an
    id that the file claims for itself, the file was moved. Otherwise a move cannot be told from an altered line, and
    the worse is assumed.
    """
    if evidence.format == BY_LIST:  # its signatures were checked when it was read
        return next(iter(keys.values())), ""
    if key := _holds(keys, evidence, place.item_type, place.signed_id or place.item_id, verify=verify):
        return key, ""
    if evidence.format == EnvelopeFormat.V2:
        for item_id in (place.item_id, *evidence.claims):
            for item_type in ITEM_TYPES:
                if key := _holds(keys, evidence, item_type, item_id, verify=verify):
                    return key, f"{item_type}:{item_id}"
    return "", ""


def _holds(
    keys: Mapping[PublicKey, Fingerprint], evidence: Evidence, item_type: str, item_id: str, *, verify: Verify
) -> str:
    """Return the key under which the signature holds for an item; empty if it does under none."""
    message = signed_message(
        evidence.format,
        evidence.digest,
        item_type=item_type,
        item_id=item_id,
        signed_at=evidence.signed_at,
        suffix=evidence.suffix,
        audience=evidence.audience,
        placement=evidence.placement,
    )
    return next((name for key, name in keys.items() if verify(key, evidence.signature, message)), "")
