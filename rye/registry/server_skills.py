"""Checks the skills that a server of MCP gives out: shape, digests, signatures, and what changed since it was accepted.

Everything a server says is hostile. Its digests prove only that list and files agree; a signature counts by the trust
of the user; what was accepted is remembered below the user's state folder, by the name that the user has for the server
and the address of the skill (SEP-2640, content-bound approval).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from rye._report import Report
from rye.errors import EnvironmentFault, ItemError
from rye.items.clients import SKILL_FILE, SKILLS
from rye.registry.skills import MAX_FILES, MAX_SKILL, MAX_URI, front_matter_of, generate
from rye.spaces import state
from rye.spaces.beside import PLAIN
from rye.spaces.signed import ReadItem, parse_item
from rye.trust import (
    DETACHED_SUFFIX,
    SKILL_SIGNATURE,
    ListedFile,
    Origin,
    Signature,
    Skill,
    TrustSet,
    Verdict,
    inspect,
    judge,
    read_rows,
    system_clock,
)
from rye.verify.policy import WELL

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_URI: Final = re.compile(rf"[a-z][a-z0-9+.-]*://[^?#\s]+/{re.escape(SKILL_FILE)}")


@dataclass(frozen=True, slots=True)
class ServerSkill(Report):
    """A skill of a server.

    Attributes:
        uri: Its address.
        state: Against what was accepted: ``accepted``, ``changed``, ``new`` or ``gone``.
        signature: The verdict on its ``SKILL.md`` by the trust of the user; None where it could not be read.
        unverified: Its files that no sufficient signature covers.
        changes: Its files that are not what was accepted.
        problems: Why it does not pass; empty if it does.
    """

    uri: str
    state: str
    signature: Signature | None = None
    unverified: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class ServerCheck:
    """A check of one server.

    Args:
        server: The name that the user has for it: its URL, or the command that starts it.
        trust: Whose signatures count.
        require: ``trusted`` or ``signed``.
        accept: Whether to accept what the server has now.

    Raises:
        EnvironmentFault: ``state-unreadable`` or ``state-unsafe``.
    """

    def __init__(self, server: str, trust: TrustSet, *, require: str = "trusted", accept: bool = False) -> None:
        self._path = state.record_path("skills", server.encode("utf-8", "replace").decode())
        self._trust, self._passing, self._accept = trust, WELL[require], accept
        self._before = self._load()
        self._now: dict[str, dict[str, str]] = {}
        self._seen: set[str] = set()
        self.size = 0
        """Bytes of all files that were wanted so far."""

    def _load(self) -> dict[str, dict[str, str]] | None:
        record = state.read_record(self._path)
        try:
            if record is None:
                return None
            return {uri: {str(name): str(digest) for name, digest in each.items()} for uri, each in record.items()}
        except AttributeError as fault:
            message = f"the record of the skills that were accepted, {self._path}, cannot be read"
            raise EnvironmentFault(
                "state-unreadable", message, hint="restore it, or remove it and review all"
            ) from fault

    def wanted(self, entry: Any) -> tuple[str, dict[str, tuple[str, int]]]:
        """Return the address of an entry of the server's list, and its files by address, with digest and size.

        Raises:
            ItemError: ``not-a-skill``: it is not what the protocol demands.
        """
        uri = entry.get("uri") if isinstance(entry, dict) else None
        if not isinstance(uri, str) or len(uri) > MAX_URI or not _URI.fullmatch(uri):
            raise _wrong(f"its address {str(uri)[:200]!r} is none of a {SKILL_FILE}")
        if uri in self._seen:
            raise _wrong(f"{uri} is listed twice")
        self._seen.add(uri)
        listed = entry.get("resources")
        if listed == "dynamic":
            raise _wrong("its content changes with every read, so that nothing can be accepted")
        if not isinstance(listed, list) or not 0 < len(listed) <= MAX_FILES:
            raise _wrong(f"its files are no list of 1 to {MAX_FILES}")
        files: dict[str, tuple[str, int]] = {}
        for each in listed:
            name, digest, size = (
                (each.get(key) for key in ("uri", "digest", "size")) if isinstance(each, dict) else "???"
            )
            if not (isinstance(name, str) and _path_of(uri, name)) or name in files:
                raise _wrong(f"its file {str(name)[:200]!r} is not below it, or is listed twice")
            if not (isinstance(digest, str) and _DIGEST.fullmatch(digest) and type(size) is int and size >= 0):
                raise _wrong(f"its file {name} has no SHA-256 digest and size")
            files[name] = (digest, size)
        if uri not in files or sum(size for _, size in files.values()) > MAX_SKILL:
            raise _wrong(f"its files do not include {SKILL_FILE}, or have more than {MAX_SKILL:,} bytes")
        self.size += sum(size for _, size in files.values())
        return uri, files

    def refused(self, uri: str, error: ItemError) -> ServerSkill:
        """Return the result for a skill that could not be read; it is not accepted."""
        self._seen.add(uri)
        before = (self._before or {}).get(uri)
        if before is not None:
            self._now[uri] = before
        return ServerSkill(uri, "new" if before is None else "changed", problems=(error.message,))

    def check(
        self, entry: Mapping[str, Any], listed: Mapping[str, tuple[str, int]], data: Mapping[str, bytes]
    ) -> ServerSkill:
        """Return the result for a skill, of which :meth:`wanted` has ``listed`` the files, and ``data`` their bytes.

        Raises:
            ItemError: ``not-a-skill``: its files are not what the entry says.
        """
        uri, files = entry["uri"], {name: digest for name, (digest, _) in listed.items()}
        for name, (digest, size) in listed.items():
            if len(data[name]) != size or f"sha256:{hashlib.sha256(data[name]).hexdigest()}" != digest:
                raise _wrong(f"{name} is not what its digest and size say")
        parts = [unquote(part) for part in uri.partition("://")[2].split("/")[:-1]]
        front = front_matter_of(parts[-1], data[uri])
        if json.dumps(front, sort_keys=True) != json.dumps(entry.get("frontmatter"), sort_keys=True):
            raise _wrong(f"the front matter that is listed is not that of its {SKILL_FILE}")
        signature, unverified = self._judge(parts, {_path_of(uri, name): each for name, each in data.items()})
        before = (self._before or {}).get(uri)
        state = "new" if before is None else "accepted" if before == files else "changed"
        changes = tuple(sorted(name for name, _ in set(files.items()) ^ set((before or files).items())))
        problems = []
        if unverified and (not (self._accept or state == "accepted") or signature.code == "revoked"):
            problems.append(f"{signature.reason}; not covered: {', '.join(unverified[:5])}")
        if state != "accepted" and self._before is not None and not self._accept:
            problems.append("it is new since the server was accepted" if before is None else "it changed")
        if not problems:
            self._now[uri] = files
        elif before is not None:
            self._now[uri] = before
        return ServerSkill(uri, state, signature, unverified, tuple(dict.fromkeys(changes)), tuple(problems))

    def _judge(self, parts: Sequence[str], files: Mapping[str, bytes]) -> tuple[Signature, tuple[str, ...]]:
        """Return the best verdict on a skill, by every end of its path that may be its id, and what it leaves."""
        found = []
        skill = _whole(files)
        for start in range(len(parts)):
            item_id = "/".join(parts[start:])
            if skill:
                verdicts: dict[str, Signature | None] = dict.fromkeys(
                    files, self._verdict_of_whole(item_id, files, skill)
                )
            else:
                verdicts = {path: self._verdict(item_id, path, files) for path in files}
            left = tuple(path for path, each in verdicts.items() if each is None or each.verdict not in self._passing)
            about = verdicts[SKILL_FILE]
            assert about is not None
            found.append((list(Verdict).index(about.verdict), len(left), start, about, left))
        *_, signature, unverified = min(found)
        return signature, unverified

    def _verdict_of_whole(self, item_id: str, files: Mapping[str, bytes], skill: Skill) -> Signature:
        """Return the verdict on a skill with a ``SKILL.sig``, which is that on each of its files."""
        origin = Origin("user", "", "directive", item_id)
        evidence = inspect(files[SKILL_FILE], origin=origin, declared={}, detached=skill._replace(id=item_id))
        return judge(evidence, origin=origin, trust=self._trust, now=system_clock())

    def _verdict(self, item_id: str, path: str, files: Mapping[str, bytes]) -> Signature | None:
        """Return the verdict on a file of a skill; None for what is no item."""
        named = path.removesuffix(DETACHED_SUFFIX)
        path = named if named in files else path  # a signature goes with what it signs
        place = SKILLS.identify(f"{item_id}/{path}")
        if place is None:
            return None
        origin, data = Origin("user", "", str(place[0]), place[1]), files[path]
        try:
            read = parse_item(data, origin, path, detached=files.get(f"{path}{DETACHED_SUFFIX}"))
            if path == SKILL_FILE:
                read = _without_generated(item_id, read)
        except ItemError as error:
            return Signature(Verdict.UNSIGNED, "unsigned", error.message) if path == SKILL_FILE else None
        return judge(read.evidence, origin=origin, trust=self._trust, now=system_clock())

    def finish(self) -> list[ServerSkill]:
        """Return the accepted skills that the server no longer lists, and remember what is accepted now.

        Raises:
            EnvironmentFault: ``cannot-write`` or ``state-unsafe``.
        """
        left = {uri: files for uri, files in (self._before or {}).items() if uri not in self._seen}
        gone = [ServerSkill(uri, "gone", problems=("the server lists it no more",)) for uri in sorted(left)]
        if self._accept:
            gone = [replace(each, problems=()) for each in gone]
        else:
            self._now |= left
        if self._now != self._before and (self._now or self._accept):
            state.save_record(self._path, self._now)
        return gone


def _path_of(uri: str, name: str) -> str:
    """Return the path of a file in a skill; empty where its address is not below that of the skill."""
    root = uri.removesuffix(SKILL_FILE)
    parts = [unquote(part) for part in name.removeprefix(root).split("/")]
    plain = all(part not in ("", ".", "..") and "/" not in part and "\\" not in part for part in parts)
    return "/".join(parts) if name.startswith(root) and len(name) <= MAX_URI and plain else ""


def _whole(files: Mapping[str, bytes]) -> Skill | None:
    """Return a skill as it was served, with the modes of its signed list, as MCP has none; None without a signature."""
    signature = files.get(SKILL_SIGNATURE)
    if signature is None:
        return None
    listed = read_rows(signature.partition(b"\n")[2])
    served = tuple(
        ListedFile(path, listed.get(path, (PLAIN,))[0], hashlib.sha256(data).hexdigest())
        for path, data in files.items()
        if path != SKILL_SIGNATURE
    )
    return Skill("", SKILL_FILE, signature, served)


def _without_generated(item_id: str, read: ReadItem) -> ReadItem:
    """Return the directive in a file before which rye put a front matter, if that is just what rye makes of it."""
    _, end, body = read.data.partition(b"\n---\n\n")
    if not end or read.evidence.format:
        return read
    inner = parse_item(body, read.origin, SKILL_FILE)
    return inner if generate(item_id, inner.item.description, body) == read.data else read


def _wrong(why: str) -> ItemError:
    return ItemError("not-a-skill", why, hint="ask who runs the server")
