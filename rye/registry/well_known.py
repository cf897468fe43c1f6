"""Skills as a web site publishes them: ``/.well-known/agent-skills/index.json``, and the files that it names.

By version 0.2.0 of Agent Skills Discovery via Well-Known URIs (12 March 2026), a draft that agentskills/agentskills#254
proposes for the specification of Agent Skills: a skill of one file is that ``SKILL.md``, any other an archive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rye._files import write_atomically
from rye._report import Report
from rye._text import quote
from rye.errors import ArgumentError, EnvironmentFault, ItemError, RyeError
from rye.items.clients import SKILL_FILE
from rye.registry.load import check_place
from rye.registry.new_files import WrittenFile
from rye.registry.registry import Registry
from rye.registry.skills import ServedFile, ServedSkill, is_skill_name, skill_uri
from rye.spaces.model import Root, Space
from rye.spaces.tree import PROGRAM
from rye.trust.model import Signature, Verdict
from rye.verify.policy import WELL

PLACE: Final = ".well-known/agent-skills"
SCHEMA: Final = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

_INDEX: Final = f"{PLACE}/index.json"
_ENDINGS: Final = {"skill-md": f"/{SKILL_FILE}", "archive": ".tar.gz"}
_MOST: Final = 1 << 26
"""Bytes of the largest file that an export writes."""

REQUIRE: Final = (*WELL, "any")


@dataclass(frozen=True, slots=True)
class ExportedSkill(Report):
    """A skill that is in the index, or is left out and why.

    Attributes:
        ref: ``directive:ID``.
        source: Where it is.
        signature: The verdict on its ``SKILL.md``.
        entry: As the index has it: name, type, description, url and digest; empty where it is left out.
        reason: Why it is left out; empty if it is not.
    """

    ref: str
    source: str
    signature: Signature
    entry: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SkillsExport(Report):
    """The skills, and every file that was ``written``, ``removed`` or ``kept`` as it was, or would be."""

    skills: tuple[ExportedSkill, ...]
    files: tuple[WrittenFile, ...]
    warnings: tuple[str, ...] = ()


def export_skills(
    registry: Registry,
    folder: Path,
    *,
    space: str = "project",
    bundle: Path | None = None,
    require: str = "trusted",
    dry_run: bool = False,
) -> SkillsExport:
    """Write the Agent Skills of a space below ``.well-known/agent-skills`` of a folder, with the digest of each file.

    What an earlier export wrote is replaced, or removed where its skill is no longer exported; other files are left.
    Nothing is written where no skill can be exported.

    Args:
        registry: Of the spaces.
        folder: The root of the web site.
        space: Whose skills: ``project``, ``user``, ``system`` or ``all``.
        bundle: The folder of a bundle whose skills are meant instead.
        require: ``trusted``: every file of a skill must be covered by a signature that you trust; ``signed``: by one of
            anybody; ``any``: none may be changed, misplaced or by a revoked key.
        dry_run: Whether to only say what would be done.

    Raises:
        ArgumentError: An argument is not valid.
        ItemError: ``copy-exists`` for a file there that no export wrote; ``link-escape``.
        EnvironmentFault: A file cannot be read or written.
    """
    if require not in REQUIRE:
        raise ArgumentError("bad-require", f"require is {require!r}", hint=f"valid are {', '.join(REQUIRE)}")
    new, skills, warnings = dict[str, bytes](), list[ExportedSkill](), tuple[str, ...]()
    with registry.single_scan():
        listed = registry.list_items("directive", space="system" if bundle else space)
        warnings = listed.warnings
        for hit in listed.results:
            inside = bundle is None or Path(hit.path).is_relative_to(os.path.abspath(bundle))  # noqa: PTH100 - no links
            if not (inside and hit.folder.endswith("skills") and hit.path.endswith(f"/{SKILL_FILE}")):
                continue
            skill = ExportedSkill(f"directive:{hit.id}", hit.source, hit.signature)
            try:
                found = registry.skill(skill_uri(hit.source, hit.bundle, hit.id), shadowed=True).skill
                skills.append(_add(new, skill, found, require))
            except RyeError as error:
                reason = f"{error.message}; {error.hint}" if error.hint else error.message
                skills.append(replace(skill, reason=reason))
    files: tuple[WrittenFile, ...] = ()
    if new:
        new[_INDEX] = _index_of([each.entry for each in skills if not each.reason])
        files = tuple(_replace(folder, new, dry_run=dry_run))
    return SkillsExport(tuple(skills), files, warnings)


def _add(new: dict[str, bytes], about: ExportedSkill, skill: ServedSkill, require: str) -> ExportedSkill:
    """Add the file of a skill to those that are written, and return its entry.

    Raises:
        ItemError: It is left out.
    """
    name = skill.front_matter["name"]
    if left := _uncovered(skill, require):
        shown = f"{', '.join(left[:5])}{f' and {len(left) - 5} more' * (len(left) > 5)}"
        raise _left_out(
            f"{skill.signature.reason}; not covered: {shown}", f"--require {REQUIRE[-1]} takes it all the same"
        )
    if skill.hidden:
        shown = ", ".join(map(quote, skill.hidden[:5]))
        raise _left_out(f"its signature covers files that are not published: {shown}", "remove them and sign it again")
    kind = "skill-md" if len(skill.files) == 1 else "archive"
    place, data = _place(name, kind), skill.files[SKILL_FILE].data if kind == "skill-md" else _archive(skill.files)
    if new.keys() & {_place(name, each) for each in _ENDINGS}:
        raise _left_out(f"another skill has the name {name}", "rename one, or choose a folder by --client")
    new[place] = data
    entry = {"name": name, "type": kind, "description": skill.front_matter["description"]}
    entry |= {"url": f"/{place}", "digest": _digest(data)}
    return replace(about, signature=skill.signature, entry=entry)


def _uncovered(skill: ServedSkill, require: str) -> list[str]:
    """Return the files of a skill for which it is left out."""
    if require in WELL and skill.signature.code != "revoked":
        return list(skill.unverified(WELL[require]))
    wrong = (Verdict.TAMPERED, Verdict.MISPLACED)
    return [
        path
        for path, each in skill.files.items()
        if each.signature and (each.signature.verdict in wrong or each.signature.code == "revoked")
    ]


def _archive(files: Mapping[str, ServedFile]) -> bytes:
    """Return a ``.tar.gz`` of files, the same for the same files: in order, without times, owners and links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, each in sorted(files.items()):
            about = tarfile.TarInfo(path)
            about.size, about.mode = len(each.data), 0o755 if each.mode == PROGRAM else 0o644
            archive.addfile(about, io.BytesIO(each.data))
    return gzip.compress(packed.getvalue(), mtime=0)


def _replace(folder: Path, new: Mapping[str, bytes], *, dry_run: bool) -> list[WrittenFile]:
    """Write files, the index last, and remove what the export before wrote and this one does not.

    Raises:
        ItemError, EnvironmentFault: As :func:`export_skills`; a file of somebody else is found before any is written.
    """
    base = Root(Space.PROJECT, Path(os.path.abspath(folder)))  # noqa: PTH100 - links above it are the user's own
    before, files = _written_before(base), dict[str, WrittenFile]()
    for rel_path in sorted({*new, *before}, key=lambda each: (each not in new, each == _INDEX, each)):
        found, mine = _digest_at(base, rel_path), _digest(new[rel_path]) if rel_path in new else ""
        if found not in ("", mine, before.get(rel_path)):
            message = f"{quote(str(base.path / rel_path))} is there, and rye export did not write it"
            raise ItemError("copy-exists", message, hint="move or remove it; only what rye export wrote is replaced")
        if found or mine:
            action = "kept" if found == mine else "written" if mine else "removed"
            files[rel_path] = WrittenFile(str(base.path / rel_path), "", action)
    for rel_path, each in () if dry_run else files.items():
        path = Path(each.path)
        try:
            if each.action == "written":
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, new[rel_path])
            elif each.action == "removed":
                path.unlink()
        except OSError as error:
            message = f"{quote(each.path)} cannot be {each.action}: {error.strerror}"
            raise EnvironmentFault("cannot-write", message, hint="check permissions and free space") from None
    return list(files.values())


def _written_before(base: Root) -> dict[str, str]:
    """Return the digest of each file that the export before wrote; none where its index is not as it was written.

    The places are made of names: an address may say anything.
    """
    if not _digest_at(base, _INDEX).startswith("sha256:"):
        return {}
    data = (base.path / _INDEX).read_bytes()
    try:
        entries = json.loads(data)["skills"]
        if data != _index_of(entries):
            return {}
        digests = {_place(each["name"], each["type"]): str(each["digest"]) for each in entries}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return digests | {_INDEX: _digest(data)}


def _index_of(entries: Sequence[Mapping[str, str]]) -> bytes:
    """Return the index, with a digest by which the next export knows that nobody changed it."""
    seal = _digest(json.dumps(entries).encode())
    index = {"$schema": SCHEMA, "skills": entries, "rye": seal}
    return json.dumps(index, indent=1, ensure_ascii=False).encode() + b"\n"


def _place(name: str, kind: str) -> str:
    """Return the path of the file of a skill below the root of the site.

    Raises:
        ValueError: No skill can have this name or type.
    """
    if not is_skill_name(name):
        raise ValueError(name)
    return f"{PLACE}/{name}{_ENDINGS[kind]}"


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _digest_at(base: Root, rel_path: str) -> str:
    """Return the digest of a file; empty where there is none, and ``other`` for what no export writes.

    Raises:
        ItemError: ``link-escape``.
        EnvironmentFault: ``unreadable``.
    """
    path = base.path / rel_path
    check_place(base, rel_path)
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST:
            return "other" if os.path.lexists(path) else ""
        return _digest(path.read_bytes())
    except OSError as error:
        message = f"{quote(str(path))} cannot be read: {error.strerror}"
        raise EnvironmentFault("unreadable", message, hint="check its permissions") from None


def _left_out(why: str, hint: str) -> ItemError:
    return ItemError("not-a-skill", why, hint=hint)
