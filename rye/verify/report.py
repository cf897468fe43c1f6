"""The answer of a verification: verdicts, findings, and files that could not be checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rye._report import Report
from rye._text import Advice
from rye.spaces.lists import ListReport
from rye.spaces.model import InSpace, ItemFile, Root
from rye.trust.model import Signature


class _Verified(NamedTuple):
    """The fields of :class:`VerifiedItem`, apart because a named tuple can have no mixin."""

    root: Root
    file: ItemFile
    signature: Signature
    line: int = 1
    digest: str = ""
    length: int = 0
    hidden: str = ""


class VerifiedItem(InSpace, _Verified):
    """The verdict on one file. A named tuple, as :class:`rye.trust.model.Signature` and for the same reason.

    Attributes:
        root: The root below which the file lies.
        file: Its path below the root, with the type and id that the path stands for.
        signature: The verdict.
        line: The line on which its signature stands or belongs.
        digest: SHA-256 hex of the bytes that were judged; in a skill, of the digest of the list of its files in hex, a
            line feed and these.
        length: How many bytes were judged.
        hidden: A sentence about text that a reader does not see, in the file or in the skill; empty without any.
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """``directive``, ``tool`` or ``knowledge``."""
        return str(self.file.item_type)

    @property
    def id(self) -> str:
        """The id that the path stands for."""
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
        place = {"type": self.type, "id": self.id, "space": self.space, "bundle": self.bundle, "path": self.path}
        return place | {"line": self.line, "digest": self.digest} | self.signature.to_dict()


@dataclass(frozen=True, slots=True)
class Violation(InSpace, Report):
    """A file that is not as the list of its space names it, a file that nothing covers, or the list itself.

    Attributes:
        root: A root that the list covers, or below which the file lies.
        type: ``file``, ``list`` or ``skill``.
        id: Its path below the folder of the list, or below the root.
        path: The file, which may be gone, or the list.
        digest: SHA-256 hex of the file; of a missing one as the list has it, of a list that of what is signed.
        line: Always 1.
        verdict: ``violation``, in the place of a verdict.
    """

    root: Root
    type: str
    id: str
    path: str
    digest: str
    line: int = 1
    verdict: str = "violation"

    @property
    def ref(self) -> str:
        """``file:PATH`` or ``list:rye.list``."""
        return f"{self.type}:{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """Return what it is about and where that is."""
        names = ("type", "id", "space", "bundle", "path", "digest", "line", "verdict")
        return {name: getattr(self, name) for name in names}


class Accepted(NamedTuple):
    """A finding that a policy accepts: a change of any of these four makes another finding.

    ``path`` is relative to the project, or to the working directory without one; absolute elsewhere. ``mode`` is
    ``100644`` or, of an executable file, ``100755``; ``120644`` or ``120755`` where it is reached by a link, ``040000``
    of a folder, empty where nothing is there. ``digest`` is the SHA-256 that :class:`VerifiedItem` has.
    """

    path: str
    mode: str
    code: str
    digest: str

    @property
    def key(self) -> str:
        """64 hex digits that stand for it."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()


NOT_PLACED: Final = Accepted("", "", "", "")
"""The identity of a finding that was not yet compared with a policy."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An item that does not meet what is demanded, or a violation of a list.

    Attributes:
        item: What it is about.
        code: The reason code of the verdict, or that of the policy's demand, or that of the list's check.
        reason: The same in words.
        fix: The command that fixes it, for a shell; empty where none does.
        note: What to know before it is run, or what to do instead. No shell should read it.
        identity: What a policy has to name to accept it.
        accepted: Whether the policy accepts it.
    """

    item: VerifiedItem | Violation
    code: str
    reason: str
    fix: str
    note: str = ""
    identity: Accepted = NOT_PLACED
    accepted: bool = False

    @property
    def advice(self) -> Advice:
        """What fixes it, and the words to it."""
        return Advice(self.fix, self.note)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts of the item, ``code``, ``reason``, ``fix``, ``note``, ``accepted``, ``mode`` and ``key``."""
        facts = {name: getattr(self, name) for name in ("code", "reason", "fix", "note", "accepted")}
        return self.item.to_dict() | facts | {"mode": self.identity.mode, "key": self.identity.key}


@dataclass(frozen=True, slots=True)
class Unchecked(Report):
    """A file or target on which there is no verdict, and why; ``str`` is the sentence."""

    message: str
    code: str = ""
    hint: str = ""
    path: str = ""

    def __str__(self) -> str:
        return self.message


PARTS_OF_SKILL: Final = frozenset({"skill-changed", "skill-rewritten"})
"""Codes of the items of a skill that is not what was signed. One of them is a finding, the others come as items."""


class Exposed(NamedTuple):
    """A phrase for each of some files and folders below a root that others may have written, and the root's number."""

    root: int
    others: tuple[str, ...]


Outcome = VerifiedItem | Unchecked
"""The result of reading one file."""


@dataclass(frozen=True, slots=True)
class VerifyReport(Report):
    """The result of a verification.

    An item may be trusted and yet not be the one that is listed: all is well if no list has ``errors``.

    Attributes:
        items: Every item asked for with its verdict; empty where a caller took them one by one.
        counts: Number of items by verdict, without rye's own where these are counted apart.
        manual: The same of rye's own, which are counted apart where neither targets nor one space were named.
        findings: How many findings there are that the policy does not accept, those about lists among them.
        accepted: How many it accepts.
        unchecked: Files, targets and lists that could not be checked.
        warnings: Keys and bundles that could not be used, items that hide one of another signer, notes on lists.
        lists: What was found in the list of each space of which everything was asked for, if it has or had one.
        status: 0 all well, 1 findings, 2 something could not be checked, or there was nothing to check.
    """

    items: tuple[VerifiedItem, ...]
    counts: Mapping[str, int]
    manual: Mapping[str, int] = field(default_factory=dict)
    findings: int = 0
    accepted: int = 0
    unchecked: tuple[Unchecked, ...] = ()
    warnings: tuple[str, ...] = ()
    lists: tuple[ListReport, ...] = ()
    status: int = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each file, target or list that could not be checked."""
        return tuple(each.message for each in self.unchecked)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes and ``problems``."""
        return Report.to_dict(self) | {"problems": list(self.problems)}
