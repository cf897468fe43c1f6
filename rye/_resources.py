"""Files installed with rye: the query grammar and its signed items; and which distribution owns these files.

A wheel has both below ``rye/_bundled``; a checkout has them at its top level.

    >>> grammar_text().lstrip().startswith("//")
    True
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_DISTRIBUTION = "rye-search"
_OWN = frozenset(
    {
        *("cli", "cluster", "embedding", "index", "items", "keyring", "mcp", "options", "query", "registry", "search"),
        *("spaces", "surface", "trust", "verify", "web"),
        *("__init__.py", "__main__.py", "_files.py", "_process.py", "_report.py", "_resources.py", "_text.py"),
        "errors.py",
    }
)
"""Names in the package's folder; any other module there belongs to another distribution."""

OWN_KEY = "YuLEHVw0NS3TgyKPBuMRV59RtqCh70VbPsk4+EJ4Wqc="
"""Base64 of the public key that signs the list of rye's own items; ``poe sign`` writes it here."""


def _root() -> Path:
    bundled = _PACKAGE / "_bundled"
    return bundled if bundled.is_dir() else _PACKAGE.parent


def grammar_text() -> str:
    """Return the grammar of the query language, as Lark reads it."""
    return (_root() / "grammar" / "query.lark").read_text(encoding="utf-8")


def items_root() -> Path:
    """Return the root of the bundle ``rye``: the folder with its signed items."""
    return _root() / "items"


def has_foreign_modules() -> bool:
    """Return whether the package's folder has a module of another distribution; only lists the folder."""
    foreign = [name for name in os.listdir(_PACKAGE) if name not in _OWN]  # noqa: PTH208 - a Path for each takes time
    return any(name.endswith(".py") or os.path.exists(_PACKAGE / name / "__init__.py") for name in foreign)  # noqa: PTH110


def mixed_install() -> tuple[str, bool]:
    """Return what is wrong if another distribution has files in rye's folder, and whether rye itself is broken.

    Empty if no other distribution lists files there; else every file on rye's own list is read and hashed.
    """
    import base64
    import hashlib
    from importlib.metadata import distributions

    folder, foreign, own, changed = _PACKAGE.parent, [], [], []
    for distribution in distributions(path=[str(folder)]):
        files = [file for file in distribution.files or () if file.parts[0] == _PACKAGE.name]
        if distribution.name == _DISTRIBUTION:
            own += files
        elif files:
            foreign.append(f"{distribution.name} {distribution.version}")
    if not foreign:
        return "", False
    for file in own:
        try:
            digest = hashlib.sha256((folder / file).read_bytes()).digest()
        except OSError:
            digest = b""
        if file.hash and base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            changed.append(str(file))
    named = ", ".join(sorted(foreign))
    if changed:
        some = ", ".join(sorted(changed)[:3]) + (", …" if len(changed) > 3 else "")
        return f"{_PACKAGE} also belongs to {named}, which replaced {some}: rye does not work here", True
    return f"{_PACKAGE} also belongs to {named}, whose files rye may have replaced: it may not work here", False
