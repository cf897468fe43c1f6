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
from typing import Final, NamedTuple

from rye._text import Advice, quote
from rye.errors import EnvironmentFault, RyeError
from rye.spaces.bundles import named_bundle
from rye.spaces.discover import find_project, is_published, user_space
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.snapshot import is_listable
from rye.trust.model import Place, Verdict
from rye.trust.reasons import LIST_REMEDIES, ORIGINAL, POLICY_REMEDIES, REASONS, TRUST_BUNDLE, Remedy
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock
from rye.verify.originals import Earlier, Originals
from rye.verify.report import EDITED, VerifiedItem, Violation

_PATTERN: Final = re.compile(r"[*?\[]")

_OF_BUNDLE: Final = (
    "get the bundle again from its source (a package: install it again), and compare the two with diff -r"
)
"""What to do about an item of a bundle that only its publisher can sign."""

_OF_UNSIGNED_BUNDLE: Final = (
    "nobody signed it: read it before you follow it; if other items of the bundle are signed, get the bundle again "
    "from its source, and compare the two with diff -r"
)

_AS_BUNDLE: Final = frozenset({"limited", "foreign-key"})
"""Codes of signatures that may be accepted if the named project folder is verified as a bundle."""


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
    ``originals`` has the earlier versions of files.
    """

    here: str
    project: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    signers: Callable[[], Signers] = Signers
    audience: str = ""
    originals: Originals = field(default_factory=Originals, repr=False, compare=False)

    @classmethod
    def find(cls, named: Iterable[Root] = (), audience: str = "", roots: Iterable[Root] = ()) -> Adviser:
        """Return an adviser for a user in the working directory.

        Args:
            named: Roots that commands find only if they are named.
            audience: The audience that a project's signatures must name.
            roots: The roots that are verified together.
        """
        paths = {str(root.path): str(root.path if root.client is None else root.around) for root in named}
        try:
            here = Path.cwd()
            project = find_project(here, user=user_space())
        except (OSError, EnvironmentFault):
            return cls("", named=paths)
        where = "" if project is None else str(project)
        return cls(str(here), where, paths, cache(Signers.find), audience, Originals(roots))

    def of_item(self, item: VerifiedItem, code: str) -> Advice:
        """Return what to do about an item's verdict or a policy fault; empty if all is well.

        Args:
            item: The file.
            code: The code of the reason or of the policy's demand.
        """
        if not any(_remedy(code)):
            return Advice("", "")
        if code in _AS_BUNDLE and item.space == Space.PROJECT and item.bundle and is_published(item.root):
            return _as_bundle(quote(str(item.root.around)), code)
        if item.conflict:
            return Advice("", item.conflict)  # resolve the conflict before asking who may sign
        signers = self.signers()
        if code in {"unknown-key", "oms-root"} and signers.unread:
            return Advice("", signers.unread)
        if code == "unknown-key" and item.signature.signer in signers.keys:
            return Advice(f"rye trust add {item.signature.signer}", "your own key, which you do not trust yet")
        return self._advise(item, code, signers, self.originals.earlier(item))

    def _advise(self, item: VerifiedItem, code: str, signers: Signers, earlier: Earlier) -> Advice:
        """Return the advice for a holder of some keys, given the earlier versions of the file; nothing is read."""
        remedy, key, is_bundled = _remedy(code), self._signing_key(item, signers), item.space == Space.SYSTEM
        facts = self._facts(item, key)
        if earlier.was_signed:
            return _rendered(ORIGINAL, facts)
        if code in EDITED and key is not None:
            review = f"review it with {earlier.shown_by}" if earlier.shown_by else "compare it with what was signed"
            sign = "rye sign list{where}" if code == "list-changed" else "rye sign {ref}"
            return Advice("", f"changed after it was signed: {review}, then: {sign.format(**facts)}")
        if key is not None and remedy.sign:
            sign, first = remedy.sign.format(**facts), "find out where it came from and read it"
            planted = f"the list of its space does not name it: {first}; then: {sign}"
            return Advice("", planted) if earlier.is_planted else Advice(sign, remedy.once)
        advice = _rendered(_of_bundled(code, remedy) if is_bundled else remedy, facts)
        if earlier.shown_by and item.space == Space.PROJECT:
            return advice._replace(words=f"{advice.words}; {earlier.shown_by} shows what was changed")
        return advice

    def of_list(self, violation: Violation) -> Advice:
        """Return what to do about a finding about a list, or about a file that is on no list."""
        root, change = violation.root, violation.change
        remedy = LIST_REMEDIES[change.code]
        if change.code == "list-signer" and root.space is Space.SYSTEM:
            remedy = TRUST_BUNDLE
        if change.code in {"uncovered", "file-added"} and not _is_listable(change.path):
            return Advice("", "no list can name it: move it elsewhere, or remove it")
        facts = {"where": self._of_list_at(root), "bundle": self._bundle(root)}
        if remedy.sign and self._may_list(root):
            remedy = remedy._replace(words=f"{remedy.words}; once you have reviewed it: {remedy.sign}")
        return _rendered(remedy, facts)

    def _facts(self, item: VerifiedItem, key: str | None) -> dict[str, str]:
        """Return the values for the templates of remedies; see :mod:`rye.trust.reasons`."""
        named = item.path if _PATTERN.search(item.ref) else item.ref
        where = f"{self._where(item.root)}{key or ''}"
        facts = {"ref": f"{quote(named)}{where}", "where": where, "bundle": self._bundle(item.root)}
        return facts | {"key": quote(item.signature.signer)}

    def _bundle(self, root: Root) -> str:
        """Return what names the bundle of a root in a command."""
        return quote(self.named.get(str(root.path), root.bundle))

    def _where(self, root: Root) -> str:
        if root.space is Space.SYSTEM:
            return f" {quote(str(root.around if root.client else root.path))}"
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

    def _signing_key(self, item: VerifiedItem, signers: Signers) -> str | None:
        """Return the option for a key to sign an item with; None unless it is unsigned, or the user's own.

        An item signed by others or for another registry is never signed to make a finding go away.
        """
        signature = item.signature
        is_elsewhere = bool(self.audience) and signature.audience not in {"", self.audience}
        is_mine = signature.verdict is Verdict.UNSIGNED or signature.signer in signers.keys
        if is_elsewhere or item.space == Space.SYSTEM or not is_mine:
            return None
        return signers.option(item.place)

    def _of_list_at(self, root: Root) -> str:
        """Return the options that name the list of a root; for a client folder, that at the top of its project."""
        if root.client is None or root.space is not Space.PROJECT:
            return self._where(root)
        return f" {quote(os.path.relpath(root.around, self.here) if self.here else str(root.around))}"

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
    """Return whether ``rye sign list FOLDER`` makes a list at the top of a folder, not in its ``.ai``."""
    try:
        return named_bundle(folder)[0].client is not None
    except RyeError:
        return False


def _as_bundle(folder: str, code: str) -> Advice:
    """Return the advice to verify a folder as a bundle instead of a project."""
    if code == "limited":
        return Advice(
            f"rye verify --space system --bundle {folder}",
            "it is published as a bundle, and that is what you trust the key for",
        )
    words = f"shows who signed it, and asks; then it counts as a bundle: rye verify --space system --bundle {folder}"
    return Advice(f"rye trust bundle {folder}", words)


def _remedy(code: str) -> Remedy:
    return POLICY_REMEDIES.get(code) or REASONS[code].remedy


def _of_bundled(code: str, remedy: Remedy) -> Remedy:
    """Return the remedy for an item of a bundle, which only its publisher can sign."""
    if code == "foreign-key" or remedy.command:
        return TRUST_BUNDLE if code == "foreign-key" else remedy
    words = _OF_UNSIGNED_BUNDLE if code == "no-envelope" else _OF_BUNDLE
    return Remedy(f"rename or move it back; else {words}" if code == "signed-elsewhere" else words)


def _rendered(remedy: Remedy, facts: Mapping[str, str]) -> Advice:
    return Advice(remedy.command.format(**facts), remedy.words.format(**facts))
