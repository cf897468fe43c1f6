"""The command that fixes a finding, ready to be copied into a shell, and what to know before it is run.

Where no command can fix it, there are only words that say what to do.

Names of files are a stranger's: each is one quoted word, an id that would read as a pattern is named by its path, and
none stands where an option could.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from rye import spaces
from rye._text import Advice, find_envelope, inline, quote
from rye.errors import EnvironmentFault, ItemError, RyeError, SigningError
from rye.items import ItemType
from rye.items.clients import OF_PROJECTS
from rye.spaces import Root
from rye.spaces.lists import read_list
from rye.spaces.read import is_detached, suffix_of
from rye.spaces.signed import skill_files
from rye.trust import DETACHED_SUFFIX, REASONS, SKILL_SIGNATURE, Origin, TrustSet, Verdict, read_rows, system_clock
from rye.trust.list import MAX_LIST_BYTES, MAX_SPACE_LIST, Change, ListedFile, parse_list
from rye.verify.git import committed, is_blob, may_check_out, read_blob
from rye.verify.lists import REMEDIES

if TYPE_CHECKING:
    from rye.verify.reports import VerifiedItem, Violation

_PATTERN: Final = re.compile(r"[*?\[]")
_SAFELY: Final = "-c core.fsmonitor=false -c core.hooksPath=/dev/null"
"""Options of git, so that no program starts that the settings of a repository name."""

_LONGEST: Final = 500
"""Characters shown of the reasons why an item cannot be signed; ``rye sign`` shows all."""

_NAMED: Final = 5
"""Files of a changed skill that are named in words."""

_ANEW: Final = "# ask its signer to sign it anew"
_OF_POLICY: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "signer": ("# get a version that a signer who is demanded has signed, and compare the two with diff", ""),
        "format": (_ANEW, "rye sign {ref} --format {form}"),
        "undated": (_ANEW, "rye sign {ref}"),
        "too-old": (_ANEW, "rye sign --force {ref}  # once you have seen that it still holds"),
        "dated-ahead": (_ANEW, "rye sign --force {ref}  # once the clocks are right"),
    }
)
"""Code of a policy fault → ``remedy`` and ``signing``; templates as those of :data:`rye.trust.REASONS`."""

_OF_BUNDLE: Final = (
    "# get the bundle again from where it came from (a package: install it anew), and compare the two with diff -r"
)
"""What to do about an item of a bundle that only its publisher can sign."""

_OF_UNSIGNED_BUNDLE: Final = (
    "# nobody answers for it: read it before you follow it; where other items of the bundle are signed, get the bundle "
    "again from where it came from, and compare the two with diff -r"
)

_COMMITTED: Final = frozenset(
    {
        "digest",
        "encoding",
        "line-ends",
        "malformed",
        "signature",
        "skill-changed",
        "two-envelopes",
        "file-changed",
        "file-removed",
        "list-changed",
        "list-gone",
        "list-malformed",
    }
)
"""Codes of files that were well before: what was committed may be what is wanted."""


class Signers(NamedTuple):
    """The keys whose private halves the user holds, each by its fingerprint with the option that names it."""

    keys: Mapping[str, str] = MappingProxyType({})
    trust: TrustSet = TrustSet()
    now: datetime = datetime(1, 1, 1, tzinfo=UTC)

    @classmethod
    def find(cls) -> Signers:
        """Return those of the user, the one that ``rye sign`` takes by default first."""
        from rye.keyring.key_files import DEFAULT_KEY, KEY_VARIABLE
        from rye.keyring.private import Keyring

        try:
            keyring = Keyring.find()
            default = KEY_VARIABLE if keyring.in_environment else DEFAULT_KEY
            known = [each for each in keyring.list() if each.fingerprint]
            trust = keyring.trust.load().trust
        except (OSError, RyeError):
            return cls()
        known.sort(key=lambda each: each.name != default)
        keys: dict[str, str] = {}
        for each in known:
            keys.setdefault(each.fingerprint, "" if each.name == default else f" --key {quote(each.name)}")
        return cls(keys, trust, system_clock())

    def option(self, origin: Origin) -> str | None:
        """Return the option that names a key that counts for an origin, empty for the default key; None without any."""
        counting = (option for key, option in self.keys.items() if self.trust.may_sign(key, origin, self.now).counts)
        return next(counting, None)


@dataclass(frozen=True, slots=True)
class Fixes:
    """Writes commands for someone in the folder ``here``, who finds ``project`` there, but not the roots ``named``.

    ``named`` gives for each the path that names its bundle.
    A project's items are signed for the ``audience`` that was demanded.
    """

    here: str
    project: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    signers: Callable[[], Signers] = Signers
    audience: str = ""
    _restorable: dict[str, Mapping[str, str]] = field(default_factory=dict, repr=False, compare=False)
    """Root → the files that git could restore below it."""
    _signed: dict[str, tuple[Mapping[str, ListedFile], Mapping[str, str]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Root → the files that its list names, and the digests of those of the last commit."""

    @classmethod
    def find(cls, named: Iterable[Root] = (), audience: str = "") -> Fixes:
        """Return one for the working directory, where these roots would not be found without being named."""
        paths = {str(root.path): str(root.path if root.client is None else root.around) for root in named}
        try:
            here = Path.cwd()
            project = spaces.find_project(here, user=spaces.user_space())
        except (OSError, EnvironmentFault):
            return cls("", named=paths)
        return cls(str(here), "" if project is None else str(project), paths, cache(Signers.find), audience)

    def of_item(self, item: VerifiedItem, code: str, *, formats: tuple[str, ...] = ()) -> Advice:
        """Return what fixes an item's verdict or what a policy has against it; empty where nothing needs fixing.

        Args:
            item: The file.
            code: Of the reason or of the policy's demand.
            formats: Of the signature line that the policy accepts; empty for any.
        """
        reason = REASONS.get(code)
        template, signing = (reason.remedy, reason.signing) if reason is not None else _OF_POLICY[code]
        if not template:
            return Advice("", "")
        root = _root_of(item.ref, item.path)
        key = self._signing_key(item) if signing else None
        if key is None and item.space == "system" and template.startswith("# "):
            template = _OF_UNSIGNED_BUNDLE if code == "no-envelope" else _OF_BUNDLE
        path = item.path.removeprefix(f"{root}/")
        if item.verdict in {Verdict.UNSIGNED, Verdict.PARTIAL} and self.was_signed(root, path):
            key, code = None, "digest"
            template = template if item.space == "system" else REASONS[code].remedy
        named, project = item.path if _PATTERN.search(item.ref) else item.ref, self._project(item.space, root)
        space = " --space user" if item.space == "user" else ""
        space += f" --audience {quote(self.audience)}" if self.audience and item.space == "project" else ""
        bundle = self.named.get(root, item.bundle)
        facts = {"ref": f"{quote(named)}{space}{project}{key or ''}", "project": project, "bundle": quote(bundle)}
        form = next((form for form in ("v2", "v1") if form in formats), "v2")
        fix = (template if key is None else signing).format(**facts, key=quote(item.signature.signer), form=form)
        if key is not None and (why := _why_unsignable(item, root)):
            fix = f"# {why}; fix that, then: {Advice.read(fix).command}"
        elif key is not None and item.verdict == Verdict.UNSIGNED and self._is_planted(root, path):
            then = Advice.read(fix).command
            fix = f"# the list of its space does not name it: find out where it came from and read it; then: {then}"
        return Advice.read(self._restoring(code, root, path, fix, space=item.space))

    def _is_planted(self, root: str, path: str) -> bool:
        """Return whether the list of a root names other files, and not this one."""
        listed = self._known(root)[0]
        return bool(listed) and path not in listed

    def _signing_key(self, item: VerifiedItem) -> str | None:
        """Return the option that names a key to sign an item with, if the user may: it is unsigned, or their own.

        What was signed by others or for another registry, and whatever is altered, is never signed to make a finding
        go away.
        """
        signers, signature = self.signers(), item.signature
        is_unsigned = signature.verdict is Verdict.UNSIGNED
        if self.audience and signature.audience not in {"", self.audience}:
            return None
        if item.space == "system" or not (is_unsigned or signature.signer in signers.keys):
            return None
        return signers.option(Origin(item.space, item.bundle, item.type, item.id))

    def of_list(self, violation: Violation, change: Change) -> Advice:
        """Return the fix for a finding about a list, or about a file that none names."""
        remedy = REMEDIES[change.code]
        root = violation.path.removesuffix(f"/{change.path}")
        command = remedy.command if self._may_list(violation, root) else ""
        where = f" --bundle {quote(root)}" if violation.space == "system" else self._project(violation.space, root)
        where += " --space user" if violation.space == "user" else ""
        where += f" --audience {quote(self.audience)}" if violation.space == "project" and self.audience else ""
        then = f"; once you have reviewed it: {command}{where}" if command else ""
        fix = f"# {remedy.words}{then}".replace("--forget", f"--forget{where}")
        fix = remedy.words if "  # " in remedy.words else fix
        return Advice.read(self._restoring(change.code, root, change.path, fix, space=violation.space))

    def _may_list(self, violation: Violation, root: str) -> bool:
        """Return whether the user holds a key that may sign the list of a folder."""
        is_client = violation.space != "system" and Path(root).name != spaces.FOLDER
        origin = Origin(violation.space, violation.bundle, "list", violation.bundle)
        return not is_client and self.signers().option(origin) is not None

    def _project(self, space: str, root: str) -> str:
        """Return the option that names the project, where a command would not find it by itself."""
        project = _project_around(root)
        if space != "project" or (project in {self.project, self.project or self.here}):
            return ""
        return f" --project {quote(project)}"

    def _cloned(self, space: str, root: str) -> str:
        """Return the project whose repository is the user's; one below it, or of a bundle, came with what it holds."""
        project = _project_around(root) if space == "project" else self.project
        return self.project if self.project and f"{project}/".startswith(f"{self.project}/") else project

    def _restoring(self, code: str, root: str, path: str, fix: str, *, space: str) -> str:
        """Put the command first that brings a file back as git has it, where that is not what stands there."""
        added: list[str] = []
        if code == "skill-changed":
            signed, added = _changed_in_skill(root, path)
            fix = f"{fix}: {_listed(signed)}" if signed else fix
        else:
            signed = [path, f"{path}{DETACHED_SUFFIX}"][: 1 + is_detached(path)]
        paths = [each for each in signed if code in _COMMITTED and self._is_restorable(space, root, each)]
        if not paths:
            return f"{fix}; find out where this came from, and remove it: {_listed(added)}" if added else fix
        folder = root.removeprefix(f"{self.here}/") if self.here else root
        folder = f"./{folder}" if folder.startswith("-") else folder
        names = " ".join(quote(f"./{each}" if each.startswith((":", "-")) else each) for each in paths)
        literal = " --literal-pathspecs" if any(_PATTERN.search(each) or "\\" in each for each in paths) else ""
        back = f"git {_SAFELY}{literal} -C {quote(folder)} checkout HEAD -- {names}"
        back = f"{back}  # brings back the version in git; read first what stands there"
        back += f", and remove what was added: {_listed(added)}" if added else ""
        _, either, otherwise = fix.partition(", or once ")
        return f"{back}{either}{otherwise}"

    def is_committed(self, root: str, path: str) -> bool:
        """Return whether a file is as the last commit has it."""
        try:
            name = self._known(root)[1].get(path, "")
            return bool(name) and is_blob(Path(root, path).read_bytes(), name)
        except (OSError, ValueError):
            return False

    def was_signed(self, root: str, path: str) -> bool:
        """Return whether the last commit or the list has another version of a file, which is signed."""
        listed, known = self._known(root)
        if is_detached(path) and (path in listed or f"{path}{DETACHED_SUFFIX}" in known):
            return True
        if any(f"{above}/{SKILL_SIGNATURE}" in known for above in PurePosixPath(path).parents):
            return True
        try:
            content = Path(root, path).read_bytes() if path in listed or path in known else b""
        except (OSError, ValueError):
            return False
        if path in listed and hashlib.sha256(content).hexdigest() != listed[path].sha256:
            return True
        if path not in known or is_blob(content, known[path]):
            return False
        return find_envelope(read_blob(Path(root), known[path]), suffix_of(path)) is not None

    def _known(self, root: str) -> tuple[Mapping[str, ListedFile], Mapping[str, str]]:
        """Return the files that a root's list names, and the digests of the files last committed."""
        if root not in self._signed:
            files: Mapping[str, ListedFile] = {}
            with suppress(EnvironmentFault, SigningError):
                files = parse_list(read_list(Path(root)) or b"").files
            self._signed[root] = files, committed(Path(root))
        return self._signed[root]

    def _is_restorable(self, space: str, root: str, path: str) -> bool:
        """Return whether git has another content for a file."""
        if root not in self._restorable:
            may = may_check_out(Path(root), self._cloned(space, root))
            self._restorable[root] = self._known(root)[1] if may else {}
        known = self._restorable[root]
        if path not in known:
            return any(name.startswith(f"{path}/") for name in known)
        place = Path(root, path)
        try:
            if place.is_symlink() or not place.is_file() or place.stat().st_size > MAX_SPACE_LIST:
                return True
            return not is_blob(place.read_bytes(), known[path])
        except (OSError, ValueError):
            return True


def _changed_in_skill(root: str, path: str) -> tuple[list[str], list[str]]:
    """Return the paths below a root of what a skill's signature covers and is changed or gone, and of what was added.

    Where its list says that nothing is, its signature was altered.
    """
    above = (str(each) for each in PurePosixPath(path).parents)
    folder = next((each for each in above if os.path.isfile(f"{root}/{each}/{SKILL_SIGNATURE}")), "")  # noqa: PTH113
    try:
        with Path(root, folder, SKILL_SIGNATURE).open("rb") as stream:
            listed = read_rows(stream.read(2 * MAX_LIST_BYTES).partition(b"\n")[2])
        files = {each.path: each for each in skill_files(Root(spaces.Space.PROJECT, Path(root)), folder)}
    except (OSError, ItemError):
        return [], []
    changed = sorted(name for name, entry in listed.items() if files.get(name) != entry)
    added = sorted(f"{folder}/{name}" for name in files.keys() - listed.keys())
    return [f"{folder}/{name}" for name in changed or ([] if added else [SKILL_SIGNATURE])], added


def _listed(paths: list[str]) -> str:
    """Return the first few of some paths, and how many more there are."""
    shown = ", ".join(quote(each) for each in paths[:_NAMED])
    return f"{shown} and {len(paths) - _NAMED} more" if len(paths) > _NAMED else shown


def _why_unsignable(item: VerifiedItem, root: str) -> str:
    """Return why signing would refuse an item as it is; empty if it would not."""
    from rye.keyring.validate import faults
    from rye.spaces.signed import read_item

    path, kind, item_id = item.path.removeprefix(f"{root}/"), *item.ref.split(":", 1)
    client = spaces.client_of(item.path, ItemType(kind), item_id)[1]
    where = spaces.Root(spaces.Space(item.space), Path(root), item.bundle, client=client)
    try:
        problems = faults(read_item(where, path, ItemType(kind), item_id), where)
    except ItemError as error:
        if error.code == "vanished":
            return ""
        problems = (error.message.removeprefix(f"{path}: "),)
    words = inline("; ".join(problems))
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def _project_around(root: str) -> str:
    places = (spaces.FOLDER, *(each.place for each in OF_PROJECTS if each.place))
    return next((root.removesuffix(f"/{place}") for place in places if root.endswith(f"/{place}")), root)


def _root_of(ref: str, path: str) -> str:
    kind, _, item_id = ref.partition(":")
    if folder := spaces.client_of(path, ItemType(kind), item_id)[0]:
        return folder
    at = path.rfind(f"/{ItemType(kind).folder}/{item_id}.")
    return path[:at] if at > 0 else os.path.dirname(path)  # noqa: PTH120 - text, as the path is
