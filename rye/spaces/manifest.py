"""What a bundle in a folder calls itself, read from text: nothing is imported and nothing runs."""

# ruff: noqa: PTH113 - Path.is_file() raises where a folder may not be entered
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Identity", "identify"]

_MAX_BYTES = 1 << 16
_MAX_LENGTH = 64
_NOT_AN_ID = re.compile(r"[^\w.+-]+")
_ENTRY = re.compile(r"^([^=\n#;\[]+?)[ \t]*=[ \t]*([\w.]+)[ \t]*:", re.MULTILINE)
_GROUP = re.compile(r"^\[rye\.bundles\][ \t]*$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Identity:
    """The id and version of a bundle, as it states them."""

    bundle: str
    version: str = ""

    @classmethod
    def clean(cls, bundle: str, version: str = "") -> Identity:
        """Make an identity of foreign text: an id of letters, digits and ``_ . + -`` only, both of bounded length."""
        name = _NOT_AN_ID.sub("-", bundle)[:_MAX_LENGTH].strip("-.") or "bundle"
        return cls(name, _NOT_AN_ID.sub("-", version)[:_MAX_LENGTH])


def identify(folder: Path) -> Identity:
    """Tell what the bundle in ``folder`` is: by the package metadata beside it, its ``bundle.py``, or its name."""
    literal = _stated(folder / "bundle.py")
    for info in _infos(folder.parent):
        for entry, module in _entries(info):
            if module.split(".")[0] == folder.name:
                version = _VERSION.search(_text(info / "METADATA"))
                return Identity.clean(literal.get("bundle_id") or entry, version[1] if version else "")
    return Identity.clean(literal.get("bundle_id") or folder.name, literal.get("version", ""))


def _infos(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(".dist-info"))
    except OSError:
        return []


def _entries(info: Path) -> list[tuple[str, str]]:
    """Return name and module of each bundle that a distribution registers."""
    group = _GROUP.search(_text(info / "entry_points.txt"))
    return [(match[1].strip(), match[2]) for match in _ENTRY.finditer(group[1])] if group else []


def _stated(path: Path) -> dict[str, str]:
    """Return the texts that a ``bundle.py`` returns under ``bundle_id`` and ``version``, where they are literals."""
    source = _text(path)
    if "bundle_id" not in source:
        return {}
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return {}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found.setdefault(str(key.value), value.value)
    return {key: found[key] for key in ("bundle_id", "version") if key in found}


def _text(path: Path) -> str:
    """Return the start of a small file, empty where there is none; a pipe in its place is not read."""
    if not os.path.isfile(path):
        return ""
    try:
        with path.open("rb") as handle:
            return handle.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
