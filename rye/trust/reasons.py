"""The reasons: every verdict has a stable code, words for people, and a remedy; findings about lists have a remedy too.

The words of a reason are a template with ``signer`` (owner and short fingerprint), ``key`` (fingerprint as in the
line), ``ref`` (``type:id`` of the file) and ``detail``. The templates of a remedy have ``ref`` (quoted, and followed by
the options that find the item), ``where`` (these options alone), ``bundle`` (what names its bundle) and ``key``.
:mod:`rye.verify.advice` renders them, and nothing reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.trust.model import Verdict, as_utc, readable_place
from rye.trust.trust_entry import TrustEntry, TrustScope


class Remedy(NamedTuple):
    """What to do about a code.

    Attributes:
        words: For every user: what to know before running ``command``, or what to do if there is none.
        command: A shell command for every user; it never signs.
        sign: The command of a user whose key may sign it here, if it is unsigned or their own; it signs.
        once: What to know before running ``sign``.
    """

    words: str
    command: str = ""
    sign: str = ""
    once: str = ""


_SIGN: Final = "rye sign {ref}"
_SIGN_ANYWAY: Final = "rye sign --force {ref}"
_SIGN_LIST: Final = "rye sign list{where}"
_NONE: Final = Remedy("")
_UNSIGNED: Final = Remedy(
    "you have no key that may sign it: if it is yours, rye init makes one and signs it; else ask its author to sign "
    "it, or remove it",
    sign=_SIGN,
    once="once you have read it and know where it came from, because nobody signed it",
)
_WHOLE: Final = Remedy(
    "ask its signer for a version that is signed as a whole",
    sign=_SIGN,
    once="once you have reviewed the whole file: all of it is signed then",
)
_COUNTING: Final = Remedy(
    "get a version that its author signed with a key that counts here, and compare the two with diff",
    sign=_SIGN,
    once="once reviewed: it was signed with a key of yours that does not count here",
)
_NEW_LIST: Final = Remedy("get the newest list from its owner; if it is yours: rye sign list")
_NEWEST: Final = "get the newest version of all files from their owner, and compare"
_ANEW: Final = "ask its signer to sign it again"
_HIDDEN: Final = Remedy("remove it; if it belongs there, accept it: rye verify --policy FILE --accept")

ORIGINAL: Final = Remedy("do not use it: get the signed file again from its source, and compare the two with diff")
"""What to do about a file that others may have changed."""

TRUST_BUNDLE: Final = Remedy("shows who signed it, and asks; for one run: --trust FILE", "rye trust bundle {bundle}")
"""What to do about a bundle, or its list, that is signed by a key which no user trusts."""


class Reason(NamedTuple):
    """One row of the table.

    Attributes:
        verdict: The verdict that the code belongs to.
        words: The explanation.
        remedy: What fixes it; empty if nothing needs fixing.
    """

    verdict: Verdict
    words: str
    remedy: Remedy = _NONE


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
            Remedy("the trust file of whoever holds key {key}; for one run: --trust FILE", "rye trust add FILE"),
        ),
        "oms-root": Reason(
            _U,
            "the certificates of its bundle lead to {detail}, and no trust file holds that root certificate",
            Remedy(
                "the root certificate, once its owner confirmed the fingerprint", "rye trust add FILE --for 'skill:*'"
            ),
        ),
        "oms-chain": Reason(
            _U,
            "the certificates of its bundle do not lead to a trusted root: {detail}",
            Remedy("ask its signer for a bundle whose certificates are valid"),
        ),
        "oms-unknown": Reason(
            _U,
            "its bundle cannot be checked: {detail}",
            Remedy("ask its signer for a bundle of Model Signing 1.0, with SHA-256 and an ECDSA key"),
        ),
        "revoked": Reason(_U, "the key of {signer} is revoked{detail}", _COUNTING),
        "expired": Reason(_U, "the key of {signer} expired at {detail}", _COUNTING),
        "limited": Reason(_U, "the key of {signer} may sign only {detail}", _COUNTING),
        "signer-changed": Reason(
            _U,
            "the key of {signer} is named by the bundle alone{detail}",
            Remedy(
                "once its publisher has confirmed the new key; else use the version before", "rye trust bundle {bundle}"
            ),
        ),
        "foreign-key": Reason(
            _U,
            "the key of {signer} is named by {detail} alone, and no key that you trust stands behind that",
            Remedy("once its owner has confirmed the fingerprint; for one run: --trust FILE", "rye trust add {key}"),
        ),
        "audience": Reason(
            _U,
            "signed by {signer}, but {detail}",
            Remedy(
                "ask its signer for one that is signed for this audience",
                sign=_SIGN,
                once="once reviewed; it is signed for the audience that --audience names, else RYE_AUDIENCE",
            ),
        ),
        "outside-directive": Reason(
            _P,
            "signed by {signer}, but only <directive>...</directive>: the text around it is not covered",
            _WHOLE,
        ),
        "outside-front-matter": Reason(
            _P,
            "signed by {signer}, but only what follows the front matter: the front matter is not covered",
            _WHOLE,
        ),
        "outside-shebang": Reason(
            _P,
            "signed by {signer}, but only what follows the signature line: the text before it is not covered",
            _WHOLE,
        ),
        "outside-skill": Reason(
            _P,
            "signed by {signer}, but not with every file of the skill: {detail}",
            _WHOLE._replace(once="once you have reviewed the whole folder: every file in it is signed then"),
        ),
        "misplaced": Reason(
            _M,
            "signed by {signer}, but it claims another place: {detail}",
            Remedy(
                "move it to the place that it claims, or ask its signer for one that claims this place",
                sign=_SIGN,
                once="once it claims this place; or move it to the place that it claims",
            ),
        ),
        "signed-elsewhere": Reason(
            _M,
            "signed by {signer} for another place: {detail}",
            Remedy(
                "rename or move it back; or, once you have read it, sign it here: rye sign {ref}",
                sign=_SIGN,
                once="once you have read it; or rename or move it back",
            ),
        ),
        "malformed": Reason(_X, "the signature line is malformed: {detail}", ORIGINAL),
        "encoding": Reason(_X, "the signature in the line is not 64 bytes in canonical base64", ORIGINAL),
        "two-envelopes": Reason(_X, "a second signature line follows the first; neither can be believed", ORIGINAL),
        "digest": Reason(
            _X,
            "the content is not what was signed: its digest differs from the one in the signature line",
            ORIGINAL,
        ),
        "list-changed": Reason(_X, "the file differs from the one on the signed list", ORIGINAL),
        "list-signature": Reason(_X, "the list of its space has a signature that does not match: {detail}", ORIGINAL),
        "list-malformed": Reason(_X, "the list of its space cannot be read: {detail}", _NEW_LIST),
        "list-conflict": Reason(
            _X, "the list of its space is not merged: {detail}", Remedy("merge the files first; then: rye sign list")
        ),
        "skill-rewritten": Reason(
            _X,
            "{detail} is not what was signed: gh skill writes into it where the skill came from, and what else was "
            "changed nobody can tell",
            Remedy(f"{ORIGINAL.words}; git and npx skills leave its bytes as they are"),
        ),
        "skill-changed": Reason(_X, "the skill is not what was signed: {detail}", ORIGINAL),
        "oms-malformed": Reason(_X, "its bundle skill.oms.sig cannot be read: {detail}", ORIGINAL),
        "oms-signature": Reason(_X, "the signature in skill.oms.sig does not verify with {detail}", ORIGINAL),
        "line-ends": Reason(
            _X,
            "the content differs from what was signed in its line ends only ({detail})",
            Remedy(f"{ORIGINAL.words}; git keeps line ends as signed with core.autocrlf=false or '* -text'"),
        ),
        "signature": Reason(
            _X,
            "the signature does not verify with key {key}: the line was altered or made for something else",
            ORIGINAL,
        ),
        "no-envelope": Reason(_N, "there is no signature line", _UNSIGNED),
        "envelope-elsewhere": Reason(
            _N,
            "line {detail} looks like a signature, but only line 1 can hold one, or line 2 below a shebang or ---",
            _UNSIGNED,
        ),
    }
)
"""Every reason code, from the best verdict to the worst."""

POLICY_REMEDIES: Final[Mapping[str, Remedy]] = MappingProxyType(
    {
        "signer": Remedy("have a signer whom the policy demands sign it, or add its key to `signers` of the policy"),
        "format": Remedy(_ANEW, sign=_SIGN),
        "undated": Remedy(_ANEW, sign=_SIGN),
        "too-old": Remedy(_ANEW, sign=_SIGN_ANYWAY, once="once you have checked that it is still right"),
        "dated-ahead": Remedy(_ANEW, sign=_SIGN_ANYWAY, once="once the clocks are right"),
        "hidden-text": _HIDDEN,
    }
)
"""Code of each demand that a trusted item may still fail, and what to do; :mod:`rye.verify.policy` has the words."""

LIST_REMEDIES: Final[Mapping[str, Remedy]] = MappingProxyType(
    {
        "file-added": Remedy(
            "find out where it came from; remove it if nobody whom you trust put it there", sign=_SIGN_LIST
        ),
        "file-removed": Remedy("put the listed file back", sign=_SIGN_LIST),
        "file-changed": Remedy("put the listed file back, and compare the two", sign=_SIGN_LIST),
        "file-mode": Remedy("give it the mode that is listed", sign=_SIGN_LIST),
        "uncovered": Remedy(
            "find out where it came from; accept it as it is (rye verify --strict --policy FILE --accept), "
            "or have a signed list cover it",
            sign=_SIGN_LIST,
        ),
        "unknown-dot-name": Remedy(
            "read it, as a client may obey it; remove it, or name it under ignore in the policy"
        ),
        "nested-repository": Remedy(
            "find out where it came from; make it a submodule (git submodule add), or leave it out: --exclude"
        ),
        "link-elsewhere": Remedy("put a copy in its place and sign that, or remove the link"),
        "hidden-text": _HIDDEN,
        "list-missing": Remedy("ask the owner of the space for a signed list", sign=_SIGN_LIST),
        "list-gone": Remedy(
            "put rye.list back; if its owner has given it up, forget it: rye sign list --forget{where}"
        ),
        "list-malformed": Remedy(_NEWEST, sign=_SIGN_LIST),
        "list-conflict": Remedy("merge the files first", sign=_SIGN_LIST),
        "list-signature": Remedy(_NEWEST),
        "list-signer": Remedy(
            "the trust file of the signer, once its owner has confirmed the key", "rye trust add FILE"
        ),
        "list-expired": Remedy(_NEWEST, sign=_SIGN_LIST),
        "list-name": Remedy("get the list of this space from its owner", sign=_SIGN_LIST),
        "list-rollback": Remedy(
            f"{_NEWEST}; if its owner began again, forget the old one: rye sign list --forget{{where}}"
        ),
        "lock-changed": Remedy("compare it with its source, and install it again: npx skills update"),
        "lock-missing": Remedy("install it again from its source, or remove it from skills-lock.json"),
        "list-number": Remedy(_NEWEST),
        "list-signers": Remedy("have more of its signers add theirs: rye sign list --add"),
        "signer": Remedy("have a signer whom the policy demands add a signature: rye sign list --add"),
        "format": Remedy(_NEWEST),
        "list-unrecorded": Remedy("set RYE_STATE_DIR to a folder that you can write to"),
    }
)
"""Code of each finding about a list, or a file that is no item, and what to do."""

UNCHECKED: Final = frozenset({"unknown-key", "oms-root", "oms-chain", "oms-unknown"})
"""Codes of signatures that could not be checked, so that everything they say is a mere claim."""

ABOUT_KEY: Final = frozenset({"revoked", "expired", "limited", "signer-changed", "foreign-key"})
"""Codes of :meth:`rye.trust.trust_set.TrustSet.may_sign` for a key that a trust file names.

Their words are about the key.
"""

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
