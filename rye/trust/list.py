"""Signed lists of files: of a skill (``SKILL.sig`` in its folder), and of a space or bundle (``rye.list`` in its root).

A list is text. It starts with v2 signature lines, each over every byte below them. In the list of a space, three lines
follow: ``name``, ``number`` and ``expires``. Then comes a line for each file below the folder, ``MODE SP SHA256 SP PATH
LF``, sorted by the bytes of the paths. Modes are written as git writes them.

    >>> from datetime import UTC
    >>> body = write_list("demo", 1, datetime(2027, 1, 1, tzinfo=UTC), [ListedFile("a.md", "100644", "0" * 64)])
    >>> body.decode().splitlines()[:3]
    ['name: demo', 'number: 1', 'expires: 2027-01-01T00:00:00Z']
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple, Unpack

from rye._text import has_invisible
from rye.errors import SigningError
from rye.trust.keys import PublicKey
from rye.trust.line import (
    DETACHED_SUFFIX,
    ParsedLine,
    SigningTerms,
    decode_signature,
    message_of,
    parse_line,
    sign_detached,
)
from rye.trust.model import EnvelopeFormat, Place, Placement, as_utc

SKILL_SIGNATURE: Final = "SKILL.sig"
"""The file in a skill's folder that contains its signature and list."""

BUNDLE_FILE: Final = "skill.oms.sig"
"""The file in a skill's folder that contains its OpenSSF Model Signing bundle (:mod:`rye.trust.oms`)."""

# Rye's own signature comes first: it also binds the modes and the place of the skill. A user who reviewed and signed a
# skill of somebody else wants that signature to be used, not the one that came with the skill.
SKILL_SIGNATURES: Final = (SKILL_SIGNATURE, BUNDLE_FILE)
"""The files that may sign a skill as a whole; if both exist, the first is used."""

LIST_FILE: Final = "rye.list"
"""The file in the root of a space or bundle that contains its list."""

MAX_SKILL_FILES: Final = 2_000
"""Files of a signed skill."""
MAX_SKILL_BYTES: Final = 1 << 28
"""Bytes of all files of a signed skill."""
MAX_LIST_BYTES: Final = 1_000_000
"""Bytes of the list of a signed skill."""

MAX_SPACE_LIST: Final = 1 << 25
"""Maximum size in bytes of the list of a space."""

MODES: Final = frozenset({"100644", "100755", "120000"})
"""The modes that a list may contain: file, executable file, and link."""

_REGULAR: Final = MODES - {"120000"}
_ROW: Final = re.compile(r"([0-7]{6}) ([0-9a-f]{64}) (.+)")
_HEADER: Final = re.compile(r"name: (.{1,200})\nnumber: ([1-9]\d{0,8})\nexpires: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\n")
_CONFLICT: Final = re.compile(rb"^(?:<<<<<<<|>>>>>>>) ", re.MULTILINE)
_SIGNATURE: Final = b"rye:signed:"
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_MAX_SIGNATURES: Final = 64
_NUMBERS: Final = 10**9
_FAULTS: Final = MappingProxyType(
    {
        "list-signature": "a signature of the list does not match: {}",
        "list-signer": "the list is signed with {}",
        "list-expired": "the list expired on {}",
    }
)
_NAMED: Final = 5


class ListedFile(NamedTuple):
    """A file of a list: its path below the folder, its mode as git writes it, and the SHA-256 of its bytes.

    For a link, the SHA-256 is that of its target path. It is empty if no bytes were read. The mode of a pipe, socket or
    device is empty.
    """

    path: str
    mode: str
    sha256: str = ""


@dataclass(frozen=True, eq=False)
class SkillFolder:
    """The folder of a skill at one moment; values derived from its files are computed once for all of them.

    Attributes:
        id: The id of its directive.
        data: The bytes of its signature file; None without one, if the item has a signature line.
        files: All files in the folder except the signature file, each with its digest if there is one.
        name: The name of its signature file, one of :data:`SKILL_SIGNATURES`.
        hidden: A sentence for each file except ``SKILL.md`` with text that a reader does not see.
        contents: The bytes of items in the folder, as they were hashed, by their paths in it; not of many or long ones.
    """

    id: str
    data: bytes | None
    files: tuple[ListedFile, ...]
    name: str = SKILL_SIGNATURE
    hidden: tuple[str, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Path → SHA-256 hex of each file."""
        return {file.path: file.sha256 for file in self.files}

    @cached_property
    def digest(self) -> str:
        """SHA-256 hex of the list of the files."""
        return hashlib.sha256(write_rows(self.files)).hexdigest()

    @cached_property
    def change(self) -> str:
        """How the files differ from the list in ``SKILL.sig``, as :func:`difference` says it."""
        return difference((self.data or b"").partition(b"\n")[2], self.files)


class Skill(NamedTuple):
    """A file in a skill, by its path below the skill's folder."""

    folder: SkillFolder
    path: str


class SpaceList(NamedTuple):
    """The parsed list of a space or bundle: what its bytes say, whoever signed them.

    Attributes:
        name: The name of the repository or bundle, or ``user``.
        number: Grows by one with each new version.
        expires: The time when the list expires.
        files: Path → file.
        lines: The signature lines.
        digest: SHA-256 hex of the bytes that they sign.
    """

    name: str
    number: int
    expires: datetime
    files: Mapping[str, ListedFile]
    lines: tuple[ParsedLine, ...]
    digest: str

    def holds(self, line: ParsedLine, key: PublicKey) -> bool:
        """Return whether a signature line of the list is a valid signature by a key, for the place that it states."""
        signature = decode_signature(line.signature, line.format)
        message = message_of(line, Placement.LIST)
        is_of_list = line.digest == self.digest and line.stated.startswith("list:")
        return is_of_list and signature is not None and key.verify(signature, message)


class Seen(NamedTuple):
    """The last valid list of a space that was seen here: its number, and the SHA-256 hex of its signed bytes."""

    number: int
    digest: str

    def older(self, listed: SpaceList) -> str:
        """Return in words that a list is older than this one, or differs under the same number; else empty."""
        if listed.number < self.number:
            return f"the list has number {listed.number}, and number {self.number} was seen before"
        if listed.number == self.number and listed.digest != self.digest:
            return f"another list with number {listed.number} was seen before"
        return ""


class ListSigner(NamedTuple):
    """A key that may sign a list, its owner as the trust file names it, and the line that it signed the list with."""

    fingerprint: str
    owner: str
    line: ParsedLine

    def __str__(self) -> str:
        return f"{self.owner} {self.fingerprint}".strip()


class ListClaim(NamedTuple):
    """A list, and the keys that signed it and may do so; there is at least one, else it is a :class:`ListFault`.

    Attributes:
        listed: The list.
        signers: Each key once.
    """

    listed: SpaceList
    signers: tuple[ListSigner, ...]

    @property
    def line(self) -> ParsedLine:
        """The line of the first signer."""
        return self.signers[0].line


class ListFault(NamedTuple):
    """Why a list does not count.

    Attributes:
        code: ``list-malformed``, ``list-conflict``, ``list-signature``, ``list-signer``, ``list-name``,
            ``list-expired`` or ``list-rollback``.
        detail: The same in words, for the template of the code.
        listed: The list, which nobody who counts may have signed; None if it cannot be read.
    """

    code: str
    detail: str
    listed: SpaceList | None = None

    @property
    def line(self) -> ParsedLine | None:
        """The first signature line; None if the list cannot be read."""
        return self.listed.lines[0] if self.listed else None

    @property
    def words(self) -> str:
        """The fault as a sentence."""
        return _FAULTS.get(self.code, "{}").format(self.detail)


ListState = ListClaim | ListFault


class ListedSpace(NamedTuple):
    """The list of a space and what it proves under the keys of a run; made once, before any file is judged.

    Attributes:
        place: The place of the list; its path is that of the listed folder.
        state: What the list proves.
        behind: Path of each listed link that leads to a listed file → SHA-256 hex of that file.
    """

    place: Place
    state: ListState
    behind: Mapping[str, str] = {}

    def digest_of(self, path: str) -> str:
        """Return the listed SHA-256 hex of a file, given its path as in :class:`rye.trust.model.Place`.

        Empty if the list does not name the file, or also names its detached signature, which the list cannot replace.
        """
        files, inside = self.state.listed.files if self.state.listed else {}, f"{self.place.path}/".lstrip("/")
        path = path.removeprefix(inside)
        if path not in files or f"{path}{DETACHED_SUFFIX}" in files:
            return ""
        return self.behind.get(path, files[path].sha256)


class Change(NamedTuple):
    """How a file differs from a list.

    Attributes:
        code: ``file-added``, ``file-removed``, ``file-changed`` or ``file-mode``.
        path: The path of the file below the folder.
        message: The same in words.
        sha256: Digest of the file on disk, or the listed digest of a missing file; empty without either.
    """

    code: str
    path: str
    message: str
    sha256: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the attributes by name."""
        return self._asdict()


def write_rows(files: Iterable[ListedFile]) -> bytes:
    """Return the lines of the files, sorted by the bytes of their paths."""
    rows = sorted((path.encode("utf-8", "surrogateescape"), mode, digest) for path, mode, digest in files)
    return b"".join(b"%b %b %b\n" % (mode.encode(), digest.encode(), path) for path, mode, digest in rows)


def read_rows(rows: bytes) -> dict[str, ListedFile]:
    """Return the files of a list by path; lines that do not name a file are left out."""
    matches = (_ROW.fullmatch(row) for row in rows.decode("utf-8", "surrogateescape").split("\n")[:-1])
    return {row[3]: ListedFile(row[3], row[1], row[2]) for row in matches if row}


def sign_skill(files: Iterable[ListedFile], **terms: Unpack[SigningTerms]) -> bytes:
    """Return the content of ``SKILL.sig``: one signature line, and the list of the files.

    Arguments and errors as for :func:`rye.trust.line.sign_detached`; ``origin`` is that of the skill's directive.
    """
    rows = write_rows(files)
    return sign_detached(rows, placement=Placement.SKILL, **terms) + rows


def write_list(name: str, number: int, expires: datetime, files: Sequence[ListedFile]) -> bytes:
    """Return the bytes of a space's list that its signatures cover.

    Raises:
        SigningError: ``unlistable``: a name or a file cannot be listed.
    """
    why = (
        _unlistable_names([*files, ListedFile(LIST_FILE, "100644")])
        if is_clear(name) and len(name) <= 200
        else f"the name {name!r} cannot be written"
    )
    if not why and not 0 < number < _NUMBERS:
        why = f"its number would be {number}, and numbers have at most nine digits"
    if why or (unread := [file.path for file in files if file.mode not in MODES]):
        why = why or f"pipes, sockets and devices cannot be listed: {shown_names(unread)}"
        raise SigningError("unlistable", why, hint="rename or remove them, and sign again")
    header = f"name: {name}\nnumber: {number}\nexpires: {as_utc(expires).strftime(_TIME)}\n"
    return header.encode() + write_rows(files)


def add_signature(data: bytes, **terms: Unpack[SigningTerms]) -> bytes:
    """Return a list with one more signature line on top; ``origin`` is the place of a list."""
    body = data[_end_of_signatures(data) :]
    return sign_detached(body, placement=Placement.LIST, **terms) + data


def _end_of_signatures(data: bytes) -> int:
    at = 0
    while data.startswith(_SIGNATURE, at) and (end := data.find(b"\n", at)) >= 0:
        at = end + 1
    return at


def parse_list(data: bytes) -> SpaceList:
    """Parse the list of a space.

    Raises:
        SigningError: ``list-conflict``: it contains git's marks of a merge conflict; ``list-malformed``.
    """
    if _CONFLICT.search(data):
        message = f"{LIST_FILE} holds the marks of a merge conflict"
        raise SigningError("list-conflict", message, hint="merge the files first, then: rye sign list")
    start = _end_of_signatures(data)
    lines = [parse_line(f"# {row}") for row in data[:start].decode("utf-8", "replace").split("\n")[:-1]]
    body = data[start:]
    digest = hashlib.sha256(body).hexdigest()
    header = _HEADER.match(body.decode("utf-8", "surrogateescape"))
    good = [line for line in lines if line and line.format is EnvelopeFormat.V2 and line.digest == digest]
    if header is None or len(good) != len(lines) or not 0 < len(lines) <= _MAX_SIGNATURES:
        what = "its header is not name, number and expires" if header is None else "a signature line is not of its text"
        raise _malformed(what)
    head = header[0].encode("utf-8", "surrogateescape")
    files = read_rows(body[len(head) :])
    if head + write_rows(files.values()) != body or any(file.mode not in MODES for file in files.values()):
        raise _malformed("its rows are not MODE SHA256 PATH, each path once and in the order of their bytes")
    try:
        expires = datetime.fromisoformat(header[3])
    except ValueError:
        raise _malformed(f"{header[3]} is not a time") from None
    return SpaceList(header[1], int(header[2]), expires, files, tuple(good), digest)


def _malformed(what: str) -> SigningError:
    hint = f"get {LIST_FILE} again from its owner, or write it anew: rye sign list"
    return SigningError("list-malformed", f"{LIST_FILE} cannot be read: {what}", hint=hint)


def compare(listed: Mapping[str, ListedFile], on_disk: Mapping[str, ListedFile]) -> tuple[Change, ...]:
    """Return how the files of a folder differ from a list, one change for each file, sorted by path.

    Args:
        listed: The files of the list by path.
        on_disk: The files on disk by path.
    """
    paths = sorted({*listed, *on_disk})
    return tuple(filter(None, (_change(path, listed.get(path), on_disk.get(path)) for path in paths)))


def _change(path: str, listed: ListedFile | None, on_disk: ListedFile | None) -> Change | None:
    shown = shown_names([path])
    if listed is None:
        return Change("file-added", path, f"{shown} is not on the list", on_disk.sha256 if on_disk else "")
    if on_disk is None:
        return Change("file-removed", path, f"{shown} is on the list and is missing", listed.sha256)
    if on_disk.sha256 != listed.sha256:
        return Change("file-changed", path, f"{shown} differs from the file on the list", on_disk.sha256)
    if on_disk.mode != listed.mode:
        words = f"{shown} has mode {on_disk.mode}, the list says {listed.mode}"
        return Change("file-mode", path, words, on_disk.sha256)
    return None


_WORDS: Final = {
    "file-added": "added",
    "file-removed": "removed",
    "file-changed": "changed",
    "file-mode": "mode changed",
}


def difference(rows: bytes, files: Sequence[ListedFile]) -> str:
    """Return how the files of a skill differ from its signed list, by name; empty if they do not."""
    if wrong := unlistable(files):
        return wrong
    if write_rows(files) == rows:
        return ""
    words = shown_changes(compare(read_rows(rows), {file.path: file for file in files}))
    return words or "the list of its files is not in canonical form"


def shown_changes(changes: Sequence[Change]) -> str:
    """Return in words which files were added, removed or changed; empty for no changes."""
    groups = {word: [change.path for change in changes if change.code == code] for code, word in _WORDS.items()}
    return "; ".join(f"{word}: {shown_names(paths)}" for word, paths in groups.items() if paths)


def unlistable(files: Sequence[ListedFile]) -> str:
    """Return why a folder with these files cannot be a signed skill; empty if it can."""
    if len(files) > MAX_SKILL_FILES:
        return f"it has more than {MAX_SKILL_FILES:,} files"
    if len(write_rows(files)) > MAX_LIST_BYTES:
        return f"the list of its files has more than {MAX_LIST_BYTES:,} bytes"
    if unsuitable := [file.path for file in files if file.mode not in _REGULAR]:
        return f"links and other things that are not regular files cannot be signed: {shown_names(unsuitable)}"
    if not all(file.sha256 for file in files):
        return f"its files have more than {MAX_SKILL_BYTES:,} bytes"
    return _unlistable_names([*files, ListedFile(SKILL_SIGNATURE, "100644")])


def _unlistable_names(files: Iterable[ListedFile]) -> str:
    """Return which names cannot be listed: deceptive ones, and those that collide if case is ignored."""
    paths = [file.path for file in files]
    if unclear := [path for path in paths if not is_clear(path)]:
        return f"names have invisible characters or a backslash: {shown_names(unclear)}"
    seen: dict[str, str] = {}
    for path in paths:
        if (other := seen.setdefault(unicodedata.normalize("NFKC", path).casefold(), path)) != path:
            return f"on systems that ignore case, these names are equal: {shown_names([other, path])}"
    return ""


def uncovered(left_out: Sequence[str]) -> str:
    """Return in words which files of a skill its signature leaves out; empty if there are none."""
    left_out = sorted(left_out)
    count = "1 file of the skill is" if len(left_out) == 1 else f"{len(left_out)} files of the skill are"
    return f"{count} not covered: {shown_names(left_out)}" if left_out else ""


def is_clear(path: str) -> bool:
    """Return whether a path or name has no backslash and no invisible characters."""
    return path.isprintable() and "\\" not in path and not has_invisible(path)


def shown_names(paths: Sequence[str]) -> str:
    """Return the first few paths, with deceptive letters escaped, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(path if path.isascii() and path.isprintable() else ascii(path) for path in paths[:_NAMED]) + more
