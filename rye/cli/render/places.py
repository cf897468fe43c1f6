"""Paths and facts as programs that read findings want them."""

from __future__ import annotations

import os
from urllib.parse import quote

__all__ = ["file_uri", "folder_uri", "shown_path"]


def shown_path(path: str) -> str:
    """Return a path relative to the working directory if it lies below that, else as it is."""
    base = f"{os.getcwd()}{os.sep}"  # noqa: PTH109 - text, as the path is
    return path.removeprefix(base)


def file_uri(path: str) -> str:
    """Return a path as the URI reference that SARIF wants: relative below the working directory, else absolute."""
    shown = shown_path(path).replace(os.sep, "/")
    try:
        raw = quote(os.fsencode(shown), safe="/")
    except UnicodeEncodeError:  # half a character, which no name on disk can hold
        raw = quote(shown.encode("utf-8", "backslashreplace"), safe="/")
    if not shown.startswith("/"):
        return raw if ":" not in raw.partition("/")[0] else f"./{raw}"
    return f"file://{raw}"


def folder_uri() -> str:
    """Return the URI of the working directory, with the slash at its end that a base needs."""
    return f"file://{quote(os.fsencode(os.getcwd()), safe='/').rstrip('/')}/"  # noqa: PTH109 - as above
