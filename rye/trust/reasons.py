"""The reasons: every verdict has a stable code, words for people, and a remedy.

``words`` and ``remedy`` are templates. They may use ``signer`` (owner and short fingerprint), ``key`` (fingerprint as
in the line), ``ref`` (``type:id`` of the file) and ``detail``. A remedy is a shell command; after ``  # `` it says what
to know before running it. In a remedy, ``ref`` is quoted and followed by the options that find the item, and ``bundle``
names its bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.trust.model import Verdict, as_utc, readable_place
from rye.trust.trust_entry import TrustEntry, TrustScope

_SIGN: Final = "rye sign {ref}  # once you have read it and know where it came from, because nobody signed it"
_SIGN_ALL: Final = "rye sign {ref}  # once you have reviewed the whole file: all of it is signed then"
_SIGN_AGAIN: Final = "rye sign {ref}  # once reviewed: it was signed with a key of yours that does not count here"
_UNSIGNED: Final = (
    "# you have no key that may sign it: if it is yours, rye init makes one and signs it; else ask its author to sign "
    "it, or remove it"
)
_WHOLE: Final = "# ask its signer for a version that is signed as a whole"
_COUNTING: Final = "# get a version that its author signed with a key that counts here, and compare the two with diff"
_NEW_LIST: Final = "# get the newest list from its owner; if it is yours: rye sign --list"
_ORIGINAL: Final = "# do not use it: get the signed file again from its source, and compare the two with diff"


class Reason(NamedTuple):
    """One row of the table.

    Attributes:
        verdict: The verdict that the code belongs to.
        words: The explanation.
        remedy: What fixes it, for any user; it never signs. Empty if nothing needs fixing.
        signing: The command for somebody who holds an accepted key, if the item is unsigned or their own.
    """

    verdict: Verdict
    words: str
    remedy: str = ""
    signing: str = ""


_T, _U, _P, _M, _X, _N = Verdict  # trusted, untrusted, partial, misplaced, tampered, unsigned

REASONS: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        "ok": Reason(_T, "signed by {signer}; the signature binds the whole file, its type, its id and the time"),
        "ok-unbound": Reason(_T, "signed by {signer} over the whole file; this older format signs neither id nor time"),
        "ok-list": Reason(_T, "named by the list of its space, which {signer} signed"),
        "ok-oms": Reason(
            _T,
            "signed by {signer} with all files of the skill; this format signs neither their modes nor its place",
        ),
        "list-expired": Reason(_U, "the list of its space expired on {detail}", _NEW_LIST),
        "list-name": Reason(_U, "the list of its space is for another one: {detail}", _NEW_LIST),
        "list-rollback": Reason(_U, "the list of its space is an older one: {detail}", _NEW_LIST),
        "unknown-key": Reason(
            _U,
            "signed with key {key}, which no trust file names, so the signature cannot be checked{detail}",
            "rye trust add FILE  # the trust file of whoever holds key {key}; for one run: --trust FILE",
        ),
        "oms-root": Reason(
            _U,
            "the certificates of its bundle lead to {detail}, and no trust file holds that root certificate",
            "rye trust add FILE --for 'skill:*'  # the root certificate, once its owner confirmed the fingerprint",
        ),
        "oms-chain": Reason(
            _U,
            "the certificates of its bundle do not lead to a trusted root: {detail}",
            "# ask its signer for a bundle whose certificates are valid",
        ),
        "oms-unknown": Reason(
            _U,
            "its bundle cannot be checked: {detail}",
            "# ask its signer for a bundle of Model Signing 1.0, with SHA-256 and an ECDSA key",
        ),
        "revoked": Reason(_U, "the key of {signer} is revoked{detail}", _COUNTING, _SIGN_AGAIN),
        "expired": Reason(_U, "the key of {signer} expired at {detail}", _COUNTING, _SIGN_AGAIN),
        "limited": Reason(_U, "the key of {signer} may sign only {detail}", _COUNTING, _SIGN_AGAIN),
        "signer-changed": Reason(
            _U,
            "the key of {signer} is named by the bundle alone{detail}",
            "rye trust bundle {bundle}  # once its publisher has confirmed the new key; else use the version before",
        ),
        "foreign-key": Reason(
            _U,
            "the key of {signer} is named by {detail} alone, and no key that you trust stands behind that",
            "rye trust add {key}  # once its owner has confirmed the fingerprint; for one run: --trust FILE",
        ),
        "audience": Reason(
            _U,
            "signed by {signer}, but {detail}",
            "# ask its signer for one that is signed for this audience",
            "rye sign {ref}  # once reviewed; it is signed for the audience that --audience names, else RYE_AUDIENCE",
        ),
        "outside-directive": Reason(
            _P,
            "signed by {signer}, but only <directive>...</directive>: the text around it is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-front-matter": Reason(
            _P,
            "signed by {signer}, but only what follows the front matter: the front matter is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-shebang": Reason(
            _P,
            "signed by {signer}, but only what follows the signature line: the text before it is not covered",
            _WHOLE,
            _SIGN_ALL,
        ),
        "outside-skill": Reason(
            _P,
            "signed by {signer}, but not with every file of the skill: {detail}",
            _WHOLE,
            "rye sign {ref}  # once you have reviewed the whole folder: every file in it is signed then",
        ),
        "misplaced": Reason(
            _M,
            "signed by {signer}, but it claims another place: {detail}",
            "# move it to the place that it claims, or ask its signer for one that claims this place",
            "rye sign {ref}  # once it claims this place; or move it to the place that it claims",
        ),
        "signed-elsewhere": Reason(
            _M,
            "signed by {signer} for another place: {detail}",
            "# rename or move it back; or, once you have read it, sign it here: rye sign {ref}",
            "rye sign {ref}  # once you have read it; or rename or move it back",
        ),
        "malformed": Reason(_X, "the signature line is malformed: {detail}", _ORIGINAL),
        "encoding": Reason(_X, "the signature in the line is not 64 bytes in canonical base64", _ORIGINAL),
        "two-envelopes": Reason(_X, "a second signature line follows the first; neither can be believed", _ORIGINAL),
        "digest": Reason(
            _X,
            "the content is not what was signed: its digest differs from the one in the signature line",
            _ORIGINAL,
        ),
        "list-changed": Reason(_X, "the file differs from the one on the signed list", _ORIGINAL),
        "list-signature": Reason(_X, "the list of its space has a signature that does not match: {detail}", _ORIGINAL),
        "list-malformed": Reason(_X, "the list of its space cannot be read: {detail}", _NEW_LIST),
        "list-conflict": Reason(
            _X, "the list of its space is not merged: {detail}", "# merge the files first; then: rye sign --list"
        ),
        "skill-rewritten": Reason(
            _X,
            "{detail} is not what was signed: gh skill writes into it where the skill came from, and what else was "
            "changed nobody can tell",
            f"{_ORIGINAL}; git and npx skills leave its bytes as they are",
        ),
        "skill-changed": Reason(_X, "the skill is not what was signed: {detail}", _ORIGINAL),
        "oms-malformed": Reason(_X, "its bundle skill.oms.sig cannot be read: {detail}", _ORIGINAL),
        "oms-signature": Reason(_X, "the signature in skill.oms.sig does not verify with {detail}", _ORIGINAL),
        "line-ends": Reason(
            _X,
            "the content differs from what was signed in its line ends only ({detail})",
            f"{_ORIGINAL}; git keeps line ends as signed with core.autocrlf=false or '* -text'",
        ),
        "signature": Reason(
            _X,
            "the signature does not verify with key {key}: the line was altered or made for something else",
            _ORIGINAL,
        ),
        "no-envelope": Reason(_N, "there is no signature line", _UNSIGNED, _SIGN),
        "envelope-elsewhere": Reason(
            _N,
            "line {detail} looks like a signature, but only line 1 can hold one, or line 2 below a shebang or ---",
            _UNSIGNED,
            _SIGN,
        ),
    }
)
"""Every reason code, from the best verdict to the worst."""

UNCHECKED: Final = frozenset({"unknown-key", "oms-root", "oms-chain", "oms-unknown"})
"""Codes of signatures that could not be checked, so that everything they say is a mere claim."""

ABOUT_KEY: Final = frozenset({"revoked", "expired", "limited", "signer-changed", "foreign-key"})
"""Codes of :meth:`rye.trust.TrustSet.may_sign` for a key that a trust file names; their words are about the key."""

_WHY: Final = {
    TrustScope.NAMED: "named with --trust",
    TrustScope.USER: "trusted by you",
    TrustScope.ORGANISATION: "trusted by your organisation",
    TrustScope.PROJECT: "of this project",
    TrustScope.BUNDLE: "of bundle {bundle}",
}


def reach_of(entry: TrustEntry) -> str:
    """Return in words what a trust file lets its key sign while it is in effect, and until when."""
    if entry.revoked is not None:
        return "nothing: the file revokes the key"
    what = "every item" if entry.patterns is None else ", ".join(entry.patterns) or "nothing"
    where = "" if entry.is_users else f" {_WHY[entry.scope].format(bundle=entry.bundle)}"
    until = "" if entry.not_after is None else f", until {as_utc(entry.not_after).isoformat(timespec='seconds')}"
    return f"{what}{where}{until}"


def why_in_effect(entry: TrustEntry) -> str:
    """Return in words why a trust file is in effect, given that it is."""
    if entry.is_users:
        return _WHY[entry.scope]
    return "part of rye" if entry.built_in else f"its trust file is signed with your key {entry.signed_by[:16]}"


def elsewhere_words(stated: str, here: str) -> str:
    """Return in words that a signature states another place than this one, both given as in a v2 line."""
    return f"it was signed as {readable_place(stated)}, this is {readable_place(here)}"


def audience_words(stated: str, demanded: str) -> str:
    """Return in words that a signature names another audience than the one demanded, or none."""
    said = f"for the audience {stated!r}" if stated else "for no audience"
    return f"{said}; {demanded!r} is demanded here"
