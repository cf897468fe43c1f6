"""File names of items: the extensions of each type, without the files of package managers."""

from __future__ import annotations

import re
from types import MappingProxyType

from rye.items.model import ItemType

EXTENSIONS = MappingProxyType(
    {
        ItemType.DIRECTIVE: frozenset({".md"}),
        ItemType.TOOL: frozenset({".cjs", ".js", ".json", ".mjs", ".py", ".sh", ".toml", ".ts", ".yaml", ".yml"}),
        ItemType.KNOWLEDGE: frozenset({".md", ".yaml", ".yml"}),
    }
)
"""The extensions of each item type, lower case with the dot."""

_PACKAGE_FILES = frozenset(
    {
        "biome.json",
        "bower.json",
        "cargo.toml",
        "clippy.toml",
        "composer.json",
        "deno.json",
        "jsconfig.json",
        "lerna.json",
        "netlify.toml",
        "npm-shrinkwrap.json",
        "nx.json",
        "package-lock.json",
        "package.json",
        "pnpm-lock.yaml",
        "pnpm-workspace.yaml",
        "poetry.toml",
        "pyproject.toml",
        "renovate.json",
        "ruff.toml",
        "rustfmt.toml",
        "tsconfig.json",
        "turbo.json",
        "uv.toml",
        "vercel.json",
        "wrangler.toml",
    }
)
_PACKAGE_PATTERN = re.compile(
    r".*\.d\.[cm]?ts"  # declarations without code
    r"|.*[.-]lock\.(?:json|toml|ya?ml)"
    r"|.*\.config\.(?:[cm]?js|json|ts)"
    r"|(?:js|ts)config\..*\.json"
)
_MAY_BE_PACKAGE = frozenset({".cjs", ".js", ".json", ".mjs", ".toml", ".ts", ".yaml", ".yml"})

PLAIN_EXTENSIONS = MappingProxyType({kind: tuple(known - _MAY_BE_PACKAGE) for kind, known in EXTENSIONS.items()})
"""Those that no package or lock file has: a name with one of them is an item's unless ``.`` or ``_`` begins it."""


def split_name(item_type: ItemType, filename: str) -> tuple[str, str]:
    """Return stem and lower-case extension of an item's file name, or two empty strings when it is no item.

    Hidden files and files whose name starts with ``_`` are no items, nor are package and lock files.
    """
    stem, dot, extension = filename.rpartition(".")
    suffix = dot + extension.lower()
    if suffix not in EXTENSIONS[item_type] or not stem or stem[0] in "._":
        return "", ""
    if suffix in _MAY_BE_PACKAGE:
        lowered = filename.lower()
        if lowered in _PACKAGE_FILES or _PACKAGE_PATTERN.fullmatch(lowered):
            return "", ""
    return stem, suffix


def is_item_file(item_type: ItemType, filename: str) -> bool:
    """Return whether a file of this name, without its folders, in the folder of ``item_type`` is an item.

    >>> is_item_file(ItemType.TOOL, "deploy.py"), is_item_file(ItemType.TOOL, "package.json")
    (True, False)
    """
    return split_name(item_type, filename) != ("", "")
