"""Reads and validates the files to sign: each becomes a :class:`Job`, or a problem that keeps all from being signed."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar, Unpack

from rye._files import is_half_written, sweep
from rye._report import Report
from rye.errors import ItemError
from rye.keyring.validate import faults, program_problems
from rye.spaces.contents import SkillFiles, read_skill
from rye.spaces.discover import check_writable
from rye.spaces.git import authors
from rye.spaces.model import ItemFile, Root
from rye.spaces.read import is_detached
from rye.spaces.signed import ReadItem, read_item, read_signed
from rye.spaces.snapshot import PLAIN, sweep_below
from rye.spaces.targets import NamedFile
from rye.spaces.uncovered import named_files
from rye.trust.judge import judge
from rye.trust.line import DETACHED_SUFFIX, SigningTerms, sign_bytes, sign_detached
from rye.trust.list import SKILL_SIGNATURE, ListedFile, Skill, sign_skill, unlistable, write_rows
from rye.trust.model import OMS, EnvelopeFormat, Signature, Verdict
from rye.trust.reasons import UNCHECKED
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock

Progress = Callable[[int, int, str], None] | None  # (files done, all files, the current step)
_T = TypeVar("_T")
_LINE = re.compile(r"line (\d+): ")
_CAUSES = 10
"""Maximum number of causes of notes that are reported separately."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to sign, as it was read.

    Attributes:
        root: Its root.
        file: The file below the root.
        read: Its bytes and the evidence in them.
        skill: The folder of a skill that is signed as a whole; empty for other files.
        files: The files of that skill.
        hidden: Sentences about text in it that a reader does not see.
        named: Whether the user named it by itself: its id, its path, or the folder of its skill.
    """

    root: Root
    file: ItemFile
    read: ReadItem
    skill: str = ""
    files: tuple[ListedFile, ...] = ()
    hidden: tuple[str, ...] = ()
    named: bool = False

    @property
    def ref(self) -> str:
        """The file as ``type:id``."""
        return f"{self.file.item_type}:{self.file.item_id}"

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that name exactly this file: its own, and the folder of a skill that is signed as a whole."""
        return tuple(str(self.root.path / path) for path in (self.file.rel_path, self.skill) if path)

    @property
    def path(self) -> str:
        """The path, below the root, of the file that holds the signature: the item itself, or a separate file."""
        if self.skill:
            return f"{self.skill}/{SKILL_SIGNATURE}"
        path = self.file.rel_path
        return f"{path}{DETACHED_SUFFIX}" if is_detached(path) else path

    @property
    def held(self) -> bytes | None:
        """The bytes of the file at :attr:`path` as read; None if there is no such file yet."""
        detached = self.read.detached
        if self.skill:
            return (
                detached.folder.data
                if isinstance(detached, Skill) and detached.folder.name == SKILL_SIGNATURE
                else None
            )
        return (
            detached if isinstance(detached, bytes) else self.read.data if not is_detached(self.file.rel_path) else None
        )

    def with_signatures(self, inside: Mapping[str, bytes]) -> Job:
        """Return the skill with the new signatures of skills inside it; itself if none is new."""
        modes = {file.path: file.mode for file in self.files}
        taken = [ListedFile(path, modes.get(path, PLAIN), hashlib.sha256(inside[path]).hexdigest()) for path in inside]
        files = tuple({file.path: file for file in (*self.files, *taken)}.values())
        return self if files == self.files else replace(self, files=files)

    def sign(self, **terms: Unpack[SigningTerms]) -> bytes:
        """Return the new bytes of :attr:`path`."""
        if self.skill:
            return sign_skill(self.files, **terms | {"origin": terms["origin"].of_skill(self.skill)})
        if is_detached(self.file.rel_path):
            return sign_detached(self.read.data, **terms)
        return sign_bytes(self.read.data, suffix=self.read.suffix, **terms)


class JudgedJob(NamedTuple):
    """A file to sign, with the verdict on its present signature.

    Attributes:
        job: The file.
        found: The verdict.
        code: Its code; empty if the signature is valid and of the current format.
    """

    job: Job
    found: Signature
    code: str

    @classmethod
    def by(cls, job: Job, *trusts: TrustSet) -> JudgedJob:
        """Judge a file's signature by some keys and, if they do not accept it, by others."""
        first, *rest = [cls._by(job, trust) for trust in trusts]
        if not first.code or first.code in UNCHECKED:  # a signature by another key
            return next((row for row in (first, *rest) if not row.code), (rest or [first])[-1])
        return first

    @classmethod
    def _by(cls, job: Job, trust: TrustSet) -> JudgedJob:
        found = judge(job.read.evidence, origin=job.read.origin, trust=trust, now=system_clock())
        is_whole = found.verdict is Verdict.TRUSTED or (found.code == "outside-skill" and not job.skill)
        return cls(job, found, "" if is_whole and found.format in {EnvelopeFormat.V2, OMS} else found.code)


@dataclass(frozen=True, slots=True)
class PlannedFile(Report):
    """One file that the key would answer for, and that it has not signed as it is now.

    Attributes:
        name: ``type:id`` of an item, else the path of the file.
        path: Its path.
        why: ``new``, ``changed``, ``removed``, ``other-key`` or ``hidden-text``.
        detail: The other key, or what the hidden text says; else empty.
        files: The new or changed files of a skill, below its folder.
        by: Who last committed it, where git knows.
    """

    name: str
    path: str
    why: str
    detail: str = ""
    files: tuple[str, ...] = ()
    by: str = ""


def with_authors(rows: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Fill in who last committed each file, and in a skill each new or changed file; empty where git knows none."""
    files = {row: [f"{row.path}/{name}" for name in row.files] or [row.path] for row in rows}
    paths = [path for inner in files.values() for path in inner]
    known = authors(Path(rows[0].path).parent, paths) if rows else {}
    by = {row: dict.fromkeys(known[path] for path in inner if path in known) for row, inner in files.items()}
    return tuple(replace(row, by=", ".join(names)) for row, names in by.items())


def sweep_beside(files: Iterable[NamedFile]) -> None:
    """Remove what killed writers left beside the files to sign, and anywhere in skills."""
    for folder in {(root.path / file.rel_path).parent for root, file, _ in files}:
        sweep(folder)
    for folder in {root.path / skill for root, _, skill in files if skill}:
        sweep_below(folder)


def counted(values: Sequence[_T], progress: Progress, doing: str) -> Iterator[_T]:
    """Yield values, and report after each how many are done."""
    for done, value in enumerate(values, 1):
        yield value
        if progress is not None:
            progress(done, len(values), doing)


def refuse_others(jobs: Iterable[Job]) -> None:
    """Refuse to sign files that others may have written, or in a space that is theirs.

    Raises:
        EnvironmentFault: As :func:`rye.spaces.discover.check_writable`.
    """
    below = defaultdict[Root, list[str]](list)
    for job in jobs:
        below[job.root] += [job.file.rel_path, *(f"{job.skill}/{file.path}" for file in job.files)]
    for root, paths in below.items():
        check_writable(root, paths)


def read_jobs(
    files: Sequence[NamedFile], progress: Progress, *, validate: bool = True, allow_hidden: bool = False
) -> tuple[list[Job], list[str]]:
    """Read all files and, if ``validate`` is set, validate them; return those that can be signed, and all problems."""
    jobs, problems = list[Job](), list[str]()
    for root, file, skill in counted(files, progress, "(reading)"):
        place = (root.path / file.rel_path).relative_to(root.around).as_posix()
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
            content = _finished(root, skill) if skill else SkillFiles((), ())
            programs = [*program_problems(root, skill, content.files)] if validate else []
        except ItemError as error:
            problems.append(f"{place}: {error.message.removeprefix(f'{file.rel_path}: ')}")
            continue
        hidden = tuple(filter(None, (read.hidden, *content.hidden))) if validate else ()
        wrong = [*(faults(read, root) if validate else ()), *programs, unlistable(content.files)]
        if not allow_hidden:
            wrong += [f"hidden text: {said}; remove it, or sign with --allow-hidden" for said in hidden]
        if found := [f"{place}: {fault}" for fault in wrong if fault]:
            problems += found
        else:
            jobs.append(Job(root, file, read, skill, content.files, hidden))
    return jobs, problems


def _finished(root: Root, skill: str) -> SkillFiles:
    """Read the files of a skill, but none that another process is writing."""
    content = read_skill(root, skill)
    files = (file for file in content.files if not is_half_written(PurePosixPath(file.path).name))
    return content._replace(files=tuple(files))


def notes(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return a sentence for each cause of notes on metadata, with the number of files and the first few names."""
    own = [job for job in jobs if job.root.client is None and not job.read.item.description]
    bare = [(job.file.rel_path, "there is no description; a search has only its name to show") for job in own]
    causes = defaultdict[str, list[str]](list)
    for name, note in [*((job.file.rel_path, job.read.item.note) for job in jobs if job.read.item.note), *bare]:
        match = _LINE.search(note)
        cause = note.replace(match[0], "", 1) if match else note
        if cause not in causes and len(causes) == _CAUSES:
            cause = "the metadata is not YAML for other causes, and was read line by line"
        causes[cause].append(f"{name} (line {match[1]})" if match else name)
    counts = {cause: "1 file" if len(names) == 1 else f"{len(names):,} files" for cause, names in causes.items()}
    return tuple(f"{cause}: {counts[cause]}, {named_files(names)}" for cause, names in causes.items())


def check_unchanged(job: Job) -> None:
    """Raise ``changed-meanwhile`` if anything that the signature covers differs from what was read."""
    if job.skill:
        is_same = write_rows(_finished(job.root, job.skill).files) == write_rows(job.files)
    else:
        is_same = read_signed(job.root, job.file.rel_path) == (job.read.data, job.read.detached)
    if not is_same:
        message = f"{job.file.rel_path} was changed while it was being signed; it is left as it is"
        hint = "look at it and sign again; files signed before it stay signed"
        raise ItemError("changed-meanwhile", message, hint=hint, path=job.file.rel_path)
