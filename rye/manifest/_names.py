"""How the files of a manifest are called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["is_name", "is_remains", "list_versions", "root_versions"]

_NAME: Final = re.compile(r"(?:timestamp|[1-9]\d{0,8}\.[a-z0-9_-]+)\.json", re.ASCII)
_ROOT_NAME: Final = re.compile(r"([1-9]\d{0,8})\.root\.json", re.ASCII)
_REMAINS: Final = re.compile(rf"\.(?:(?:manifest|{_NAME.pattern})\.)?[0-9a-f]{{16}}\.tmp", re.ASCII)


def is_name(name: str) -> bool:
    """Return whether a file of this name may be part of a manifest."""
    return bool(_NAME.fullmatch(name))


def is_remains(name: str) -> bool:
    """Return whether a file or folder of this name is what a killed writer left."""
    return bool(_REMAINS.fullmatch(name))


def root_versions(names: Iterable[str]) -> dict[int, str]:
    """Return the versions of the root among file names, lowest first."""
    found = {int(match[1]): name for name in names if (match := _ROOT_NAME.fullmatch(name))}
    return dict(sorted(found.items()))


def list_versions(names: Iterable[str], role: str) -> dict[int, str]:
    """Return the versions of a role's list among file names, highest first."""
    found = {int(name.partition(".")[0]): name for name in names if name.partition(".")[2] == f"{role}.json"}
    return dict(sorted(found.items(), reverse=True))
