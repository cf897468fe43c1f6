"""The table of reasons: every verdict has a stable code, words for people, and what to do about it.

``words`` and ``remedy`` are templates; the facts they may name are ``signer`` (owner and short fingerprint), ``key``
(fingerprint as the line gives it), ``ref`` (``type:id`` where the file was found) and ``detail``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rye.signing.model import Verdict

__all__ = ["REASONS", "Reason"]

_SIGN_AGAIN: Final = "rye sign {ref}"
_KEY_FILE: Final = "rye trust add FILE, with the signer's trust file, or name it with --trust"


@dataclass(frozen=True, slots=True)
class Reason:
    """One row: the verdict a code belongs to, why in words, and what mends it (empty where nothing needs mending)."""

    verdict: Verdict
    words: str
    remedy: str = ""


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
        "unknown-key": Reason(
            Verdict.UNTRUSTED,
            "signed with key {key}, which no trust file names: the digest is right, the signature cannot be checked",
            _KEY_FILE,
        ),
        "revoked": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is revoked{detail}",
            _SIGN_AGAIN,
        ),
        "expired": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} expired at {detail}",
            _SIGN_AGAIN,
        ),
        "namespace": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} may sign only {detail}, not {ref}",
            _SIGN_AGAIN,
        ),
        "foreign-bundle": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is known only from {detail}, "
            "and speaks for that bundle's items alone",
            _KEY_FILE,
        ),
        "foreign-project": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} belongs to the project and speaks for its items alone",
            _KEY_FILE,
        ),
        "project-key": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is vouched for by the project alone: "
            "no key of the user stands behind its trust file",
            "rye trust endorse {key}, or name its trust file with --trust",
        ),
        "outside-directive": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only <directive>...</directive>: the text around it is not covered",
            _SIGN_AGAIN,
        ),
        "outside-front-matter": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the front matter: the front matter is not covered",
            _SIGN_AGAIN,
        ),
        "outside-shebang": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the signature line: what stands before it is not covered",
            _SIGN_AGAIN,
        ),
        "misplaced": Reason(
            Verdict.MISPLACED,
            "signed by {signer}, but it is not where it says it is: {detail}",
            "move it to where it says it is, or correct what it says and: rye sign {ref}",
        ),
        "signed-elsewhere": Reason(
            Verdict.MISPLACED,
            "signed by {signer} as {detail}, but found as {ref}",
            "move it back, or: rye sign {ref}",
        ),
        "malformed": Reason(Verdict.TAMPERED, "the signature line is malformed: {detail}", _SIGN_AGAIN),
        "encoding": Reason(
            Verdict.TAMPERED, "the signature in the line is not 64 bytes in canonical base64", _SIGN_AGAIN
        ),
        "two-envelopes": Reason(
            Verdict.TAMPERED, "a second signature line follows the first; neither can be believed", _SIGN_AGAIN
        ),
        "digest": Reason(
            Verdict.TAMPERED,
            "the content is not what was signed: its digest differs from the one in the signature line",
            "restore the signed content, or review the change and: rye sign {ref}",
        ),
        "line-ends": Reason(
            Verdict.TAMPERED,
            "the content differs from what was signed in its line ends only ({detail})",
            "restore the line ends (with git: core.autocrlf=false or '* -text'), or: rye sign {ref}",
        ),
        "signature": Reason(
            Verdict.TAMPERED,
            "the signature does not hold under key {key}: the line was altered or made for something else",
            "restore the signed file, or review it and: rye sign {ref}",
        ),
        "no-envelope": Reason(Verdict.UNSIGNED, "there is no signature line", _SIGN_AGAIN),
        "envelope-elsewhere": Reason(
            Verdict.UNSIGNED,
            "line {detail} has the form of a signature, but one counts only on line 1, or on line 2 after a shebang",
            _SIGN_AGAIN,
        ),
    }
)
"""Every reason code, from the best verdict to the worst."""
