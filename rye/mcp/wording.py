"""What rye says to people, said to a client: a command that has a tool is named by it, others are the user's to run."""

from __future__ import annotations

import re

__all__ = ["for_client"]

_TOOLS = {"search": "rye_search", "show": "rye_load", "verify": "rye_verify", "sign": "rye_sign"}
_COMMAND = re.compile(rf"\brye ({'|'.join(_TOOLS)})(?: --ids)?\b(?! --)")
_OTHER = re.compile(r"\brye (?:index|keys|manifest|sign|trust|verify)\b")


def for_client(text: str) -> str:
    """Return a hint or warning with the tools in it that a client can call.

    >>> for_client("rye search finds items by what they say")
    'rye_search finds items by what they say'
    >>> for_client("make one with rye keys generate")
    'make one with rye keys generate (a command that the user runs)'
    """
    said = _COMMAND.sub(lambda match: _TOOLS[match[1]], text)
    return f"{said} (a command that the user runs)" if _OTHER.search(said) else said
