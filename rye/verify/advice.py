"""What to do about a finding: a command ready to be copied into a shell, and words; or words alone.

A file that others may have changed is compared with the original, and never signed to make a finding go away. A file
that the user signed and then changed is reviewed and signed again. A command that would sign or discard a change
appears only in the words.

File names come from strangers: each is quoted as one word, an id that looks like a pattern is replaced by its path, and
none is placed where an option could be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from rye._text import Advice, quote
from rye.errors import EnvironmentFault, ItemError, RyeError
from rye.spaces.bundles import named_bundle
from rye.spaces.discover import find_project, is_published, user_space
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.read import skill_of
from rye.spaces.snapshot import is_listable
from rye.trust.list import Change
from rye.trust.model import Place, Verdict
from rye.trust.reasons import REASONS
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock
from rye.verify.originals import Originals

if TYPE_CHECKING:
    from rye.verify.report import VerifiedItem, Violation

_PATTERN: Final = re.compile(r"[*?\[]")
_ANEW: Final = "# ask its signer to sign it again"
_OF_POLICY: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "signer": ("# have a signer whom the policy demands sign it, or add its key to `signers` of the policy", ""),
        "format": (_ANEW, "rye sign {ref}"),
        "undated": (_ANEW, "rye sign {ref}"),
        "too-old": (_ANEW, "rye sign --force {ref}  # once you have checked that it is still right"),
        "dated-ahead": (_ANEW, "rye sign --force {ref}  # once the clocks are right"),
        "hidden-text": ("# remove it; if it belongs there, accept it: rye verify --policy FILE --accept", ""),
    }
)
"""Code of a policy fault → ``remedy`` and ``signing``; templates as in :data:`rye.trust.reasons.REASONS`."""

_OF_BUNDLE: Final = (
    "# get the bundle again from its source (a package: install it again), and compare the two with diff -r"
)
"""What to do about an item of a bundle that only its publisher can sign."""

_OF_UNSIGNED_BUNDLE: Final = (
    "# nobody signed it: read it before you follow it; if other items of the bundle are signed, get the bundle again "
    "from its source, and compare the two with diff -r"
)

_TRUST_BUNDLE: Final = "rye trust bundle {bundle}  # shows who signed it, and asks; for one run: --trust FILE"

_AS_BUNDLE: Final = frozenset({"limited", "foreign-key"})
"""Codes of signatures that may be accepted if the named project folder is verified as a bundle."""

_EDITED: Final = frozenset({"digest", "line-ends", "skill-changed", "skill-rewritten", "list-changed"})
"""Codes of files whose bytes differ from the signed ones, perhaps because the signer edited them."""


_MERGED: Final = _EDITED | {"envelope-elsewhere", "two-envelopes"}
"""Codes of files that may contain a merge conflict."""


class Remedy(NamedTuple):
    """What to do about a finding: the words for everybody, and the command for a user who may sign the list."""

    words: str
    command: str = ""


_SIGN: Final = "rye sign --list"
_NEWEST: Final = "get the newest version of all files from their owner, and compare"

REMEDIES: Final = MappingProxyType(
    {
        "file-added": Remedy("find out where it came from; remove it if nobody whom you trust put it there", _SIGN),
        "file-removed": Remedy("put the listed file back", _SIGN),
        "file-changed": Remedy("put the listed file back, and compare the two", _SIGN),
        "file-mode": Remedy("give it the mode that is listed", _SIGN),
        "uncovered": Remedy(
            "find out where it came from; accept it as it is (rye verify --strict --policy FILE --accept), "
            "or have a signed list cover it",
            _SIGN,
        ),
        "unknown-dot-name": Remedy(
            "read it, as a client may obey it; remove it, or name it under ignore in the policy"
        ),
        "nested-repository": Remedy(
            "find out where it came from; make it a submodule (git submodule add), or leave it out: --exclude"
        ),
        "link-elsewhere": Remedy("put a copy in its place and sign that, or remove the link"),
        "hidden-text": Remedy("remove it; if it belongs there, accept it: rye verify --policy FILE --accept"),
        "list-missing": Remedy("ask the owner of the space for a signed list", _SIGN),
        "list-gone": Remedy("put rye.list back; if its owner has given it up, forget it: rye sign --list --forget"),
        "list-malformed": Remedy(_NEWEST, _SIGN),
        "list-conflict": Remedy("merge the files first", _SIGN),
        "list-signature": Remedy(_NEWEST),
        "list-signer": Remedy(
            "rye trust add FILE  # the trust file of the signer, once its owner has confirmed the key"
        ),
        "list-expired": Remedy(_NEWEST, _SIGN),
        "list-name": Remedy("get the list of this space from its owner", _SIGN),
        "list-rollback": Remedy(f"{_NEWEST}; if its owner began again, forget the old one: rye sign --list --forget"),
        "lock-changed": Remedy("compare it with its source, and install it again: npx skills update"),
        "lock-missing": Remedy("install it again from its source, or remove it from skills-lock.json"),
        "list-number": Remedy(_NEWEST),
        "list-signers": Remedy("have more of its signers add theirs: rye sign --list --add"),
        "signer": Remedy("have a signer whom the policy demands add a signature: rye sign --list --add"),
        "format": Remedy(_NEWEST),
        "list-unrecorded": Remedy("set RYE_STATE_DIR to a folder that you can write to"),
    }
)
"""Code of each finding about a list → what to do."""


class Signers(NamedTuple):
    """The keys whose private half the user holds.

    Attributes:
        keys: Fingerprint → the option that names the key.
        trust: The keys that the user trusts.
        now: The time at which they are asked.
        unread: What to do so that the user's trust files are read; empty if they are.
    """

    keys: Mapping[str, str] = MappingProxyType({})
    trust: TrustSet = TrustSet()
    now: datetime = datetime(1, 1, 1, tzinfo=UTC)
    unread: str = ""

    @classmethod
    def find(cls) -> Signers:
        """Return the user's keys, the default key of ``rye sign`` first."""
        from rye.keyring.key_files import DEFAULT_KEY, KEY_VARIABLE
        from rye.keyring.private import Keyring

        try:
            keyring = Keyring.find()
            default = KEY_VARIABLE if keyring.is_in_environment else DEFAULT_KEY
            known = [key for key in keyring.list() if key.fingerprint]
            load = keyring.trust.load()
        except (OSError, RyeError):
            return cls()
        known.sort(key=lambda key: key.name != default)
        keys: dict[str, str] = {}
        for key in known:
            keys.setdefault(key.fingerprint, "" if key.name == default else f" --key {quote(key.name)}")
        unread = next((f"{folder.path} is not read: {folder.fault.hint}" for folder in load.unreadable), "")
        return cls(keys, load.trust, system_clock(), unread)

    def option(self, origin: Place) -> str | None:
        """Return the option for a key that may sign at an origin; empty for the default key; None if there is none."""
        options = (option for key, option in self.keys.items() if self.trust.may_sign(key, origin, self.now).is_allowed)
        return next(options, None)


@dataclass(frozen=True, slots=True)
class Adviser:
    """Advises a user in the folder ``here``, where commands find ``project``, but not the roots ``named``.

    ``named`` maps each of these roots to the path that names its bundle.
    A project's items are signed for the ``audience`` that was demanded.
    """

    here: str
    project: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    signers: Callable[[], Signers] = Signers
    audience: str = ""
    _original: Callable[[Root], Originals] = field(default_factory=lambda: cache(Originals), repr=False, compare=False)

    @classmethod
    def find(cls, named: Iterable[Root] = (), audience: str = "") -> Adviser:
        """Return an adviser for a user in the working directory.

        Args:
            named: Roots that commands find only if they are named.
            audience: The audience that a project's signatures must name.
        """
        paths = {str(root.path): str(root.path if root.client is None else root.around) for root in named}
        try:
            here = Path.cwd()
            project = find_project(here, user=user_space())
        except (OSError, EnvironmentFault):
            return cls("", named=paths)
        return cls(str(here), "" if project is None else str(project), paths, cache(Signers.find), audience)

    def of_item(self, item: VerifiedItem, code: str) -> Advice:
        """Return what to do about an item's verdict or a policy fault; empty if all is well.

        Args:
            item: The file.
            code: The code of the reason or of the policy's demand.
        """
        reason = REASONS.get(code)
        remedy, signing = (reason.remedy, reason.signing) if reason is not None else _OF_POLICY[code]
        if not remedy:
            return Advice("", "")
        if code in _AS_BUNDLE and item.space == "project" and item.bundle and is_published(item.root):
            return _as_bundle(quote(str(item.root.around)), code)
        if code in _MERGED and (conflict := _conflict(item)):
            return Advice("", conflict)  # resolve the conflict before asking who may sign
        if code in {"unknown-key", "oms-root"} and (unread := self.signers().unread):
            return Advice("", unread)
        if code == "unknown-key" and item.signature.signer in self.signers().keys:
            return Advice(f"rye trust add {item.signature.signer}", "your own key, which you do not trust yet")
        if code == "foreign-key" and item.space == "system":
            remedy = _TRUST_BUNDLE
        is_unsigned = code == "no-envelope"
        key = self._signing_key(item)
        facts = self._facts(item, key)
        if item.verdict in {Verdict.UNSIGNED, Verdict.PARTIAL} and self.was_signed(item.root, item.file.rel_path):
            key, remedy = None, remedy if item.space == "system" else REASONS["digest"].remedy
        if code in _EDITED and (key is not None or item.space == "project"):
            return self._of_edited(item, code, remedy, facts, is_own=key is not None)
        if key is not None and signing:
            return self._sign(item, Advice.read(signing.format(**facts)))
        if item.space == "system" and remedy.startswith("# "):
            remedy = _OF_UNSIGNED_BUNDLE if is_unsigned else _OF_BUNDLE
            remedy = remedy.replace("# ", "# rename or move it back; else ") if code == "signed-elsewhere" else remedy
        return Advice.read(remedy.format(**facts))

    def _of_edited(
        self, item: VerifiedItem, code: str, remedy: str, facts: Mapping[str, str], *, is_own: bool
    ) -> Advice:
        """Return how to see what was changed, and what the signer, or everybody else, does then."""
        path = skill_of(item.root, item.file.rel_path) or item.file.rel_path
        shown = self._original(item.root).shown_by(path)
        if is_own:
            review = f"review it with {shown}" if shown else "compare it with what was signed"
            sign = "rye sign --list{where}" if code == "list-changed" else "rye sign {ref}"
            return Advice("", f"changed after it was signed: {review}, then: {sign.format(**facts)}")
        advice = Advice.read(remedy.format(**facts))
        return advice._replace(words=f"{advice.words}; {shown} shows what was changed") if shown else advice

    def of_list(self, violation: Violation, change: Change) -> Advice:
        """Return what to do about a finding about a list, or about a file that is on no list."""
        remedy = REMEDIES[change.code]
        where = self._of_list_at(violation.root)
        if change.code == "list-signer" and violation.root.space is Space.SYSTEM:
            return Advice.read(_TRUST_BUNDLE.format(bundle=self._bundle(violation.root)))
        if change.code in {"uncovered", "file-added"} and not _is_listable(change.path):
            return Advice("", "no list can name it: move it elsewhere, or remove it")
        command = remedy.command if self._may_list(violation.root) else ""
        then = f"; once you have reviewed it: {command}{where}" if command else ""
        words = f"# {remedy.words}{then}".replace("--forget", f"--forget{where}")
        text = remedy.words if "  # " in remedy.words else words
        return Advice.read(text)

    def was_signed(self, root: Root, path: str) -> bool:
        """Return whether the last commit or the list has another, signed version of a file."""
        return self._original(root).was_signed(path)

    def _sign(self, item: VerifiedItem, advice: Advice) -> Advice:
        """Return the advice to sign an item, after any necessary first steps."""
        if item.verdict == Verdict.UNSIGNED and self._original(item.root).is_planted(item.file.rel_path):
            first = "the list of its space does not name it: find out where it came from and read it"
            return Advice("", f"{first}; then: {advice.command}")
        return advice

    def _facts(self, item: VerifiedItem, key: str | None) -> dict[str, str]:
        """Return the values for the templates of remedies; see :mod:`rye.trust.reasons`."""
        named = item.path if _PATTERN.search(item.ref) else item.ref
        where = self._where(item.root)
        return {
            "ref": f"{quote(named)}{where}{key or ''}",
            "where": f"{where}{key or ''}",
            "bundle": self._bundle(item.root),
            "key": quote(item.signature.signer),
        }

    def _bundle(self, root: Root) -> str:
        """Return what names the bundle of a root in a command."""
        return quote(self.named.get(str(root.path), root.bundle))

    def _where(self, root: Root) -> str:
        if root.space is Space.SYSTEM:
            return f" --bundle {quote(str(root.around if root.client else root.path))}"
        if root.space is Space.USER:
            return " --space user"
        audience = f" --audience {quote(self.audience)}" if self.audience else ""
        return audience + self._project(root)

    def _project(self, root: Root) -> str:
        """Return the option that names the project, if a command would not find it by itself."""
        project = str(root.around if root.client or root.path.name == FOLDER else root.path)
        if root.space is not Space.PROJECT or project in {self.project, self.project or self.here}:
            return ""
        return f" --project {quote(project)}"

    def _signing_key(self, item: VerifiedItem) -> str | None:
        """Return the option for a key to sign an item with; None unless it is unsigned, or the user's own.

        An item signed by others or for another registry is never signed to make a finding go away.
        """
        signers, signature = self.signers(), item.signature
        is_unsigned = signature.verdict is Verdict.UNSIGNED
        if self.audience and signature.audience not in {"", self.audience}:
            return None
        if item.space == "system" or not (is_unsigned or signature.signer in signers.keys):
            return None
        return signers.option(item.root.origin(item.type, item.id, item.file.rel_path))

    def _of_list_at(self, root: Root) -> str:
        """Return the options that name the list of a root; for a client folder, that at the top of its project."""
        if root.client is None or root.space is not Space.PROJECT:
            return self._where(root)
        return f" --bundle {quote(os.path.relpath(root.around, self.here) if self.here else str(root.around))}"

    def _may_list(self, root: Root) -> bool:
        """Return whether the user holds a key that may sign the list that covers a root, and a command signs it."""
        if root.client is not None and (
            root.space is Space.USER or (root.space is Space.PROJECT and not _is_listed_at_top(root.around))
        ):
            return False
        return self.signers().option(root.list_place) is not None


def _is_listable(path: str) -> bool:
    """Return whether a list may name a file; it names nothing among private keys, and no repository."""
    return is_listable(path) and PurePosixPath(path).name != ".git"


def _is_listed_at_top(folder: Path) -> bool:
    """Return whether ``rye sign --list --bundle`` makes a list at the top of a folder, not in its ``.ai``."""
    try:
        return named_bundle(folder)[0].client is not None
    except RyeError:
        return False


def _as_bundle(folder: str, code: str) -> Advice:
    """Return the advice to verify a folder as a bundle instead of a project."""
    if code == "limited":
        return Advice(
            f"rye verify --bundle {folder}", "it is published as a bundle, and that is what you trust the key for"
        )
    words = f"shows who signed it, and asks; then it counts as a bundle: rye verify --bundle {folder}"
    return Advice(f"rye trust bundle {folder}", words)


def _conflict(item: VerifiedItem) -> str:
    """Return a sentence if a file contains a merge conflict; empty if not, or if it cannot be read."""
    from rye.keyring.validate import conflict_problem
    from rye.spaces.signed import read_signed

    try:
        return conflict_problem(read_signed(item.root, item.file.rel_path)[0])
    except ItemError:
        return ""
