"""The result of a verification: verdicts, findings, and files that could not be checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

from rye._report import Report
from rye._text import Advice
from rye.errors import RyeError
from rye.spaces.lists import ListReport
from rye.spaces.model import InSpace, ItemFile, Root
from rye.trust.list import LIST_FILE, Change, ListedFile
from rye.trust.model import Place, Signature

EDITED: Final = frozenset({"digest", "line-ends", "skill-changed", "skill-rewritten", "list-changed"})
"""Codes of files whose bytes differ from the signed ones, perhaps because the signer edited them."""

_MERGED: Final = EDITED | {"envelope-elsewhere", "two-envelopes"}
"""Codes of files that may contain a merge conflict."""


class _Verified(NamedTuple):
    """The fields of :class:`VerifiedItem`; separate because a named tuple cannot have a mixin."""

    root: Root
    file: ItemFile
    signature: Signature
    line: int = 1
    digest: str = ""
    length: int = 0
    hidden: str = ""
    content_digest: str = ""
    conflict: str = ""
    imports: tuple[str, ...] = ()
    parts: tuple[ListedFile, ...] = ()


class VerifiedItem(InSpace, _Verified):
    """The verdict on one file. A named tuple, like :class:`rye.trust.model.Signature` and for the same reason.

    Attributes:
        root: The root that contains the file.
        file: The path below the root, with the type and id of the item.
        signature: The verdict.
        line: The line on which its signature is or should be.
        digest: SHA-256 hex of the judged bytes; in a skill, SHA-256 hex of the hex digest of the list of its files, a
            line feed and the judged bytes.
        length: Number of judged bytes.
        hidden: A sentence about text in the file or skill that a reader does not see; empty if there is none.
        content_digest: SHA-256 hex of the judged bytes alone; empty if ``digest`` is.
        conflict: A sentence about a merge conflict in a file that was edited after it was signed; else empty.
        imports: Non-items that an instruction file imports, below the root.
        parts: The files of the skill that a ``SKILL.md`` stands for, if a list covers them too.
    """

    __slots__ = ()

    @property
    def place(self) -> Place:
        """What a signature of it is for."""
        return self.root.origin(self.type, self.id, self.file.rel_path)

    @property
    def type(self) -> str:
        """``directive``, ``tool`` or ``knowledge``."""
        return str(self.file.item_type)

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.file.item_id

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return f"{self.root.path}/{self.file.rel_path}"

    @property
    def ref(self) -> str:
        """``type:id``."""
        return f"{self.type}:{self.id}"

    @property
    def verdict(self) -> str:
        """The verdict of its signature."""
        return self.signature.verdict.value

    def to_dict(self) -> dict[str, Any]:
        """Return where it is and the seven facts of its signature, flat."""
        return _where(self) | {"line": self.line, "digest": self.digest} | self.signature.to_dict()


def conflict_in(data: bytes, code: str) -> str:
    """Return a sentence if a file whose signature has this code contains a merge conflict; else empty."""
    if code not in _MERGED:
        return ""
    from rye.keyring.validate import conflict_problem  # few files are looked at

    return conflict_problem(data)


@dataclass(frozen=True, slots=True)
class Violation(InSpace):
    """A file that differs from the list of its space, a file that nothing covers, or the list itself.

    Attributes:
        root: A root that the list covers, or that contains the file.
        path: The absolute path of the file, which may be missing, or of the list.
        change: What is wrong, with the path below the folder of the list, or below the root.
        line: Always 1.
        verdict: ``violation``, in place of a verdict.
    """

    root: Root
    path: str
    change: Change
    line: int = 1
    verdict: str = "violation"

    @property
    def type(self) -> str:
        """``file``, ``list`` or ``skill``."""
        if self.change.code in {"lock-changed", "lock-missing"}:
            return "skill"
        return "list" if self.change.path == LIST_FILE else "file"

    @property
    def id(self) -> str:
        """Its path below the folder of the list, or below the root."""
        return self.change.path

    @property
    def ref(self) -> str:
        """``file:PATH`` or ``list:rye.list``."""
        return f"{self.type}:{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """Return its facts and place by name."""
        return _where(self) | {"digest": self.change.sha256, "line": self.line, "verdict": self.verdict}


def _where(item: VerifiedItem | Violation) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("type", "id", "space", "bundle", "path")}


class Accepted(NamedTuple):
    """A finding that a policy accepts; if any of the four fields changes, it is a different finding.

    ``path`` is relative to the project, or to the working directory without one; absolute elsewhere. ``mode`` is
    ``100644`` or, for an executable file, ``100755``; ``120644`` or ``120755`` if it is reached by a link, ``040000``
    for a folder, empty if nothing is there. ``digest`` covers every byte that the finding is about.
    """

    path: str
    mode: str
    code: str
    digest: str

    @property
    def key(self) -> str:
        """64 hex digits that identify it."""
        return sha256(json.dumps(self).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Finding:
    """An item that does not meet the demands, or a violation of a list.

    Attributes:
        item: The item or violation.
        code: The reason code of the verdict, of the policy's demand, or of the list check.
        reason: The same in words.
        advice: What to do: a shell command, and what to know before running it, or what to do instead.
        identity: The fields that a policy must name to accept it; None if nobody asked, as every byte must be read.
        accepted: Whether the policy accepts it.
    """

    item: VerifiedItem | Violation
    code: str
    reason: str
    advice: Advice
    identity: Accepted | None = None
    accepted: bool = False

    @property
    def fix(self) -> str:
        """The shell command that fixes it; empty if there is none."""
        return self.advice.command

    @property
    def note(self) -> str:
        """What to know before running it, or what to do instead. No shell should read it."""
        return self.advice.words

    def to_dict(self) -> dict[str, Any]:
        """Return the facts of the item, ``code``, ``reason``, ``fix``, ``note``, ``accepted``, ``mode`` and ``key``."""
        facts = {name: getattr(self, name) for name in ("code", "reason", "fix", "note", "accepted")}
        if self.identity is not None:
            facts |= {"mode": self.identity.mode, "key": self.identity.key}
            if isinstance(self.item, Violation):
                facts["digest"] = self.identity.digest
        return self.item.to_dict() | facts


@dataclass(frozen=True, slots=True)
class Unchecked(Report):
    """A file or target without a verdict, and why; ``str`` is the sentence."""

    message: str
    code: str = ""
    hint: str = ""
    path: str = ""

    @classmethod
    def of(cls, error: RyeError, path: object, root: Root | None = None) -> Unchecked:
        """Return the entry for an error about a path; its message then begins with the source of its root."""
        return cls(f"{root.source}: {error.message}" if root else error.message, error.code, error.hint, str(path))

    def __str__(self) -> str:
        return self.message


Entry = VerifiedItem | Finding | Unchecked
"""What a verification yields: an item that is well, one that is not or a fault of a list, and what has no verdict."""

Outcome = VerifiedItem | Unchecked
"""The result of reading one file."""


@dataclass(slots=True)
class NestedRepository:
    """A repository in the verified folder. It is a project of its own, with its own counts.

    Attributes:
        path: Its folder, below the project.
        known: Whether git knows it as a submodule or work tree of the repository around it.
        counts: Number of its items by verdict.
        findings: Number of its findings that the policy does not accept.
    """

    path: str
    known: bool
    counts: Counter[str] = field(default_factory=Counter)
    findings: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return {"path": self.path, "known": self.known, "counts": dict(self.counts), "findings": self.findings}


@dataclass(frozen=True, slots=True)
class VerifyReport(Report):
    """The result of a verification.

    An item may be trusted and yet differ from the list: all is well only if no list has ``errors``.

    Attributes:
        items: Every requested item with its verdict; empty if the caller took them one by one.
        counts: Number of items by verdict, a signed skill with all its files once.
        findings: Number of findings that the policy does not accept, including those about lists.
        accepted: Number of findings that it accepts.
        unchecked: Files, targets and lists that could not be checked.
        warnings: Keys and bundles that could not be used, items that hide another signer's, notes on lists.
        lists: The report of the list of each space that was requested entirely, if it has or had one.
        repositories: The nested repositories with items, each counted by itself.
        status: 0 all well, 1 findings, 2 something could not be checked, or there was nothing to check.
        found: Each finding with what to do about it; empty if the caller took them one by one. Not in the JSON, like
            ``parts``.
        parts: The paths of items that are counted with their signed skill, under another of its files.
    """

    items: tuple[VerifiedItem, ...]
    counts: Mapping[str, int]
    findings: int = 0
    accepted: int = 0
    unchecked: tuple[Unchecked, ...] = ()
    warnings: tuple[str, ...] = ()
    lists: tuple[ListReport, ...] = ()
    repositories: tuple[NestedRepository, ...] = ()
    status: int = 0
    found: tuple[Finding, ...] = ()
    parts: frozenset[str] = frozenset()

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each file, target or list that could not be checked."""
        return tuple(unchecked.message for unchecked in self.unchecked)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes but ``found`` and ``parts``, and ``problems``."""
        attributes = Report.to_dict(replace(self, found=(), parts=frozenset()))
        del attributes["found"], attributes["parts"]
        return attributes | {"problems": list(self.problems)}
