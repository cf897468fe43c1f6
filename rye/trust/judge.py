"""From evidence and trust to a verdict. No disk and no clock: the same input always gives the same judgement.

The checks run in a fixed order, and the first that fails decides: the bytes, the signature, the key
(:meth:`TrustSet.may_sign`), then audience, place and coverage. ``trusted`` is returned only at the end, so nothing that
a key says can make up for a fault in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final

from rye.items.clients import OF_PROJECTS
from rye.trust.certificates import AnyKey
from rye.trust.evidence import ITEM_TYPES
from rye.trust.keys import PublicKey
from rye.trust.line import ParsedLine, signed_message
from rye.trust.list import ListState, Seen, SpaceList
from rye.trust.model import BY_LIST, OMS, Coverage, EnvelopeFormat, Evidence, Fingerprint, Origin, Signature
from rye.trust.oms import BundleSigner, signer_of
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
_GOOD: Final = MappingProxyType({str(EnvelopeFormat.V2): "ok", BY_LIST: "ok-list", OMS: "ok-oms"})
_UNTRUSTED_BUNDLE: Final = frozenset({"bundle-key", "signer-changed"})

Verify = Callable[[PublicKey, bytes, bytes], bool]


def judge(
    evidence: Evidence, *, origin: Origin, trust: TrustSet, now: datetime, verify: Verify = PublicKey.verify
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
    publics = [entry.public for entry in trust.named(evidence.fingerprint)]
    bundle = _bundle_signer(evidence, publics, now)
    if evidence.code:
        # without a known signer, a difference from the bundle proves nothing
        code, detail = (bundle.code, bundle.detail) if bundle.code else (evidence.code, evidence.detail)
        return _signature(code, evidence, origin, detail=detail)
    # 2. The keys that the line may mean: 16 hex digits can match more than one.
    if not publics:
        standing = trust.may_sign(evidence.fingerprint, origin, now)
        return _signature(bundle.code or standing.code, evidence, origin, detail=bundle.detail or standing.detail)
    # 3. The signature. It is made for one place: the skill's directive, the list, or the file itself.
    place, (key, signed_as) = _signed_place(evidence, origin, trust), (bundle.key, "")
    if evidence.format != OMS:
        keys = {public: public.fingerprint for public in publics if isinstance(public, PublicKey)}
        key, signed_as = _signed_by(keys, evidence, place, verify)
    if not key:
        return _signature(bundle.code or "signature", evidence, origin, detail=bundle.detail)
    # 4. The key: may it sign this file, and the skill or list by which it is signed?
    standing = trust.may_sign(key, origin, now)
    if standing.is_allowed and place is not origin:
        standing = trust.may_sign(key, place, now)
    entry = standing.entry
    result = partial(_signature, evidence=evidence, origin=origin, entry=entry, subject=bundle.subject)
    if not standing.is_allowed and standing.code not in _UNTRUSTED_BUNDLE:
        return result(standing.code, detail=standing.detail)
    # 5. Audience.
    demanded = trust.demanded(origin)
    if standing.is_allowed and demanded not in {"", evidence.audience}:
        return result("audience", detail=audience_words(evidence.audience, demanded))
    # 6. Place.
    if signed_as or evidence.misplaced:
        code = "signed-elsewhere" if signed_as else "extension" if evidence.suffix else "misplaced"
        if signed_as == f"{origin.item_type}:{origin.item_id}":
            signed_as = f"{signed_as} without its folder"  # as no file of a project's skill is signed
        return result(code, detail=signed_as or evidence.misplaced)
    # 7. Coverage.
    if evidence.coverage is not Coverage.WHOLE:
        return result(_PARTIAL_CODES[evidence.coverage], detail=evidence.detail)
    # 8. A bundle that is not trusted yet; else every check passed.
    return result(standing.code or _GOOD.get(evidence.format, "ok-unbound"), detail=standing.detail)


def _bundle_signer(evidence: Evidence, publics: Iterable[AnyKey], now: datetime) -> BundleSigner:
    """Return the signer of a Model Signing bundle, given the keys it may mean; an empty signer for other signatures."""
    if not evidence.proof:
        return BundleSigner()
    return signer_of(evidence, publics, now)


def by_list(evidence: Evidence, origin: Origin, trust: TrustSet) -> Evidence:
    """Return the evidence that the list of its space gives a file without a signature; else its own.

    A list that cannot be read makes every file without a signature untrusted.
    """
    state = trust.list_of(origin) if evidence.may_be_listed else None
    if state is None:
        return evidence
    code, detail, line = state.code, state.detail, state.line
    if line is None:
        return evidence._replace(code=code, detail=state.detail, format=BY_LIST, suffix="")
    listed = state.items.get((origin.folder, origin.item_type, origin.item_id, evidence.suffix))
    if listed is None:
        return evidence
    if listed != (evidence.digest or evidence.content_digest):
        code, detail = "list-changed", ""
    elif code == "list-signer":  # the verdict will say what is wrong with the key
        code = ""
    if state.older and not code:
        code, detail = "list-rollback", state.older
    return evidence._replace(
        code=code,
        detail=detail,
        format=BY_LIST,
        fingerprint=line.fingerprint,
        signed_at=line.signed_at,
        audience=line.audience,
        suffix="",
    )


def judge_list(
    listed: SpaceList, *, origin: Origin, trust: TrustSet, now: datetime, seen: Seen | None = None, place: str = ""
) -> ListState:
    """Return what a list proves: it is valid if one of the keys that signed it may sign a list at its place.

    Args:
        listed: The list.
        origin: Space and bundle of its folder; the other fields are ignored.
        trust: The keys of this run.
        now: The time at which keys and the list may have expired.
        seen: The last valid list that was seen here.
        place: The path of a project's ``.ai`` from the top of its repository; empty to accept any name.
    """
    signed = origin._replace(item_type="list", item_id=listed.name)
    demanded, older = trust.demanded(origin), seen.older(listed) if seen else ""
    valid, elsewhere, unknown = dict[str, ParsedLine](), list[ParsedLine](), list[str]()
    for line in listed.lines:
        publics = {entry.fingerprint: entry for entry in trust.named(line.fingerprint)}
        entry = next((known for known in publics.values() if _holds_list(listed, line, known.public)), None)
        if publics and entry is None:
            return ListState(listed, "list-signature", f"key {line.fingerprint[:16]}", (), line, older)
        if entry is None or not trust.may_sign(entry.fingerprint, signed, now).is_allowed:
            unknown.append(line.fingerprint)
        elif demanded not in {"", line.audience}:
            elsewhere.append(line)
        else:
            valid.setdefault(f"{entry.owner} {entry.fingerprint}".strip(), line)
    line = next(iter([*valid.values(), *elsewhere, *listed.lines]))
    state = ListState(listed, "", "", tuple(valid), line, older)
    # Without a key that counts, name and dates are the word of whoever wrote the list.
    if not valid and not elsewhere:
        return state._replace(code="list-signer", detail=f"no key that may sign it: {', '.join(unknown)}")
    if origin.bundle and origin.space == "system" and listed.name != origin.bundle:
        words = f"the list is that of {listed.name!r}, this is {origin.bundle!r}"
        return state._replace(code="list-name", detail=words)
    if place and not _is_called(listed.name, place):
        words = f"the list is that of {listed.name!r}, this is {place!r}"
        return state._replace(code="list-name", detail=words)
    if not valid:
        return state._replace(code="list-name", detail=audience_words(line.audience, demanded))
    if now > listed.expires:
        return state._replace(code="list-expired", detail=f"{listed.expires:%Y-%m-%d}")
    return state


def _holds_list(listed: SpaceList, line: ParsedLine, key: AnyKey) -> bool:
    return isinstance(key, PublicKey) and listed.holds(line, key)


def _is_called(name: str, place: str) -> bool:
    """Return whether a list's name fits a place: ``REPOSITORY/PLACE``; older ones, at the top, ``REPOSITORY``."""
    repository, slash, path = name.partition("/")
    return bool(repository) and (path == place if slash else "/" not in place)


def _signed_place(evidence: Evidence, origin: Origin, trust: TrustSet) -> Origin:
    if evidence.skill:
        return origin.of_skill(evidence.skill)
    state = trust.list_of(origin) if evidence.format == BY_LIST else None
    if state and state.listed:
        return origin._replace(item_type="list", item_id=state.listed.name, signed_id="")
    return origin


def _signature(
    code: str,
    evidence: Evidence,
    origin: Origin,
    *,
    entry: TrustEntry | None = None,
    detail: str = "",
    subject: str = "",
) -> Signature:
    """Return the judgement for a reason code."""
    reason, key, ref = REASONS[code], evidence.fingerprint, f"{origin.item_type}:{origin.item_id}"
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


def _signed_by(
    keys: Mapping[PublicKey, Fingerprint], evidence: Evidence, place: Origin, verify: Verify
) -> tuple[str, str]:
    """Return the key whose signature is valid, and the ``type:id`` it was made for if that is not the place.

    A v2 line does not spell out the type and id it was signed for. If the signature is valid for another type, or for
    an id that the file claims, the file was moved. Otherwise a move cannot be told from an altered line, and the worse
    is assumed.
    """
    if evidence.format == BY_LIST:  # its signatures were checked when it was read
        return next(iter(keys.values()), ""), ""
    if key := _holds(keys, evidence, place.item_type, place.signed_id or place.item_id, verify=verify):
        return key, ""
    if place.former_id and (key := _holds(keys, evidence, place.item_type, place.former_id, verify=verify)):
        return key, ""
    if evidence.format == EnvelopeFormat.V2:
        candidates = [(kind, claim) for claim in (place.item_id, *evidence.claims) for kind in ITEM_TYPES]
        for item_type, item_id in (*candidates, *((place.item_type, claim) for claim in _other_paths(place, evidence))):
            if key := _holds(keys, evidence, item_type, item_id, verify=verify):
                return key, f"{item_type}:{item_id}"
    return "", ""


def _other_paths(place: Origin, evidence: Evidence) -> Iterator[str]:
    """Yield other paths that a project's skill file may come from: another name, or another client's folder."""
    if place.skills:
        top, path = place.skills.removesuffix(place.folder), place.signed_id.removeprefix(place.skills)
        yield from (f"{place.skills}/{name}" for name in evidence.claims)
        yield from (f"{top}{folder.place}{path}" for folder in OF_PROJECTS if folder.format == "skill")


def _holds(
    keys: Mapping[PublicKey, Fingerprint], evidence: Evidence, item_type: str, item_id: str, *, verify: Verify
) -> str:
    """Return the key whose signature is valid for an item; empty if there is none."""
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
    check = partial(_is_verified, verify) if evidence.skill else verify
    return next((name for key, name in keys.items() if check(key, evidence.signature, message)), "")


@lru_cache(64)
def _is_verified(verify: Verify, key: PublicKey, signature: bytes, message: bytes) -> bool:
    return verify(key, signature, message)
