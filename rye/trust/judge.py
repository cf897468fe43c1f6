"""From evidence and trust to a verdict. No disk, no clock: the same input always gives the same judgement.

The idea is a fixed order of questions, of which the first that goes against the file decides: the bytes, the signature,
the key (is it revoked, may it speak here, has it expired, is it limited?), then the file (audience, place, coverage).
The invariant: ``trusted`` stands at the end alone, after every question, so nothing that a key says makes up for a
fault in the bytes, and a question that does not apply can refuse a good file but never let a bad one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from string import Formatter
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.trust.evidence import ITEM_TYPES
from rye.trust.keys import PublicKey
from rye.trust.line import signed_message
from rye.trust.model import BY_LIST, Coverage, EnvelopeFormat, Evidence, Origin, Signature
from rye.trust.reasons import REASONS, audience_words
from rye.trust.trust_set import TrustEntry, TrustScope, TrustSet, as_utc

_PARTIAL_CODES: Final[Mapping[Coverage, str]] = MappingProxyType(
    {
        Coverage.BELOW_LINE: "outside-shebang",
        Coverage.DIRECTIVE: "outside-directive",
        Coverage.BELOW_FRONT_MATTER: "outside-front-matter",
        Coverage.SKILL_FILE: "outside-skill",
    }
)

_V2: Final = EnvelopeFormat.V2
_GOOD: Final = MappingProxyType({str(_V2): "ok", BY_LIST: "ok-list"})
_WHOLE: Final = Coverage.WHOLE

Verify = Callable[[PublicKey, bytes, bytes], bool]

_UNTRUSTED_BUNDLE: Final = frozenset({"bundle-key", "signer-changed"})

_OF_SIGNER: Final = frozenset(
    code
    for code, reason in REASONS.items()
    if {name for _, name, _, _ in Formatter().parse(reason.words)} == {"signer", None}
)
"""Codes whose words name the signer alone, and so are the same for all that one key signed."""


_sentence = lru_cache(maxsize=256)(str.format)


class _Case(NamedTuple):
    """One file to judge: its evidence, where it is, and the keys, moment and verifier to judge it by."""

    evidence: Evidence
    origin: Origin
    trust: TrustSet
    now: datetime
    verify: Verify

    @property
    def signed_place(self) -> Origin:
        """What the signature must name: the place of the file, or of the skill's directive."""
        skill = self.evidence.skill
        return self.origin._replace(item_type="directive", item_id=skill, signed_id="") if skill else self.origin

    def allows(self, entry: TrustEntry) -> bool:
        """Return whether a key may sign the file, and the skill that was signed with it."""
        return entry.allows(self.origin) and entry.allows(self.signed_place)

    def found(self, code: str, entry: TrustEntry | None = None, detail: str = "") -> Signature:
        """Return the judgement of a reason code."""
        reason, evidence, origin = REASONS[code], self.evidence, self.origin
        key = evidence.fingerprint
        signer = entry.signer if entry else key[:16]
        if code in _OF_SIGNER:
            words = _sentence(reason.words, signer=signer)
        else:
            ref = f"{origin.item_type}:{origin.item_id}"
            words = reason.words.format(signer=signer, key=key[:16], ref=ref, detail=detail)
        signer, owner = (entry.fingerprint, entry.owner) if entry else (key, "")
        return Signature(
            reason.verdict, code, words, signer, owner, evidence.signed_at, evidence.format, evidence.audience
        )


def judge(
    evidence: Evidence, *, origin: Origin, trust: TrustSet, now: datetime, verify: Verify = PublicKey.verify
) -> Signature:
    """Return the judgement on one file.

    All that concerns the key is asked before all that concerns the file: what an unheard key says about a place or a
    part is worth nothing. Only that nobody but the bundle vouches for its key comes last: whoever trusts that bundle
    would find the item in the wrong place, or covered in part, all the same.

    Args:
        evidence: What :func:`rye.trust.inspect` found in its bytes, for this origin.
        origin: Where the file is.
        trust: The keys of this run.
        now: The moment of judging, which decides what has expired.
        verify: Returns whether the signature by a key over a message holds, given these as (key, signature, message).
    """
    if evidence.code and evidence.may_be_listed:
        evidence = trust.lists(evidence, origin)
    case = _Case(evidence, origin, trust, now, verify)
    # 1. A fault in the bytes, or no envelope: no key can change that.
    if evidence.code:
        return case.found(evidence.code, detail=evidence.detail)
    # 2. The keys that the line may mean. Of an unknown one nothing more can be said.
    entries = trust.named(evidence.fingerprint)
    if not entries:
        return case.found("unknown-key", detail=_changed_from(case))
    # 3. The signature, under each of them (16 hex digits may name more than one).
    entries, moved_from = _verifying(entries, case)
    if not entries:
        return case.found("signature")
    # 4. Revocation beats everything else that may be said of a valid signature, and so does what may be one.
    if revoked := _revoked(entries, case):
        return revoked
    # 5. Some file must have a say about this origin; of the most authoritative scope the one that allows most is heard.
    speaking = [entry for entry in entries if trust.speaks(entry, origin, now)]
    unheard = None if speaking else _unheard(entries, case)
    if unheard is not None and unheard.code not in _UNTRUSTED_BUNDLE:
        return unheard
    entry = (speaking or _read(entries))[0]
    if len(speaking) > 1:
        alive = [each for each in speaking if each.scope is entry.scope and not each.expired(now)]
        entry = next((each for each in alive if case.allows(each)), (alive or speaking)[0])
    # 6, 7. Expiry; namespace and audience.
    if speaking and (limited := _limited(entry, case)):
        return limited
    # 8. Place.
    if moved_from or evidence.misplaced:
        code = "signed-elsewhere" if moved_from else "extension" if evidence.suffix else "misplaced"
        return case.found(code, entry, moved_from or evidence.misplaced)
    # 9. Coverage.
    if evidence.coverage is not _WHOLE:
        return case.found(_PARTIAL_CODES[evidence.coverage], entry, evidence.detail)
    # 10. A bundle's own key is not trust.
    if unheard is not None:
        return unheard
    # 11. Nothing speaks against it.
    return case.found(_GOOD.get(evidence.format, "ok-unbound"), entry)


def _verifying(entries: tuple[TrustEntry, ...], case: _Case) -> tuple[tuple[TrustEntry, ...], str]:
    """Return the entries of the key under which the signature holds, and the ``type:id`` it was made for if not here.

    A v2 line does not spell out the type and id it was signed for. If the signature holds for another type, or for an
    id that the file claims for itself, then it was moved, and that is proven. Otherwise a move cannot be distinguished
    from an altered line, and the graver is assumed.
    """
    evidence = case.evidence
    place = case.signed_place if evidence.skill else case.origin
    if evidence.format == BY_LIST:  # its signatures were checked when it was read
        return entries, ""
    if found := _holding(entries, case, place.item_type, place.signed_id or place.item_id):
        return found, ""
    if evidence.format == _V2:
        for item_id in (place.item_id, *evidence.claims):
            for item_type in ITEM_TYPES:
                if found := _holding(entries, case, item_type, item_id):
                    return found, f"{item_type}:{item_id}"
    return (), ""


def _holding(entries: tuple[TrustEntry, ...], case: _Case, item_type: str, item_id: str) -> tuple[TrustEntry, ...]:
    evidence, verify = case.evidence, case.verify
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
    if len(entries) == 1:
        return entries if verify(entries[0].public, evidence.signature, message) else ()
    for public in dict.fromkeys(entry.public for entry in entries):
        if verify(public, evidence.signature, message):
            return tuple(entry for entry in entries if entry.public == public)
    return ()


def _revoked(entries: tuple[TrustEntry, ...], case: _Case) -> Signature | None:
    barring = [each for each in entries if each.bars and case.trust.revokes(each, case.origin, case.now)]
    for entry in barring:
        if entry.revoked is not None:
            words = ", ".join(filter(None, (entry.revoked.reason, entry.revoked.date)))
            return case.found("revoked", entry, words and f": {words}")
    if barring:
        return case.found("trust-unread", _read(entries)[0], barring[0].source)
    return None


def _limited(entry: TrustEntry, case: _Case) -> Signature | None:
    if entry.not_after is not None and entry.expired(case.now):
        return case.found("expired", entry, as_utc(entry.not_after).isoformat(timespec="seconds"))
    if entry.namespaces is not None and not case.allows(entry):
        return case.found("namespace", entry, ", ".join(entry.namespaces or ()) or "nothing")
    wanted, found = case.trust.demanded(case.origin), case.evidence.audience
    return case.found("audience", entry, audience_words(found, wanted)) if wanted not in {"", found} else None


def _read(entries: tuple[TrustEntry, ...]) -> tuple[TrustEntry, ...]:
    return tuple(entry for entry in entries if not entry.unread) or entries


def _unheard(entries: tuple[TrustEntry, ...], case: _Case) -> Signature:
    entries, origin = _read(entries), case.origin
    for each in entries:
        if each.scope is TrustScope.BUNDLE and origin.space == "system" and each.bundle == origin.bundle:
            changed = _changed_from(case)
            return case.found("signer-changed" if changed else "bundle-key", each, changed or origin.bundle)
    entry = next((each for each in entries if each.scope is TrustScope.PROJECT), entries[0])
    if entry.scope is TrustScope.PROJECT:
        return case.found("foreign-project" if case.trust.stands(entry, case.now) else "project-key", entry)
    bundles = sorted({name for each in entries for name in each.bundles or (each.bundle,)})
    return case.found("foreign-bundle", entry, f"bundle{'s' * (len(bundles) > 1)} {', '.join(bundles)}")


def _changed_from(case: _Case) -> str:
    """Return in words that the bundle is pinned to other keys than that of the file; empty if it is not pinned."""
    pins = case.trust.pins(case.origin.bundle, case.now) if case.origin.space == "system" else ()
    signers = " or ".join(entry.signer for entry in pins)
    return f"; the signer of bundle {case.origin.bundle} changed: you trusted {signers}" if signers else ""
