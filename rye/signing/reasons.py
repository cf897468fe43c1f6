"""The table of reasons: every verdict has a stable code, words for people, and what to do about it.

``words`` and ``remedy`` are templates; the facts they may name are ``signer`` (owner and short fingerprint), ``key``
(fingerprint as the line gives it), ``ref`` (``type:id`` where the file was found) and ``detail``. A remedy is a command
for a shell, and after ``  # `` what to know before it is run; in it ``ref`` is quoted and followed by the options that
find the item, and ``project`` is the option that finds the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rye.signing.model import Verdict

__all__ = ["REASONS", "Reason"]

_SIGN: Final = "rye sign {ref}"
_SIGN_ALL: Final = "rye sign {ref}  # once you have reviewed the whole file: all of it is signed then"
_OTHER_KEY: Final = "rye sign {ref}  # once reviewed, with a key that counts here: name it with --key"
_REVIEWED: Final = "rye sign {ref}  # only once the change is reviewed; else put the signed file back"
_KNOWN_KEY: Final = "rye trust add {key}  # once its owner has confirmed the fingerprint; for one run: --trust FILE"


@dataclass(frozen=True, slots=True)
class Reason:
    """One row: the verdict a code belongs to, why in words, and what fixes it (empty where nothing needs fixing)."""

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
            "rye trust add FILE  # the trust file of whoever holds key {key}; for one run: --trust FILE",
        ),
        "revoked": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} is revoked{detail}",
            _OTHER_KEY,
        ),
        "trust-unread": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the trust file {detail} cannot be read, and may revoke the key of {signer}",
            "rye trust list  # says what is the matter with that file: fix it, or remove it if it is not yours",
        ),
        "expired": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} expired at {detail}",
            _OTHER_KEY,
        ),
        "namespace": Reason(
            Verdict.UNTRUSTED,
            "the signature holds, but the key of {signer} may sign only {detail}, not {ref}",
            _OTHER_KEY,
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
            "no key of the user stands behind its trust file",
            "rye trust endorse {key}{project}  # once its owner confirmed the fingerprint; for one run: --trust FILE",
        ),
        "outside-directive": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only <directive>...</directive>: the text around it is not covered",
            _SIGN_ALL,
        ),
        "outside-front-matter": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the front matter: the front matter is not covered",
            _SIGN_ALL,
        ),
        "outside-shebang": Reason(
            Verdict.PARTIAL,
            "signed by {signer}, but only what follows the signature line: what stands before it is not covered",
            _SIGN_ALL,
        ),
        "misplaced": Reason(
            Verdict.MISPLACED,
            "signed by {signer}, but it is not where it says it is: {detail}",
            "rye sign {ref}  # once it says where it is; or move it to where it says it is",
        ),
        "signed-elsewhere": Reason(
            Verdict.MISPLACED,
            "signed by {signer} as {detail}, but found as {ref}",
            "rye sign {ref}  # once it says where it is now; or move it back",
        ),
        "malformed": Reason(Verdict.TAMPERED, "the signature line is malformed: {detail}", _REVIEWED),
        "encoding": Reason(
            Verdict.TAMPERED, "the signature in the line is not 64 bytes in canonical base64", _REVIEWED
        ),
        "two-envelopes": Reason(
            Verdict.TAMPERED, "a second signature line follows the first; neither can be believed", _REVIEWED
        ),
        "digest": Reason(
            Verdict.TAMPERED,
            "the content is not what was signed: its digest differs from the one in the signature line",
            _REVIEWED,
        ),
        "line-ends": Reason(
            Verdict.TAMPERED,
            "the content differs from what was signed in its line ends only ({detail})",
            "rye sign {ref}  # as they now are; git keeps them as signed with core.autocrlf=false or '* -text'",
        ),
        "signature": Reason(
            Verdict.TAMPERED,
            "the signature does not hold under key {key}: the line was altered or made for something else",
            _REVIEWED,
        ),
        "no-envelope": Reason(Verdict.UNSIGNED, "there is no signature line", _SIGN),
        "envelope-elsewhere": Reason(
            Verdict.UNSIGNED,
            "line {detail} has the form of a signature, but one counts only on line 1, or on line 2 after a shebang",
            _SIGN,
        ),
    }
)
"""Every reason code, from the best verdict to the worst."""
