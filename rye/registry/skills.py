"""Skills as other programs receive them: every file of a skill's folder, read once, with digests and verdicts.

A directive in one file is a skill of one file, ``SKILL.md``. Limits and addresses follow the MCP extension
``io.modelcontextprotocol/skills`` (SEP-2640), names and fields the Agent Skills specification 1.0.

The invariant: the verdicts and digests of a :class:`ServedSkill` are about exactly the bytes that it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

from rye._text import has_invisible, inline
from rye.errors import ItemError, NotFoundError
from rye.items.clients import SKILL_FILE
from rye.items.front_matter import read_front_matter
from rye.items.model import ItemType
from rye.items.names import SKILL_SCHEME
from rye.items.values import decode
from rye.spaces.classify import is_skipped
from rye.spaces.model import Root
from rye.spaces.read import read_chunks, unreadable
from rye.spaces.signed import ReadItem, parse_item, read_item
from rye.spaces.snapshot import FOLDER, PLAIN, PROGRAM, mode_of, tree
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import Skill
from rye.trust.model import Evidence, Place, Signature, Verdict
from rye.trust.trust_store import system_clock

if TYPE_CHECKING:
    from rye.index.build.reader import Part
    from rye.registry.state import State

MAX_URI: Final = 4_096
"""Maximum characters of the address of a skill or of one of its files."""
MAX_FILES: Final = 512
"""Maximum files of one skill."""
MAX_SKILL: Final = 16_777_216
"""Maximum bytes of all files of one skill."""
MAX_FRONT_MATTER: Final = 16_384
"""Maximum bytes of the front matter of a skill as JSON."""

_DEEPEST: Final = 32
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST: Final = {"name": 64, "description": 1024, "compatibility": 500}
_TEXTS: Final = ("license", "allowed-tools", *_MOST)


class ServedFile(NamedTuple):
    """A file of a skill: its bytes, and the verdict on them if it is an item."""

    data: bytes
    signature: Signature | None = None

    @property
    def digest(self) -> str:
        """``sha256:`` and 64 hex digits."""
        return f"sha256:{hashlib.sha256(self.data).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """A skill with all its files.

    Attributes:
        uri: Its address, ``skill://SPACE/ID`` or ``skill://system/BUNDLE/ID``.
        item_id: The id of the directive.
        front_matter: The front matter of ``SKILL.md``, as its author wrote it.
        files: Each file by its path, ``SKILL.md`` first.
        signature: The verdict on ``SKILL.md``.
        is_generated: Whether rye generated the front matter, because the directive lacks what a skill must have.
    """

    uri: str
    item_id: str
    front_matter: Mapping[str, Any]
    files: Mapping[str, ServedFile]
    signature: Signature
    is_generated: bool

    def uri_of(self, path: str) -> str:
        """Return the address of one of its files or folders; an empty path gives that of the skill."""
        return f"{self.uri}/{quote(path)}" if path else self.uri

    def unverified(self) -> Iterator[str]:
        """Yield the paths of files that no trusted signature covers."""
        for path, file in self.files.items():
            about = self.files.get(path.removesuffix(DETACHED_SUFFIX), file)
            if about.signature is None or about.signature.verdict is not Verdict.TRUSTED:
                yield path

    def listed(self, folder: str) -> Mapping[str, ServedFile | None] | None:
        """Return the files directly in a folder, and its subfolders as None; None if there is no such folder."""
        prefix = f"{folder}/" if folder else ""
        inside = {path[len(prefix) :]: file for path, file in self.files.items() if path.startswith(prefix)}
        entries = {name.partition("/")[0]: None if "/" in name else file for name, file in inside.items()}
        return entries or None


class FoundSkill(NamedTuple):
    """A skill, and the path in it that an address names; empty for the skill itself."""

    skill: ServedSkill
    path: str


def skill_uri(source: str, bundle: str, item_id: str) -> str:
    """Return the address of the skill that a directive is or would be.

    >>> skill_uri("system", "rye", "ops/deploy")
    'skill://system/rye/ops/deploy/SKILL.md'
    """
    return f"{_root_uri(source, bundle, item_id)}/{SKILL_FILE}"


def _root_uri(source: str, bundle: str, item_id: str) -> str:
    parts = (source.partition(":")[0], *([bundle] if bundle else []), *item_id.split("/"))
    return SKILL_SCHEME + "/".join(quote(part, safe="", errors="surrogatepass") for part in parts)


def may_be_skill(hit: Mapping[str, Any]) -> bool:
    """Return whether a search hit in JSON may be a skill, as far as can be told without reading its file."""
    name = hit["id"].rpartition("/")[2]
    may_be_called = len(name) <= _MOST["name"] and _NAME.fullmatch(name) is not None
    return hit["type"] == "directive" and may_be_called and bool(hit["description"]) and not hit["shadowed_by"]


def find_skill(state: State, uri: str) -> FoundSkill:
    """Read and verify the skill that an address leads into.

    Of nested skills, the innermost valid one is returned; an inner folder that is not a valid skill belongs to the
    outer one. If an id is in several spaces, only the one with the highest priority exists.

    Raises:
        NotFoundError: ``skill-not-found``.
        ItemError: There is an item, but it is not a valid skill.
    """
    problem: Exception = NotFoundError(
        "skill-not-found", f"no skill is served at {inline(uri[:300])}", hint="skills/list has the addresses"
    )
    within = uri.startswith(SKILL_SCHEME) and len(uri) <= MAX_URI
    space, *parts = [unquote(part) for part in uri[len(SKILL_SCHEME) :].split("/")] if within else [""]
    bundle = parts.pop(0) if space == "system" and parts else ""
    for length in range(min(len(parts), _DEEPEST), 0, -1):
        documents = list(state.with_own.having_key("directive", "/".join(parts[:length])))
        in_root = [
            document for document in documents if (document[0].root.space, document[0].root.bundle) == (space, bundle)
        ]
        if not in_root or in_root[0] != documents[0]:
            continue
        try:
            skill = load_skill(state, in_root)
        except ItemError as error:
            problem = error if isinstance(problem, NotFoundError) and not state.only_trusted else problem
            continue
        if state.only_trusted and any(skill.unverified()):
            continue
        path = "/".join(parts[length:])
        if uri == skill.uri_of(path) and (path in skill.files or skill.listed(path) is not None):
            return FoundSkill(skill, path)
    raise problem


def load_skill(state: State, documents: Sequence[tuple[Part, int]]) -> ServedSkill:
    """Read every file of the skill that is a given directive, and verify the files that are items.

    Raises:
        ItemError: ``not-a-skill``, ``too-large``, ``bad-name``, or a file cannot be read.
    """
    part, local = documents[0]
    root, item_id = part.root, part.segment.ids[local]
    path, *duplicates = [part.segment.paths[number] for part, number in documents if part.root is root]
    if duplicates:
        raise _no_skill(item_id, f"it is in several files: {', '.join((path, *duplicates))}", "keep one of them")
    read = read_item(root, path, ItemType.DIRECTIVE, item_id)
    judged = partial(judge, trust=state.trust.trust, now=system_clock())
    signature = judged(read.evidence, origin=read.origin)
    data, generated = read.data, False
    files = {SKILL_FILE: ServedFile(data, signature)}
    if root.client is not None and root.client.format == "skill":
        front = _front_matter(item_id, read)
        folder = path.rpartition("/")[0]
        inside = _read_folder(root, folder, item_id)
        skill = read.detached.folder if isinstance(read.detached, Skill) else None
        signed = skill if skill and skill.data is not None else None
        inside.pop(SKILL_FILE, None)
        for name, content in inside.items():
            if signed and name == signed.name:
                files[name] = ServedFile(content, signature if content == signed.data else None)
            elif signed:  # verified with these very bytes
                signed_file = Skill(signed, f"{folder}/{name}"[len(signed.id) + 1 :])
                evidence = inspect(content, origin=read.origin, declared={}, detached=signed_file)
                files[name] = ServedFile(content, judged(evidence, origin=read.origin))
            else:
                proof = _evidence(root, f"{folder}/{name}", content, inside.get(f"{name}{DETACHED_SUFFIX}"))
                files[name] = ServedFile(content, proof and judged(proof[0], origin=proof[1]))
    else:
        try:
            front = front_matter_of(item_id, data)
        except ItemError:
            data, generated = generate(item_id, read.item.description, data), True
            front = front_matter_of(item_id, data)
            files[SKILL_FILE] = ServedFile(data, signature)
    return ServedSkill(_root_uri(root.space, root.bundle, item_id), item_id, front, files, signature, generated)


def generate(item_id: str, description: str, data: bytes) -> bytes:
    """Return a directive with the front matter that a skill must have."""
    about = {"name": item_id.rpartition("/")[2], "description": inline(description)[:1024]}
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in about.items())
    return f"---\n{lines}---\n\n".encode() + data.removeprefix(b"\xef\xbb\xbf")


def _no_skill(item_id: str, why: str, hint: str) -> ItemError:
    return ItemError("not-a-skill", f"directive:{item_id} cannot be given to others as a skill: {why}", hint=hint)


def _front_matter(item_id: str, read: ReadItem) -> Mapping[str, Any]:
    """Return the front matter of a skill; if it is not valid YAML, name and description as rye reads them.

    Raises:
        ItemError: ``not-a-skill``.
    """
    try:
        return front_matter_of(item_id, read.data)
    except ItemError:
        if not read.item.note or not read.item.description:
            raise
    return {"name": item_id.rpartition("/")[2], "description": read.item.description[: _MOST["description"]]}


def front_matter_of(item_id: str, data: bytes) -> dict[str, Any]:
    """Return the front matter of a skill's file, if it meets the specification.

    Metadata that is no text, such as a list of tags, is left out: the protocol cannot express it, and many skills have
    some.

    Raises:
        ItemError: ``not-a-skill``.
    """
    try:
        fields = read_front_matter(decode(data))
    except ItemError as error:
        raise _no_skill(item_id, error.message, error.hint) from None
    name, hint = item_id.rpartition("/")[2], "see agentskills.io/specification"
    for field in _TEXTS:
        value, most = fields.get(field), _MOST.get(field, MAX_FRONT_MATTER)
        if field not in fields and field not in ("name", "description"):
            continue
        if not isinstance(value, str) or len(value) > most or (field in _MOST and not value.strip()):
            raise _no_skill(item_id, f"its {field} is not a text of 1 to {most:,} characters", hint)
    if not _NAME.fullmatch(fields["name"]):
        raise _no_skill(item_id, "its name has more than small letters, digits and single hyphens", hint)
    if fields["name"] != name:
        raise _no_skill(item_id, f"its name is {fields['name']!r}, and that of its folder is not", "rename one of them")
    if "metadata" in fields:
        more = fields["metadata"] if isinstance(fields["metadata"], dict) else {}
        fields = {**fields, "metadata": {key: value for key, value in more.items() if isinstance(value, str)}}
    if len(json.dumps(fields)) > MAX_FRONT_MATTER:
        raise _no_skill(item_id, f"its front matter has more than {MAX_FRONT_MATTER:,} bytes", "shorten it")
    return fields


def _evidence(root: Root, path: str, data: bytes, detached: bytes | None) -> tuple[Evidence, Place] | None:
    """Return the evidence and origin of a file of a skill; None if it is not an item."""
    identified = root.client and root.client.identify(path)
    if not identified:
        return None
    origin = root.origin(str(identified[0]), identified[1], path)
    try:
        return parse_item(data, origin, path, detached=detached).evidence, origin
    except ItemError:
        return None


def _read_folder(root: Root, folder: str, item_id: str) -> dict[str, bytes]:
    """Return the bytes of every file of a skill by path, except hidden files and caches of programs.

    Raises:
        ItemError: ``not-a-skill``, ``bad-name``, ``too-large``, or a file cannot be read.
    """
    contents: dict[str, bytes] = {}
    left = MAX_SKILL
    for name in _names(root, folder, item_id):
        if len(contents) == MAX_FILES:
            raise _no_skill(item_id, f"it has more than {MAX_FILES} files", "split it, or put data elsewhere")
        data = b""
        try:
            for chunk in read_chunks(root, f"{folder}/{name}"):
                data += chunk
                if len(data) > left:
                    hint = "split it, or put data elsewhere"
                    raise _no_skill(item_id, f"its files have more than {MAX_SKILL:,} bytes", hint)
        except OSError as error:
            raise unreadable(f"{folder}/{name}", error) from None
        contents[name] = data
        left -= len(data)
    return contents


def _names(root: Root, folder: str, item_id: str) -> Iterator[str]:
    """Yield the path of every file of a skill.

    Raises:
        ItemError: ``not-a-skill``: a link, pipe or unprintable name; or a folder cannot be read.
    """
    base = os.fspath(Path(root.path, folder))
    for tree_entry in tree(base, lambda path: path.count("/") >= _DEEPEST or is_skipped(path.rpartition("/")[2])):
        if isinstance(tree_entry, OSError):
            inner = os.path.relpath(tree_entry.filename, base)
            raise unreadable(os.path.normpath(f"{folder}/{inner}"), tree_entry, "folder")
        name, entry = tree_entry
        if is_skipped(entry.name):
            continue
        if not name.isprintable() or has_invisible(name):
            raise _no_skill(item_id, f"the name {inline(name)} has invisible characters", "rename the file")
        mode = mode_of(entry)
        if mode == FOLDER:
            raise _no_skill(item_id, f"its folders nest more than {_DEEPEST} deep", "put them side by side")
        if mode not in {PLAIN, PROGRAM}:
            raise _no_skill(item_id, f"{name} is a link, or no file", "put a copy of the file in its place")
        yield name
