"""Finds bundles registered by pip-installed packages, from their metadata alone; nothing is imported.

A package registers a bundle with an entry point in the group ``rye.bundles``, whose name is the bundle's id. The
metadata written by pip tell where the files of the entry point's module are. ``importlib.metadata`` does the same, but
takes longer to load than a search takes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rye.spaces.snapshot import names

# ruff: noqa: PTH112, PTH113 - Path.is_dir() and is_file() raise where a folder may not be entered

_MAX_BYTES = 1 << 16
_MAX_RECORD = 1 << 23
_ENTRY = re.compile(r"^([^=\n#;\[]{1,200}?)[ \t]*=[ \t]*(\w+(?:\.\w+)*)", re.MULTILINE)
_GROUP = re.compile(r"^\[rye\.bundles\][ \t]*$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_LITERAL = re.compile(r"""["'](bundle_id|version)["'][ \t]*:[ \t]*(["'][^"'\n]{1,200}["'])""")
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)


def registered() -> list[tuple[str, str, Path]]:
    """Return name, module and metadata folder of every bundle that an installed package registers, sorted by name."""
    infos: dict[str, Path] = {}
    for site in filter(os.path.isabs, dict.fromkeys(sys.path)):  # not the working directory
        for info in infos_in(Path(site)):
            infos.setdefault(info.stem.partition("-")[0].lower(), info)  # as for imports, the first entry wins
    return sorted((name, module, info) for info in infos.values() for name, module in entries(info))


def infos_in(site: Path) -> list[Path]:
    """Return the package metadata folders in a folder, sorted by name."""
    return sorted(site / name for name in names(site) if name.endswith((".dist-info", ".egg-info")))


def entries(info: Path) -> list[tuple[str, str]]:
    """Return name and module of each bundle that a package registers."""
    group = _GROUP.search(read_text(info / "entry_points.txt"))
    return [(name.strip(), module) for name, module in _ENTRY.findall(group[1])] if group else []


def version(info: Path) -> str:
    """Return the version of a package; empty if its metadata state none."""
    match = _VERSION.search(read_text(info / "METADATA") or read_text(info / "PKG-INFO"))
    return match[1] if match else ""


def literals(source: Path) -> dict[str, str]:
    """Return the string literals for ``bundle_id`` and ``version`` in a mapping of a Python file."""
    texts = dict[str, str]()
    for key, text in _LITERAL.findall(read_text(source)):
        from ast import literal_eval  # slow to load and rarely needed

        with suppress(SyntaxError, ValueError):
            texts.setdefault(key, str(literal_eval(text)))
    return texts


def read_text(path: Path, most: int = _MAX_BYTES) -> str:
    """Return the start of a file; empty if it is missing or not a regular file."""
    if not os.path.isfile(path):
        return ""
    try:
        with path.open("rb") as handle:
            return handle.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def package_folders(info: Path, module: str) -> Iterator[Path]:
    """Yield the folder of the package that an entry point names, then those of the packages around it."""
    parts = module.split(".")
    # only if the distribution lists files of the package, because another distribution may own a package of that name
    files = [line.partition(",")[0] for line in read_text(info / "RECORD", _MAX_RECORD).splitlines()]
    if not files or any(name.startswith(f"{parts[0]}/") for name in files):
        for length in range(len(parts), 0, -1):
            if os.path.isdir(folder := info.parent.joinpath(*parts[:length])):
                yield folder
