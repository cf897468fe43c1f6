"""From evidence and trust to a verdict. No disk and no clock: the same input always gives the same judgement.

The checks run in a fixed order, and the first that fails decides: the bytes, the signature, the key
(:meth:`TrustSet.may_sign`), then audience, place and coverage. ``trusted`` is returned only at the end, so nothing that
a key says can make up for a fault in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final

from rye.trust.keys import PublicKey, remembering_verify
from rye.trust.line import message_of
from rye.trust.list import ListClaim, ListFault, ListSigner, ListState, Seen, SpaceList
from rye.trust.model import (
    BY_LIST,
    OMS,
    Coverage,
    EnvelopeFormat,
    Evidence,
    Place,
    Signature,
)
from rye.trust.oms import BundleSigner, signer_of
from rye.trust.reasons import ABOUT_KEY, REASONS, audience_words, elsewhere_words
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
_WHOLE: Final = Coverage.WHOLE
"""Looked up once, as in :mod:`rye.trust.evidence`."""

_GOOD: Final = MappingProxyType({str(EnvelopeFormat.V2): "ok", BY_LIST: "ok-list", OMS: "ok-oms"})
_UNTRUSTED_BUNDLE: Final = frozenset({"foreign-key", "signer-changed"})

Verify = Callable[[PublicKey, bytes, bytes], bool]


def judge(
    evidence: Evidence, *, origin: Place, trust: TrustSet, now: datetime, verify: Verify = PublicKey.verify
) -> Signature:
    """Return the judgement on one file.

    All checks of the key come before all checks of the file. The one exception is a bundle that is not trusted yet: its
    items in a wrong place, or signed in part, are reported as such, because trusting the bundle would not change that.

    Args:
        evidence: The result of :func:`rye.trust.evidence.inspect` for its bytes and this origin.
        origin: Where the file is.
        trust: The keys of this run.
        now: The time of judging, which decides what has expired.
        verify: Returns whether a signature is valid, given (key, signature, message).
    """
    if evidence.code:
        evidence = by_list(evidence, origin, trust)
    # 1. A fault in the bytes, or no signature: no key can change that.
    meant = trust.meant_by(evidence)
    bundle = _bundle_signer(evidence, meant, now)
    if evidence.code:
        # without a known signer, a difference from the bundle proves nothing
        code, detail = (bundle.code, bundle.detail) if bundle.code else (evidence.code, evidence.detail)
        return _signature(code, evidence, origin, detail=detail)
    # 2. The keys that the line may mean: 16 hex digits can match more than one.
    if not meant:
        standing = trust.may_sign(evidence.fingerprint, origin, now)
        return _signature(bundle.code or standing.code, evidence, origin, detail=bundle.detail or standing.detail)
    # 3. The signature. It is made for one place: the skill, the list, or the file itself.
    place, key = _signed_place(evidence, origin, trust), bundle.key
    if evidence.format != OMS:
        key = _signed_by(meant, evidence, verify)
    if not key:
        return _signature(bundle.code or "signature", evidence, origin, detail=bundle.detail)
    # 4. The key: may it sign this file, and the skill or list by which it is signed?
    standing = trust.may_sign(key, origin, now)
    if standing.is_allowed and place is not origin:
        standing = trust.may_sign(key, place, now)
    entry = standing.entry
    result = partial(_signature, evidence=evidence, origin=origin, entry=entry, subject=bundle.subject)
    if not standing.is_allowed and not (origin.space == "system" and standing.code in _UNTRUSTED_BUNDLE):
        return result(standing.code, detail=standing.detail)
    # 5. Audience.
    demanded = trust.demanded(origin)
    if standing.is_allowed and demanded not in {"", evidence.audience}:
        return result("audience", detail=audience_words(evidence.audience, demanded))
    # 6. Place.
    if evidence.stated and evidence.format != BY_LIST and evidence.stated != place.stated:
        return result("signed-elsewhere", detail=elsewhere_words(evidence.stated, place.stated))
    if evidence.misplaced:
        return result("misplaced", detail=evidence.misplaced)
    # 7. Coverage.
    if evidence.coverage is not _WHOLE:
        return result(_PARTIAL_CODES[evidence.coverage], detail=evidence.detail)
    # 8. A bundle that is not trusted yet; else every check passed.
    return result(standing.code or _GOOD.get(evidence.format, "ok-unbound"), detail=standing.detail)


def _bundle_signer(evidence: Evidence, meant: Iterable[TrustEntry], now: datetime) -> BundleSigner:
    """Return the signer of a Model Signing bundle, given the keys it may mean; an empty signer for other signatures."""
    if not evidence.proof:
        return BundleSigner()
    return signer_of(evidence, [entry.public for entry in meant], now)


def by_list(evidence: Evidence, origin: Place, trust: TrustSet) -> Evidence:
    """Return the evidence that the list of its space gives an item without a signature; else its own.

    A list that cannot be read makes every item without a signature untrusted.
    """
    space = trust.list_of(origin) if evidence.may_be_listed and origin.kind in {"item", "skill"} else None
    if space is None:
        return evidence
    state, listed, line = space.state, space.digest_of(origin.path), space.state.line
    code, detail = (state.code, state.detail) if isinstance(state, ListFault) else ("", "")
    if line is None:
        return evidence._replace(code=code, detail=detail, format=BY_LIST)
    if not listed:
        return evidence
    if listed != (evidence.digest or evidence.content_digest):
        code, detail = "list-changed", ""
    elif code == "list-signer":  # the verdict will say what is wrong with the key
        code = ""
    return evidence._replace(
        code=code,
        detail=detail,
        format=BY_LIST,
        fingerprint=line.fingerprint,
        signed_at=line.signed_at,
        stated=line.stated,
        audience=line.audience,
    )


def claim_of(listed: SpaceList, *, place: Place, trust: TrustSet, now: datetime) -> ListState:
    """Return a list with the keys that signed it and may do so; or why there is no such key.

    Args:
        listed: The list.
        place: Its place.
        trust: The keys of this run.
        now: The time at which keys may have expired.
    """
    signers, unknown = dict[tuple[str, str], ListSigner](), list[str]()
    for line in listed.lines:
        entries = [entry for entry in trust.named(line.fingerprint) if isinstance(entry.public, PublicKey)]
        if not entries:
            unknown.append(line.fingerprint)
            continue
        key = entries[0].public
        if not (isinstance(key, PublicKey) and listed.holds(line, key)):
            return ListFault("list-signature", f"key {line.fingerprint[:16]}", listed)
        standing = trust.may_sign(line.fingerprint, place, now)
        if standing.entry is None or not standing.is_allowed:
            unknown.append(line.fingerprint)
        else:
            signer = ListSigner(str(standing.entry.fingerprint), standing.entry.owner, line)
            signers.setdefault((signer.fingerprint, f"{line.stated}:{line.audience}"), signer)
    if not signers:
        return ListFault("list-signer", f"no key that may sign it: {', '.join(unknown)}", listed)
    return ListClaim(listed, tuple(signers.values()))


def judge_list(
    listed: SpaceList, *, place: Place, trust: TrustSet, now: datetime, named: str = "", seen: Seen | None = None
) -> ListState:
    """Return what a list proves. The questions come in this order: signer, name or place, audience, expiry, rollback.

    Args:
        listed: The list.
        place: Its place.
        trust: The keys of this run.
        now: The time at which keys and the list may have expired.
        named: The bundle whose name the list must have; empty if its lines must state its place instead.
        seen: The last valid list that was seen here.
    """
    claim = claim_of(listed, place=place, trust=trust, now=now)
    if isinstance(claim, ListFault):
        return claim
    here = tuple(signer for signer in claim.signers if named or signer.line.stated == place.stated)
    if named and listed.name != named:
        return ListFault("list-name", f"the list is that of {listed.name!r}, this is {named!r}", listed)
    if not here:
        return ListFault("list-name", elsewhere_words(claim.line.stated, place.stated), listed)
    demanded = trust.demanded(place)
    fitting = {signer.fingerprint: signer for signer in here if demanded in {"", signer.line.audience}}
    if not fitting:
        return ListFault("list-name", audience_words(here[0].line.audience, demanded), listed)
    if now > listed.expires:
        return ListFault("list-expired", f"{listed.expires:%Y-%m-%d}", listed)
    if older := seen.older(listed) if seen else "":
        return ListFault("list-rollback", older, listed)
    return ListClaim(listed, tuple(fitting.values()))


def _signed_place(evidence: Evidence, origin: Place, trust: TrustSet) -> Place:
    if evidence.skill:
        return origin.of_skill(evidence.skill)
    space = trust.list_of(origin) if evidence.format == BY_LIST else None
    return space.place if space else origin


def _signature(
    code: str,
    evidence: Evidence,
    origin: Place,
    *,
    entry: TrustEntry | None = None,
    detail: str = "",
    subject: str = "",
) -> Signature:
    """Return the judgement for a reason code."""
    reason, key, ref = REASONS[code], evidence.fingerprint, f"{origin.type}:{origin.id}"
    signed_by = entry.signer if entry else key[:16]
    if subject and code not in ABOUT_KEY:
        signed_by = f"{subject}, under the root certificate of {signed_by}"
    words = reason.words.format(signer=signed_by, key=key[:16], ref=ref, detail=detail)
    if code in ABOUT_KEY:
        words = f"the signature holds, but {words}"
    claimed = "" if len(evidence.proof) > 1 else key  # certificates prove no name without a trusted root
    named = "" if code in ABOUT_KEY else subject  # the root's key is the one that was rejected
    signer, owner = (named or str(entry.fingerprint), entry.owner) if entry else (claimed, "")
    line = (evidence.signed_at, evidence.format, evidence.audience)
    return Signature(reason.verdict, code, words, signer, owner, *line)


def _signed_by(meant: Iterable[TrustEntry], evidence: Evidence, verify: Verify) -> str:
    """Return the key whose signature is valid for the place that its line states; empty if there is none."""
    keys = {entry.fingerprint: entry.public for entry in meant if isinstance(entry.public, PublicKey)}
    if evidence.format == BY_LIST:  # its signatures were checked when it was read
        return next(iter(keys), "")
    message = message_of(evidence, evidence.placement)
    check = remembering_verify if evidence.skill else verify  # of the files of a skill all have the same signature
    return next((name for name, key in keys.items() if check(key, evidence.signature, message)), "")
