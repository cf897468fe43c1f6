"""Words for a command line that someone will copy into a shell: whatever a file is named, it stays one word."""

from __future__ import annotations

import shlex

__all__ = ["quote"]


def quote(text: str) -> str:
    r"""Return one shell word that means ``text``, of visible characters and single blanks alone.

    What an answer would not show as it is (controls, invisible characters, runs of blanks) is written in octal within
    ``$'…'``, which bash, zsh and POSIX.1-2024 read.

    >>> quote("a b"), quote("a\n$(b)")
    ("'a b'", "$'a\\012$(b)'")
    """
    if "  " not in text and text == text.strip() and all(map(_is_shown, text)):
        return shlex.quote(text)
    return "$'" + "".join(char if _is_shown(char) and char not in " '\\" else _octal(char) for char in text) + "'"


def _octal(char: str) -> str:
    half = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", half))


def _is_shown(char: str) -> bool:
    """Return whether an answer shows a character as it is; those of the last planes say nothing, though printable."""
    return char.isprintable() and char < "\U000e0000"
