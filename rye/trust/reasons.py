"""The table of reasons: every verdict has a stable code, words for people, and what to do about it.

``words`` and ``remedy`` are templates; the facts they may name are ``signer`` (owner and short fingerprint), ``key``
(fingerprint as the line gives it), ``ref`` (``type:id`` where the file was found) and ``detail``. A remedy is a command
for a shell, and after ``  # `` what to know before it is run; in it ``ref`` is quoted and followed by the options that
find the item, ``bundle`` its bundle with such options, and ``project`` the option that finds the project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.trust.model import Signature, Verdict
from rye.trust.trust_set import Revocation, TrustEntry, TrustScope, TrustSet, as_utc

_SIGN: Final = "rye sign {ref}  # once you have read it and know where it came from: nothing says who wrote it"
_SIGN_ALL: Final = "rye sign {ref}  # once you have reviewed the whole file: all of it is signed then"
_SIGN_AGAIN: Final = "rye sign {ref}  # once reviewed: it was signed with a key of yours that does not count here"
_UNSIGNED: Final = (
    "# you have no key that may sign it: if it is yours, rye init makes one and signs it; else ask its author to sign "
    "it, or remove it"
)
_WHOLE: Final = "# ask its signer for a version that is signed as a whole"
_COUNTING: Final = "# get a version that its author signed with a key that counts here, and compare the two with diff"
_ORIGINAL: Final = "# do not use it: get the signed file again from where it came from, and compare the two with diff"
_NEW_LIST: Final = "# get the newest list from its owner; if it is yours: rye sign --list"
_KNOWN_KEY: Final = "rye trust add {key}  # once its owner has confirmed the fingerprint; for one run: --trust FILE"


class Reason(NamedTuple):
    """One row of the table.

    Attributes:
        verdict: The verdict a code belongs to.
        words: Why.
        remedy: What fixes it, whoever asks; it never signs. Empty where nothing needs fixing.
        signing: The command for somebody who holds a key that counts, where the item is unsigned or their own.
    """

    verdict: Verdict
    words: str
    remedy: str = ""
    signing: str = ""


REASONS: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        "ok": Reason(
            Verdict.TRUSTED,
            "signed by {signer}; the signature binds the whole file, its type, its id and the time",
        ),
        "ok-unbound": Reason(
            Verdict.TRUSTED,
            "signed by {signer} over the whole file; this older format signs neither id nor time",
        ),
        "ok-list": Reason(Verdict.TRUSTED, "named by the list of its space, which {signer} signed"),
        "list-expired": Reason(Verdict.UNTRUSTED, "the list of its space expired on {detail}", _NEW_LIST),
        "list-name": Reason(Verdict.UNTRUSTED, "the list of its space is for another one: {detail}", _NEW_LIST),
        "list-rollback": Reason(Verdict.UNTRUSTED, "the list of its space is an older one: {detail}", _NEW_LIST),
        "unknown-key": Reason(
            Verdict.UNTRUSTED,
            "signed with key {key}, which no trust file names: the digest is right, the signature cannot be checked"
            "{detail}",
            "rye trust add FILE  # the trust file of whoever holds key {key}; for one run: --trust FILE",
        ),
        "revoked": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is revoked{detail}",
            _COUNTING,
            _SIGN_AGAIN,
        ),
        "trust-unread": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the trust file {detail} cannot be read, and may revoke the key of {signer}",
            "rye trust list  # says why that file cannot be read: fix it, or remove it if it is not yours",
        ),
        "expired": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} expired at {detail}",
            _COUNTING,
            _SIGN_AGAIN,
        ),
        "namespace": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} may sign only {detail}, not {ref}",
            _COUNTING,
            _SIGN_AGAIN,
        ),
        "bundle-key": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is vouched for by bundle {detail} alone: "
            "you have not trusted this bundle",
            "rye trust bundle {bundle}  # shows who signed it, and asks; for one run: --trust FILE",
        ),
        "signer-changed": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is vouched for by the bundle alone{detail}",
            "rye trust bundle {bundle}  # once its publisher has confirmed the new key; else use the version before",
        ),
        "foreign-bundle": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is known only from {detail}, "
            "and speaks for that bundle's items alone",
            _KNOWN_KEY,
        ),
        "foreign-project": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} belongs to the project and speaks for its items alone",
            _KNOWN_KEY,
        ),
        "project-key": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is vouched for by the project alone: "
            "you have not endorsed this key",
            "rye trust endorse {key}{project}  # once its owner confirmed the fingerprint; for one run: --trust FILE",
        ),
        "audience": Reason(
            Verdict.UNTRUSTED,
            "signed by {signer}, but {detail}",
            "# ask its signer for one that is signed for this audience",
            "rye sign {ref}  # once reviewed; it is signed for the audience that --audience names, else RYE_AUDIENCE",
        ),
        "outside-directive": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only <directive>...</directive>: the text around it is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-front-matter": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the front matter: the front matter is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-shebang": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the signature line: what stands before it is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-skill": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only this one file: {detail}",
            _WHOLE,
            "rye sign {ref}  # once you have reviewed the whole folder: every file in it is signed then",
        ),
        "misplaced": Reason(
            Verdict.MISPLACED,
            "signed by {signer}, but it is not where it says it is: {detail}",
            "# move it to where it says it is, or ask its signer for one that says where this is",
            "rye sign {ref}  # once it says where it is; or move it to where it says it is",
        ),
        "signed-elsewhere": Reason(
            Verdict.MISPLACED,
            "signed by {signer} as {detail}, but found as {ref}",
            "# move it back, or ask its signer for one that is signed for this place",
            "rye sign {ref}  # once it says where it is now; or move it back",
        ),
        "extension": Reason(
            Verdict.MISPLACED,
            "signed by {signer} for another extension, which decides what runs it: {detail}",
            "# give the file its extension back, or ask its signer for one that is signed for this one",
        ),
        "malformed": Reason(Verdict.TAMPERED, "the signature line is malformed: {detail}", _ORIGINAL),
        "encoding": Reason(
            Verdict.TAMPERED, "the signature in the line is not 64 bytes in canonical base64", _ORIGINAL
        ),
        "two-envelopes": Reason(
            Verdict.TAMPERED, "a second signature line follows the first; neither can be believed", _ORIGINAL
        ),
        "digest": Reason(
            Verdict.TAMPERED,
            "the content is not what was signed: its digest differs from the one in the signature line",
            _ORIGINAL,
        ),
        "list-changed": Reason(Verdict.TAMPERED, "the file differs from the one on the signed list", _ORIGINAL),
        "list-signature": Reason(
            Verdict.TAMPERED, "the list of its space has a signature that does not match: {detail}", _ORIGINAL
        ),
        "list-malformed": Reason(Verdict.TAMPERED, "the list of its space cannot be read: {detail}", _NEW_LIST),
        "list-conflict": Reason(
            Verdict.TAMPERED,
            "the list of its space is not merged: {detail}",
            "# merge the files first; then: rye sign --list",
        ),
        "skill-changed": Reason(Verdict.TAMPERED, "the skill is not what was signed: {detail}", _ORIGINAL),
        "line-ends": Reason(
            Verdict.TAMPERED,
            "the content differs from what was signed in its line ends only ({detail})",
            f"{_ORIGINAL}; git keeps line ends as signed with core.autocrlf=false or '* -text'",
        ),
        "signature": Reason(
            Verdict.TAMPERED,
            "the signature does not hold under key {key}: the line was altered or made for something else",
            _ORIGINAL,
        ),
        "no-envelope": Reason(Verdict.UNSIGNED, "there is no signature line", _UNSIGNED, _SIGN),
        "envelope-elsewhere": Reason(
            Verdict.UNSIGNED,
            "line {detail} has the form of a signature, but one counts only on line 1, or on line 2 below a shebang "
            "or the --- of front matter",
            _UNSIGNED,
            _SIGN,
        ),
    }
)
"""Every reason code, from the best verdict to the worst."""


def audience_words(found: str, wanted: str) -> str:
    """Return that a signature names another audience than the one that is demanded, or none."""
    said = f"for the audience {found!r}" if found else "for no audience"
    return f"{said}; {wanted!r} is demanded here"


MAX_HIDING_WARNINGS: Final = 20
"""Items named for hiding another signer's; the rest are counted."""

_UNPROVEN = frozenset({Verdict.UNSIGNED, Verdict.TAMPERED})


def foreign_copy(name: str, hider: tuple[str, Signature], hidden: tuple[str, Signature]) -> str:
    """Return a warning if two copies of an item have different signers; empty if the hidden copy is not signed.

    Args:
        name: ``type:id`` of both.
        hider: Source of the one that wins, and its signature.
        hidden: The same of the one that does not.
    """
    (above, upper), (below, lower) = hider, hidden
    if lower.verdict in _UNPROVEN or (upper.verdict not in _UNPROVEN and upper.signer == lower.signer):
        return ""
    return f"{name} of {above} hides that of {below}: {_said(upper)} here, {_said(lower)} there"


def cut_short(sentences: Sequence[str], more: int = 0) -> tuple[str, ...]:
    """Return the first :data:`MAX_HIDING_WARNINGS` warnings, and a count of the others."""
    more += max(len(sentences) - MAX_HIDING_WARNINGS, 0)
    rest = (f"and {more} more items that hide those of another signer",) if more else ()
    return (*sentences[:MAX_HIDING_WARNINGS], *rest)


def _said(signature: Signature) -> str:
    """Return who signed, in words."""
    if signature.verdict in _UNPROVEN:
        return str(signature.verdict)
    owner = f" of {signature.owner}" if signature.owner else ""
    return f"signed with key {signature.signer[:16]}{owner}"


def trust_status(entry: TrustEntry, *, trust: TrustSet, now: datetime) -> tuple[str, str]:
    """Return whether a trust file counts at a moment: a stable code and the reason in words.

    The codes: ``counts``; ``unread`` when this file, or another that may revoke the key, cannot be read; ``revoked``;
    ``project-key`` when no key of the user has endorsed a project's file; ``overruled`` when a more authoritative file
    of the same key decides; ``bundle-key`` when the user has not pinned the bundle to the key; ``expired``;
    ``no-namespace``. They are checked in the order of :func:`judge`.
    """
    if entry.unread:
        return "unread", f"cannot be read, and may revoke the key: {entry.unread}"
    # 1. A project's file without an endorsement says nothing at all, not even that its key is revoked.
    if entry.scope is TrustScope.PROJECT and not trust.stands(entry, now):
        return "project-key", _why_not_standing(entry, trust, now)
    # 2. Revocation, by this file or by another that is entitled to; one that does is named before one that may do so.
    named = trust.named(entry.fingerprint)
    barring = [each for each in named if each.bars and _reaches(each, entry, trust, now)]
    for each in sorted(barring, key=lambda each: each.revoked is None):
        where = f"the trust file {_PLACES[each.scope].format(bundle=each.bundle)}"
        if each.revoked is None:
            return "unread", f"{where} cannot be read, and may revoke the key: {each.source}"
        by = "" if each == entry else f" by {where}"
        return "revoked", f"revoked{by}{_words(each.revoked)}; nothing that it ever signed is trusted"
    # 3. Another file that decides alone.
    space = "system" if entry.scope is TrustScope.BUNDLE else "project"
    for each in named:
        if each.scope is entry.scope:
            break
        if each.scope.is_anchor and each.reaches(space, entry.bundle):
            return "overruled", f"the trust file {_PLACES[each.scope]} decides for this key"
    # 4. A bundle's own key is not trust.
    if not trust.stands(entry, now):
        return "bundle-key", "you have not trusted its bundle: a bundle cannot vouch for itself"
    # 5. The limits of the key.
    if entry.not_after is not None and entry.expired(now):
        return "expired", f"expired at {as_utc(entry.not_after).isoformat(timespec='seconds')}"
    if entry.namespaces == ():
        return "no-namespace", "its namespaces are empty: it may sign nothing"
    return "counts", _extent(entry, trust)


_PLACES = {
    TrustScope.NAMED: "named with --trust",
    TrustScope.USER: "of the user space",
    TrustScope.PROJECT: "of the project",
    TrustScope.BUNDLE: "of bundle {bundle}",
}


def _why_not_standing(entry: TrustEntry, trust: TrustSet, now: datetime) -> str:
    if not entry.endorsed_by:
        return "no key of the user has endorsed its trust file: a project cannot vouch for itself"
    for anchor in trust.named(entry.endorsed_by):
        if anchor.scope.is_anchor and anchor.revoked is not None:
            return f"endorsed by {anchor.signer}, whose key is revoked{_words(anchor.revoked)}"
        if anchor.scope.is_anchor and anchor.unread:
            return f"endorsed by {anchor.signer}, whose trust file {anchor.source} cannot be read"
    for anchor in trust.named(entry.endorsed_by):
        if anchor.scope.is_anchor and anchor.expired(now):
            return f"endorsed by {anchor.signer}, whose key has expired"
        if anchor.scope.is_anchor and not (anchor.namespaces is anchor.bundles is None):
            limit = "bundles" if anchor.namespaces is None else "namespaces"
            return f"endorsed by {anchor.signer}, whose key is limited to {limit} and so cannot endorse"
    return f"endorsed by {entry.endorsed_by[:16]}, which no trust file of the user names"


def _reaches(each: TrustEntry, entry: TrustEntry, trust: TrustSet, now: datetime) -> bool:
    at_home = each.scope is entry.scope and each.bundle == entry.bundle
    return at_home or (each.scope is not TrustScope.BUNDLE and trust.stands(each, now))


def _words(revoked: Revocation) -> str:
    words = ", ".join(filter(None, (revoked.reason, revoked.date)))
    return f": {words}" if words else ""


def reach_of(entry: TrustEntry) -> str:
    """Return in words for which items a trust file lets its key count, once it does, and until when."""
    if entry.revoked is not None:
        return "nothing: the file revokes the key"
    what = "every item" if entry.namespaces is None else f"items {', '.join(entry.namespaces) or 'of no id'}"
    where = {TrustScope.PROJECT: " of the project", TrustScope.BUNDLE: f" of bundle {entry.bundle}"}.get(
        entry.scope, ""
    )
    if entry.bundles is not None:
        where = f" of bundle{'s' * (len(entry.bundles) != 1)} {', '.join(entry.bundles) or '(none)'}"
    until = "" if entry.not_after is None else f", until {as_utc(entry.not_after).isoformat(timespec='seconds')}"
    return f"{what}{where or ' of every project, user and bundle'}{until}"


def _extent(entry: TrustEntry, trust: TrustSet) -> str:
    what = "every item" if entry.namespaces is None else ", ".join(entry.namespaces)
    if entry.scope is TrustScope.PROJECT:
        anchor = next(each for each in trust.named(entry.endorsed_by) if each.scope.is_anchor)
        reach = f"for {what} of this project: endorsed by {anchor.signer}"
    elif entry.scope is TrustScope.BUNDLE:
        reach = f"for {what} of bundle {entry.bundle} alone"
    elif entry.bundles is not None:
        bundles = f"bundle{'s' * (len(entry.bundles) > 1)} {', '.join(entry.bundles) or '(none)'}"
        reach = f"for {what} of {bundles} alone: pinned by the user"
    else:
        reach = f"for {what}: " + ("named with --trust" if entry.scope is TrustScope.NAMED else "trusted by the user")
    until = "" if entry.not_after is None else f", until {as_utc(entry.not_after).isoformat(timespec='seconds')}"
    return reach + until
