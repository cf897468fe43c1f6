r"""Text from items is hostile: here every control and invisible character of it is written out.

    >>> inline("two\nlines \x1b[31mred")
    'two lines \\x1b[31mred'

What is left can be shown on a terminal, and read by a model, without doing anything to either.
"""

from __future__ import annotations

import re

__all__ = ["block", "inline", "verbatim_json"]

_INVISIBLE = (
    r"\x7f-\x9f"  # DEL and the C1 controls, among them the one-character form of ESC [
    r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # direction overrides, separators, zero width
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"  # annotations, lone surrogates, tag characters
)
_UNSAFE_IN_BLOCK = re.compile(rf"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_UNSAFE_IN_JSON = re.compile(rf"[{_INVISIBLE}]")
_SPACE = re.compile(r"\s+")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def block(text: str) -> str:
    r"""Return text of several lines with every control and invisible character written out, as ``\x1b``."""
    return _UNSAFE_IN_BLOCK.sub(_escaped, text.replace("\r\n", "\n"))


def inline(text: str) -> str:
    """Return text for one line: as :func:`block`, every run of white space one blank."""
    return _UNSAFE_IN_BLOCK.sub(_escaped, _SPACE.sub(" ", text).strip())


def verbatim_json(dumped: str) -> str:
    r"""Return JSON text with the invisible characters that ``json`` leaves alone written as ``\uXXXX``."""
    return _UNSAFE_IN_JSON.sub(_json_escaped, dumped)
