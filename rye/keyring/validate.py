"""Checks an item before it is signed, because a signature would preserve every mistake in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from rye._text import has_invisible, inline
from rye.items.relations import references_in
from rye.items.values import version
from rye.spaces.model import Root
from rye.spaces.read import read_chunks, unreadable
from rye.spaces.signed import ReadItem
from rye.spaces.snapshot import PROGRAM
from rye.trust.evidence import disagreements
from rye.trust.line import COMMENT_MARKS, unsigned_bytes
from rye.trust.list import ListedFile

_TEXTS: Final = ("name", "title", "description", "category", "version", "author", "id")
_SCALARS: Final = (str, int, float)


_CODING = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_UTF_8 = {b"utf-8", b"utf8", b"utf_8", b"utf-8-sig", b"ascii", b"us-ascii"}
"""The comment in the first two lines by which Python selects another encoding, and the names of UTF-8."""
_PROGRAM = re.compile(rb"#![^\r\n]*python")
_CONFLICT = [re.compile(mark, re.MULTILINE) for mark in (rb"^<{7} ", rb"^={7}\r?$", rb"^>{7} ")]
"""The lines that git leaves, in this order, in a merge conflict."""


def faults(read: ReadItem, root: Root) -> tuple[str, ...]:
    """Return a sentence for each reason why an item cannot be signed; empty if it can.

    No metadata is required, but existing metadata must be valid. Files of clients follow their clients' rules for
    names.
    """
    item, own = read.item, root.client is None
    unversioned = []
    if own and item.version and version(item.version) is None:
        unversioned = [f"version {item.version!r} is not a version such as 1.0.0"]
    uncommentable = []
    if item.envelope and read.suffix not in COMMENT_MARKS:
        uncommentable = [f"a {read.suffix} file has no comments to hold a signature line; remove that line"]
    invisible = []
    if has_invisible(item.id):
        invisible = [f"the id has a character that shows nothing: {inline(item.id)}; rename the file"]
    return (
        *filter(None, [conflict_problem(read.data)]),
        *invisible,
        *filter(None, [encoding_problem(read.suffix, unsigned_bytes(read.data, read.suffix))]),
        *unversioned,
        *_mistyped(item.metadata),
        *_succeeded_by_several(item.metadata),
        *(disagreements(item.declared, read.origin.type, read.origin.id) if own else ()),
        *uncommentable,
    )


def conflict_problem(data: bytes) -> str:
    """Return a phrase that says where a merge conflict begins in a text; empty if there is none."""
    starts, at = list[int](), 0
    for mark in _CONFLICT:
        if (match := mark.search(data, at)) is None:
            return ""
        starts.append(match.start())
        at = match.end()
    line = 1 + data.count(b"\n", 0, starts[0])
    return f"a merge conflict begins at line {line}: resolve it, or indent it where it is an example"


def encoding_problem(suffix: str, data: bytes) -> str:
    """Return a phrase that names the encoding in which Python would run a file; empty if that is UTF-8.

    Rye shows every file as UTF-8, so Python would run another text.
    """
    named = _CODING.match(data) if suffix in {".py", ".pyw"} or _PROGRAM.match(data) else None
    if named is None or named[1].lower() in _UTF_8:
        return ""
    return f"its text is UTF-8, and Python runs it as {inline(named[1].decode('ascii'))}: remove that comment"


def program_problems(root: Root, folder: str, files: Iterable[ListedFile]) -> Iterator[str]:
    """Yield why the programs of a skill cannot be signed with it.

    Raises:
        ItemError: One of them cannot be read.
    """
    for path, mode, digest in files:
        suffix, rel_path = PurePosixPath(path).suffix.lower(), f"{folder}/{path}"
        if digest and (mode == PROGRAM or suffix in {".py", ".pyw"}):
            try:
                problem = encoding_problem(suffix, b"".join(read_chunks(root, rel_path)))
            except OSError as error:
                raise unreadable(rel_path, error) from None
            if problem:
                yield f"{path}: {problem}"


def _mistyped(metadata: Mapping[str, Any]) -> list[str]:
    """Return problems of metadata values with the wrong type for their key."""
    words = [
        f"{key} is {_kind(metadata[key])}, not text"
        for key in _TEXTS
        if metadata.get(key) is not None
        and (isinstance(metadata[key], bool) or not isinstance(metadata[key], _SCALARS))
    ]
    tags = metadata.get("tags")
    many = isinstance(tags, list) and not all(isinstance(tag, _SCALARS) for tag in tags)
    if many or not isinstance(tags, str | list | None):
        words.append(f"tags is {'a list of other things than text' if many else _kind(tags)}, not a list of texts")
    return words


def _succeeded_by_several(metadata: Mapping[str, Any]) -> list[str]:
    """Return problems of keys that name several successors; only the first would be used."""
    return [
        f"{key} names {len(successors)} items, but only one can replace it; put the others in references"
        for key in ("superseded_by", "replaced_by")
        if len(successors := references_in(metadata.get(key))) > 1
    ]


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list) else "a number"
