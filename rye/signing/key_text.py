"""Private keys in a text that someone else may read: recognized, so that no message repeats them."""

from __future__ import annotations

import re
from typing import Final

from rye.errors import ArgumentError

__all__ = ["hide_keys", "refuse_key_text"]

_PEM: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_HIDDEN: Final = "[private key]"
_BEGINNINGS: Final = (
    r"M..CAQ[AE]",  # a sequence of less than 128 bytes that begins with version 0 or 1: Ed25519 as PKCS #8 (RFC 5958)
    r"MI[E-H].AgE[AB]",  # the same of less than 256
    r"MII...IBA",  # and of more
    r"M[\w+/-]{3,11}(?:CSqGSIb3DQEFD|BgkqhkiG9w0BBQ0)",  # one behind a passphrase: PBES2
    r"b3BlbnNzaC1rZXktdjE",  # openssh-key-v1
    r"LS0tLS1CRUdJTi(?!BQVUJMSUMg)(?!BDRVJU)",  # -----BEGIN, of what is neither PUBLIC nor a CERTificate
    r"(?i:30[2-7][0-9a-f]02010[01])",  # Ed25519 again, in hexadecimal digits
)
"""How a private key begins in base64, of either alphabet, or in hexadecimal."""

_BODY: Final = re.compile(rf"(?:{'|'.join(_BEGINNINGS)})[\w+/=-]{{32,}}", re.ASCII)
_LETTER: Final = re.compile(r"(?:\s|\\[nrt])*(\S)")
"""A character behind any blanks, which may be escaped."""


def hide_keys(text: str) -> str:
    """Return text without the private keys in it, as when one was written on the command line by mistake.

    They are known by how PEM, PKCS #8 and OpenSSH write them, with or without the lines around the base64, and with
    blanks anywhere in it; words that follow go with it, as nothing tells them from its end. The 32 bytes of a bare seed
    could be anything.
    """
    text = _PEM.sub(_HIDDEN, text)
    places = [letter.start(1) for letter in _LETTER.finditer(text)]
    keys = list(_BODY.finditer("".join(text[place] for place in places)))
    for key in reversed(keys):
        text = text[: places[key.start()]] + _HIDDEN + text[places[key.end() - 1] + 1 :]
    return text


def refuse_key_text(text: str) -> None:
    """Refuse the text of a key where a name or a path belongs, without repeating it.

    Raises:
        ArgumentError: ``key-text``.
    """
    if "PRIVATE KEY" in text or "\n" in text or hide_keys(text) != text:
        raise ArgumentError(
            "key-text",
            "what was given is the text of a key, not its name or file",
            hint="others can see what stands on a command line: use another key, in RYE_SIGNING_KEY or a file",
        )
