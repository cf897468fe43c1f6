"""Where a skill came from, as recorded by the tool that installed it. These records are not signed.

There is one reader for each record. Formats: github.com/vercel-labs/skills (``skills-lock.json`` version 1 and
``.skill-lock.json`` version 3), microsoft.github.io/apm/reference/lockfile-spec, github.com/stacklok/toolhive
(``toolhive.lock.yaml`` version 1), and the keys that ``gh skill`` writes into front matter; looked up on 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from rye.errors import ItemError
from rye.items import yaml
from rye.items.guarded import load_json

LOCK_FILE: Final = "skills-lock.json"
"""The record of ``npx skills`` in a project, the only one whose hashes rye compares."""

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_COMMIT: Final = 12
"""Number of digits of a commit that are shown."""


class Installed(NamedTuple):
    """An entry of a record.

    Attributes:
        name: The skill, as the record names it.
        source: Where it came from, with ``#`` and the version, tag or commit if there is one; not safe to show.
        sha256: The hash of its files in ``skills-lock.json``; else empty.
    """

    name: str
    source: str
    sha256: str = ""

    @property
    def folder(self) -> str:
        """The folder into which an installer puts a skill of this name."""
        return re.sub(r"[^a-z0-9._]+", "-", self.name.lower()).strip(".-")[:255]


def _with_version(source: str, version: str) -> str:
    return f"{source}#{version}" if version else source


def _read_project_lock(text: str) -> Iterator[Installed]:
    table = load_json(text)
    for name, row in table["skills"].items() if table["version"] == 1 else [("", {})]:
        source, digest = _with_version(row["source"], row.get("ref", "")), row["computedHash"]
        yield Installed(name, source, digest if _HASH.fullmatch(digest) else "")


def _read_user_lock(text: str) -> Iterator[Installed]:
    for name, row in load_json(text)["skills"].items():
        yield Installed(name, _with_version(row["source"], row.get("ref") or ""))


def _read_apm_lock(text: str) -> Iterator[Installed]:
    for row in yaml.load(text)["dependencies"]:
        version = row.get("resolved_ref") or (row.get("resolved_commit") or "")[:_COMMIT]
        for path in row.get("deployed_files") or ():
            folders = path.rstrip("/").split("/")
            if "skills" in folders[:-1]:
                yield Installed(folders[folders.index("skills") + 1], _with_version(row["repo_url"], version))


def _read_toolhive_lock(text: str) -> Iterator[Installed]:
    for row in yaml.load(text)["skills"] or ():
        yield Installed(row["name"], row.get("resolvedReference") or _with_version(row["source"], row["version"]))


_READERS: Final[Mapping[str, Callable[[str], Iterator[Installed]]]] = {
    LOCK_FILE: _read_project_lock,
    ".agents/.skill-lock.json": _read_user_lock,
    "apm.lock.yaml": _read_apm_lock,
    "toolhive.lock.yaml": _read_toolhive_lock,
}

RECORDS: Final = tuple(_READERS)
"""The files, below a project or the home folder, that record installed skills."""


def read_record(path: str, data: bytes) -> tuple[Installed, ...]:
    """Return the skills in a record.

    Args:
        path: One of :data:`RECORDS`.
        data: The bytes of the file.

    Raises:
        ItemError: ``unparsable``: it is not such a record.
    """
    try:
        entries = tuple(_READERS[path](data.decode("utf-8-sig")))
    except (ItemError, UnicodeDecodeError, TypeError, KeyError, AttributeError, IndexError):
        entries = (Installed("", ""),)
    if not all(map(_is_text, (text for entry in entries for text in entry[:2]))):
        message = f"{path} is not a record that rye can read"
        raise ItemError("unparsable", message, hint="let the tool that wrote it write it again", path=path)
    return entries


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def stated_source(metadata: Mapping[str, Any]) -> str:
    """Return the source of a skill that ``gh skill`` wrote into its metadata; empty if there is none.

    >>> stated_source({"metadata": {"github-repo": "https://github.com/a/b", "github-ref": "v1"}})
    'https://github.com/a/b#v1'
    """
    inner = metadata.get("metadata")
    keys = inner if isinstance(inner, Mapping) else {}
    repository, version = keys.get("github-repo"), keys.get("github-ref")
    if not isinstance(repository, str):
        return ""
    return _with_version(repository, version.removeprefix("refs/tags/") if isinstance(version, str) else "")
