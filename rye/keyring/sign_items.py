"""Signs many items or none: validates all of them, then writes."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar, Unpack

from rye._files import is_half_written, sweep, write_atomically
from rye._report import Report
from rye.errors import ArgumentError, Interrupted, ItemError, NotFoundError, RyeError, SigningError
from rye.keyring.changes import write_file
from rye.keyring.private import Keyring
from rye.keyring.validate import faults, program_problems
from rye.options.model import check
from rye.options.search import SIGNED_SPACE
from rye.spaces.bundles import named_bundle
from rye.spaces.discover import check_writable
from rye.spaces.layout import Layout
from rye.spaces.lists import keys_of_list
from rye.spaces.model import ItemFile, Root
from rye.spaces.read import is_detached
from rye.spaces.signed import ReadItem, SkillFiles, read_item, read_signed, read_skill
from rye.spaces.snapshot import PLAIN, sweep_below
from rye.spaces.state import MAX_SETTINGS, SETTINGS, judge_settings, settings_place
from rye.spaces.targets import NamedFile, files_to_sign, whole_skills
from rye.spaces.uncovered import named_files
from rye.spaces.walk import list_items_of
from rye.trust.judge import judge
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.line import DETACHED_SUFFIX, SigningTerms, sign_bytes, sign_detached
from rye.trust.list import SKILL_SIGNATURE, ListedFile, Skill, sign_skill, unlistable, write_rows
from rye.trust.model import OMS, EnvelopeFormat, Verdict, signer_words
from rye.trust.reasons import UNCHECKED
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER, leads_out, load_trust, read_trust_bytes, system_clock

Progress = Callable[[int, int, str], None] | None  # (files done, all files, the current step)
_T = TypeVar("_T")
_LINE = re.compile(r"line (\d+): ")
_NAMED = 5
_CAUSES = 10
"""Maximum number of causes of notes that are reported separately."""


class SignMode(StrEnum):
    """Whether files are written, only reported, or only compared with the key."""

    WRITE = "write"
    DRY_RUN = "dry-run"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class SignedItem(Report):
    """One file that was signed, or would be; ``changed`` is False if it was already validly signed.

    ``code`` is the reason code of its previous state, judged by the signing key; in a bundle that is signed as a whole,
    by the bundle's own trust files. It is empty if the signature was valid and of the same format.
    """

    type: str
    id: str
    path: str
    changed: bool
    code: str = ""


@dataclass(frozen=True, slots=True)
class SignReport(Report):
    """The result of signing: the key's fingerprint, every file, its trust file, and warnings.

    Fingerprint and trust file are empty if a bundle needed no signature; ``removed`` are the trust files that none of
    its items needed any more.
    """

    fingerprint: str
    items: tuple[SignedItem, ...]
    trust_file: str = ""
    warnings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Job:
    """One file to sign, and the state of its signature: key and reason code; the code is empty if it is valid.

    For a skill that is signed as a whole, ``skill`` is its folder and ``files`` are the files in it.
    """

    root: Root
    file: ItemFile
    read: ReadItem
    skill: str = ""
    files: tuple[ListedFile, ...] = ()
    signer: str = ""
    code: str = ""
    owner: str = ""

    def judge(self, *trusts: TrustSet) -> None:
        """Judge the file's signature by some keys and, if they do not accept it, by others."""
        first, *rest = [self._state(trust) for trust in trusts]
        if not first[1] or first[1] in UNCHECKED:  # a signature by another key
            first = next((state for state in (first, *rest) if not state[1]), (rest or [first])[-1])
        self.signer, self.code, self.owner = first

    def _state(self, trust: TrustSet) -> tuple[str, str, str]:
        """Return signer, reason code and owner; the code is empty for a valid signature of the current format."""
        signature = judge(self.read.evidence, origin=self.read.origin, trust=trust, now=system_clock())
        is_whole = signature.verdict is Verdict.TRUSTED or (signature.code == "outside-skill" and not self.skill)
        code = "" if is_whole and signature.format in {EnvelopeFormat.V2, OMS} else signature.code
        return signature.signer, code, signature.owner

    @property
    def names(self) -> tuple[str, ...]:
        """The names that select exactly this file: ``type:id``, its id, its path, and the folder of its skill."""
        places = [str(self.root.path / path) for path in (self.file.rel_path, self.skill) if path]
        return (f"{self.file.item_type}:{self.file.item_id}", self.file.item_id, *places)

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

    def take(self, inside: Mapping[str, bytes]) -> bool:
        """Take over the new signatures of skills inside this one; return whether any is new."""
        modes = {file.path: file.mode for file in self.files}
        taken = [ListedFile(path, modes.get(path, PLAIN), hashlib.sha256(inside[path]).hexdigest()) for path in inside]
        before, self.files = self.files, tuple({file.path: file for file in (*self.files, *taken)}.values())
        return self.files != before

    def sign(self, **terms: Unpack[SigningTerms]) -> bytes:
        """Return the new bytes of :attr:`path`."""
        if self.skill:
            return sign_skill(self.files, **terms | {"origin": terms["origin"].of_skill(self.skill)})
        if is_detached(self.file.rel_path):
            return sign_detached(self.read.data, **terms)
        return sign_bytes(self.read.data, suffix=self.read.suffix, **terms)

    def row(self, *, changed: bool) -> SignedItem:
        """Return the file's row in the report."""
        path = str(self.root.path / self.file.rel_path)
        return SignedItem(str(self.file.item_type), self.file.item_id, path, changed, self.code)


def sign_targets(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str,
    keyring: Keyring,
    key: str | Path | None = None,
    mode: SignMode = SignMode.WRITE,
    force: bool = False,
    allow_hidden: bool = False,
    expected: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> SignReport:
    """Sign the items that the texts name in the project or user space.

    Args:
        texts: ``type:id``, globs of ids, scopes or paths.
        layout: The spaces, with the audience for which a project's items are signed.
        space: ``project`` or ``user``.
        keyring: The keyring with the key.
        key: Its name or file; None takes the environment's, else the default key, and leaves valid signatures of other
            trusted keys unchanged.
        mode: Whether files are written. Only writing needs the private key; a check does not validate metadata.
        force: Whether to sign again what the key has validly signed.
        allow_hidden: Whether to sign files with text that a reader does not see.
        expected: Path → SHA-256 of the only files that may be signed; None for any. For a skill that is signed as a
            whole, the path of its folder and the digest of the list of its files.
        progress: Called during the work.

    Raises:
        ArgumentError: ``bad-space``, ``bad-target`` or ``nothing-to-sign``.
        SigningError: ``invalid-items`` with every problem of every file, or ``changed-meanwhile`` if they are not the
            expected ones; nothing has been written then.
        NotFoundError: There is no key.
        ItemError: ``changed-meanwhile``: a file was changed after it was read; it is left unchanged.
    """
    check(SIGNED_SPACE, space)
    if not texts:
        hint = "name TYPE:ID, a glob such as 'tool:demo/*', or a path; or all of them with --all"
        raise ArgumentError("nothing-to-sign", "no item was named", hint=hint)
    named, missed, skipped = files_to_sign(texts, layout, space)
    if mode is SignMode.WRITE:
        _sweep(named)
    jobs = _read_all(named, missed, progress, validate=mode is not SignMode.CHECK, allow_hidden=allow_hidden)
    if mode is not SignMode.CHECK:
        _refuse_others(jobs)
    secret = keyring.signing_key(key, force=force) if mode is SignMode.WRITE else None
    public = secret.public if secret else _public(keyring, key, mode)
    trust = TrustSet(() if public is None else (TrustEntry(public, "", TrustScope.NAMED),), layout.audience)
    audience = layout.audience if space == "project" else ""
    user_trust = (keyring.trust.load().trust,) if key is None and mode is not SignMode.CHECK else ()
    for job in jobs:
        job.judge(trust, *user_trust)
    left_out = () if force or not user_trust else _drop_foreign(jobs, texts, (trust, *user_trust))
    if expected is not None:
        _check_expected([job for job in jobs if force or job.code], expected)
    fingerprint = str(public.fingerprint) if public else ""
    kept = () if force else _kept(jobs, fingerprint, user_trust)
    if secret is None:
        rows = [job.row(changed=force or bool(job.code)) for job in jobs]
        return SignReport(fingerprint, tuple(rows), warnings=(*skipped, *_notes(jobs), *kept, *left_out))
    rows = _write(_sign(jobs, secret, audience=audience, force=force), progress)
    rejections = _rejections(_counted(jobs, progress, "(checking)"), keyring)
    return SignReport(fingerprint, tuple(rows), warnings=(*skipped, *_notes(jobs), *kept, *left_out, *rejections))


def _sweep(files: Iterable[NamedFile]) -> None:
    """Remove what killed writers left beside the files to sign, and anywhere in skills."""
    for folder in {(root.path / file.rel_path).parent for root, file, _ in files}:
        sweep(folder)
    for folder in {root.path / skill for root, _, skill in files if skill}:
        sweep_below(folder)


def _counted(values: Sequence[_T], progress: Progress, doing: str) -> Iterator[_T]:
    for done, value in enumerate(values, 1):
        yield value
        if progress is not None:
            progress(done, len(values), doing)


def _refuse_others(jobs: Iterable[_Job]) -> None:
    """Refuse to sign files that others may have written, or in a space that is theirs.

    Raises:
        EnvironmentFault: As :func:`rye.spaces.discover.check_writable`.
    """
    below = defaultdict[Root, list[str]](list)
    for job in jobs:
        below[job.root] += [job.file.rel_path, *(f"{job.skill}/{file.path}" for file in job.files)]
    for root, paths in below.items():
        check_writable(root, paths)


def _public(keyring: Keyring, key: str | Path | None, mode: SignMode) -> PublicKey | None:
    """Return the key to compare with; None in a dry run if no key was named or made."""
    try:
        return keyring.public_key(key)
    except NotFoundError:
        if key is None and mode is SignMode.DRY_RUN and not keyring.is_in_environment:
            return None
        raise


def sign_bundle(
    root: Path,
    *,
    owner: str,
    key: SigningKey | None = None,
    trust: TrustSet | None = None,
    force: bool = False,
    allow_hidden: bool = False,
    progress: Progress = None,
) -> SignReport:
    """Sign each item of a bundle that is not validly signed, skills as a whole, and its ranking settings.

    Signatures that the bundle's own trust files accept stay, and so do these trust files. So two branches differ only
    in the items that they edit. A trust file is removed if neither an item nor the list needs it any more, unless it
    revokes its key or cannot be read. If nothing needs signing, no key is made.

    Args:
        root: The bundle's root, the folder that holds ``directives``, ``tools`` and ``knowledge``; or one with skills.
        owner: The owner of the key, for its trust file.
        key: The signing key; None makes a key for this call and throws it away.
        trust: The user's keys; items signed by one of them that is revoked or expired are signed again.
        force: Whether to sign every item again.
        allow_hidden: Whether to sign files with text that a reader does not see.
        progress: Called during the work.

    Raises:
        ArgumentError: ``bad-target``: there is no bundle.
        SigningError: ``invalid-items`` or ``not-a-file``; nothing has been written then.
        ItemError: ``changed-meanwhile``.
        EnvironmentFault: ``project-elsewhere``, ``cannot-write``, or ``unreadable`` for the list.
    """
    roots = named_bundle(root)
    bundle, home = roots[0].bundle, roots[0].trust_root
    trusted, inside = home / TRUSTED_FOLDER, home if roots[0].client is None else roots[0].around
    if leads_out(trusted, inside):
        raise SigningError("not-a-file", f"{trusted} leads out of {inside}", hint="put a folder there, no link")
    files, missed = list_items_of(roots)
    named = whole_skills([(*item, False) for item in files])
    _sweep(named)
    jobs = _read_all(named, [fault.message for fault in missed], progress, allow_hidden=allow_hidden)
    _refuse_others(jobs)
    if not jobs:
        raise ArgumentError("nothing-to-sign", f"there are no items below {root}", hint="name another folder")
    load, needed = load_trust(bundles={bundle: home}, built_in=home), keys_of_list(home)
    for job in jobs:
        job.judge(load.trust)
        if trust is not None and not job.code:
            standing = trust.may_sign(job.signer, job.read.origin, system_clock())
            job.code = standing.code if standing.code in {"revoked", "expired"} else ""
    fingerprint = trust_file = ""
    rows = [job.row(changed=False) for job in jobs]
    settings = read_trust_bytes(home / SETTINGS, MAX_SETTINGS) if (home / SETTINGS).is_file() else b""
    if len(settings) > MAX_SETTINGS:
        message = f"{home / SETTINGS} has more than {MAX_SETTINGS:,} bytes"
        raise SigningError("invalid-items", message, hint="shorten it and sign again; nothing was written")
    known = judge_settings(bundle, settings, trust=load.trust, now=system_clock())
    stale = bool(settings) and (force or known.verdict is not Verdict.TRUSTED)
    if force or stale or any(job.code for job in jobs):
        secret = key or SigningKey.generate()
        entry = trust_file_bytes(secret.public, owner=owner, short=True)
        signed = _sign(jobs, secret, force=force)
        # before the items, so that items already signed are trusted even after an interruption
        if not load.trust.named(secret.public.fingerprint):
            trust_file = str(trusted / trust_file_name(secret.public))
            write_file(Path(trust_file), entry)
        rows, fingerprint = _write(signed, progress), str(secret.public.fingerprint)
        if stale:
            place = settings_place(bundle)
            settings = sign_bytes(settings, suffix=".yaml", origin=place, key=secret, now=system_clock())
            write_file(home / SETTINGS, settings)
    needed |= {fingerprint, "" if stale else known.signer, *(job.signer for job in jobs if not (job.code or force))}
    return SignReport(fingerprint, tuple(rows), trust_file, load.warnings, _remove_unneeded(load.trust, needed))


def _remove_unneeded(trust: TrustSet, needed: set[str]) -> tuple[str, ...]:
    """Remove the trust files of a bundle whose keys nothing needs, and return their paths.

    Files that revoke a key, or may do so, stay. Otherwise its signatures would be valid again if another file names it.
    """
    unneeded = [entry.source for entry in trust.entries if not entry.revoked and entry.fingerprint not in needed]
    for path in unneeded:
        write_file(Path(path), None)
    return tuple(unneeded)


def _read_all(
    files: Sequence[NamedFile],
    missed: Sequence[str],
    progress: Progress,
    *,
    validate: bool = True,
    allow_hidden: bool = False,
) -> list[_Job]:
    """Read all files and, if ``validate`` is set, validate them; files that could not be listed are problems too."""
    jobs, problems = list[_Job](), list(missed)
    for root, file, skill in _counted(files, progress, "(reading)"):
        place = (root.path / file.rel_path).relative_to(root.around).as_posix()
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
            content = _without_unfinished(read_skill(root, skill)) if skill else SkillFiles((), ())
            programs = [*program_problems(root, skill, content.files)] if validate else []
        except ItemError as error:
            problems.append(f"{place}: {error.message.removeprefix(f'{file.rel_path}: ')}")
            continue
        problems_of_item = faults(read, root) if validate else ()
        hidden = (read.hidden, *content.hidden) if validate and not allow_hidden else ()
        problems_of_item = (*problems_of_item, *programs, unlistable(content.files), *map(_hidden_problem, hidden))
        problems += [f"{place}: {fault}" for fault in problems_of_item if fault]
        jobs.append(_Job(root, file, read, skill, content.files))
    if problems:
        message = f"{len(problems)} problem(s) in {len(files) + len(missed)} file(s)"
        hint = "fix them and sign again; nothing was written"
        raise SigningError("invalid-items", message, hint=hint, problems=problems)
    return jobs


def _without_unfinished(content: SkillFiles) -> SkillFiles:
    """Leave out the files that another process is writing."""
    return content._replace(files=tuple(file for file in content.files if not is_half_written(_name(file))))


def _name(file: ListedFile) -> str:
    return file.path.rpartition("/")[2]


def _hidden_problem(said: str) -> str:
    return f"hidden text: {said}; remove it, or sign with --allow-hidden" if said else ""


def _notes(jobs: Sequence[_Job]) -> tuple[str, ...]:
    """Return notes on metadata that is not YAML, and on missing descriptions: one note per cause, with the files."""
    own = [job for job in jobs if job.root.client is None and not job.read.item.description]
    bare = [(job.file.rel_path, "there is no description; a search has only its name to show") for job in own]
    not_yaml = [(job.file.rel_path, job.read.item.note) for job in jobs if job.read.item.note]
    return _notes_warnings([*not_yaml, *bare])


def _notes_warnings(notes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a sentence for each cause of notes on metadata, with the number of files and the first few names.

    Args:
        notes: The name of each file and its note.
    """
    causes = defaultdict[str, list[str]](list)
    for name, note in notes:
        match = _LINE.search(note)
        cause = note.replace(match[0], "", 1) if match else note
        if cause not in causes and len(causes) == _CAUSES:
            cause = "the metadata is not YAML for other causes, and was read line by line"
        causes[cause].append(f"{name} (line {match[1]})" if match else name)
    counts = {cause: "1 file" if len(names) == 1 else f"{len(names):,} files" for cause, names in causes.items()}
    return tuple(f"{cause}: {counts[cause]}, {named_files(names)}" for cause, names in causes.items())


def _kept(jobs: Iterable[_Job], fingerprint: str, trusts: Iterable[TrustSet]) -> tuple[str, ...]:
    """Return warnings about signatures of other keys that were left unchanged."""
    counts = Counter(job.signer for job in jobs if not job.code and job.signer != fingerprint)
    named = {signer: entry.owner for trust in trusts for signer in counts for entry in trust.named(signer)[:1]}
    owners = {job.signer: job.owner for job in jobs} | named
    return tuple(
        f"left as {owners[signer] or 'their owner'} signed {'it' if count == 1 else f'them: {count:,} items'}, "
        f"with {signer_words(signer)}; --force signs with your key"
        for signer, count in counts.items()
    )


def _drop_foreign(jobs: list[_Job], texts: Sequence[str], trusts: Sequence[TrustSet]) -> tuple[str, ...]:
    """Leave out items signed by a key that no trust set knows, unless they are named one by one.

    A signer answers for the text, and nobody should answer for a stranger's text in passing.

    Returns:
        A warning that names them.
    """
    named = {name for text in texts for name in (text, os.path.abspath(text))}  # noqa: PTH100 - links stay
    signed = [job for job in jobs if job.code and (job.signer or job.read.evidence.format == OMS)]
    foreign = [job for job in signed if not any(trust.named(job.signer) for trust in trusts)]
    left = [job for job in foreign if named.isdisjoint(job.names)]
    jobs[:] = [job for job in jobs if job not in left]
    if not left:
        return ()
    refs = [f"{job.file.item_type}:{job.file.item_id}" for job in left]
    names = f"{', '.join(refs[:_NAMED])}{f' and {len(refs) - _NAMED} more' if len(refs) > _NAMED else ''}"
    return (f"left as a key signed them that you do not trust: {names}; read them, then name each one to sign it",)


def _rejections(jobs: Iterable[_Job], keyring: Keyring) -> tuple[str, ...]:
    """Return why signatures just made are not valid for this user, once for each reason."""
    trust, now = keyring.trust.load().trust, system_clock()
    reasons: dict[str, str] = {}
    for job in jobs:
        try:
            read = read_item(job.root, job.file.rel_path, job.file.item_type, job.file.item_id)
        except ItemError as error:
            reasons.setdefault(error.code, error.message)
            continue
        signature = judge(read.evidence, origin=read.origin, trust=trust, now=now)
        if signature.verdict is not Verdict.TRUSTED:
            ref = f"{job.file.item_type}:{job.file.item_id}"
            reasons.setdefault(signature.code, f"{ref} is signed, but {signature.verdict}: {signature.reason}")
    return tuple(reasons.values())


def _sign(jobs: Sequence[_Job], key: SigningKey, *, audience: str = "", force: bool) -> list[tuple[_Job, bytes | None]]:
    """Return each file with the new bytes of its signature file, unchanged if the signature is valid."""
    now, signed = system_clock(), list[tuple[_Job, bytes | None]]()
    # for each skill: path in it → signature of an inner skill
    inside = defaultdict[tuple[Root, str], dict[str, bytes]](dict)
    for job in jobs:
        after = job.held
        if (job.skill and job.take(inside[job.root, job.skill])) or force or job.code:
            after = job.sign(origin=job.read.origin, key=key, audience=audience, now=now)
        if job.skill and after is not None:
            for folder in PurePosixPath(job.skill).parents:
                inside[job.root, str(folder)][job.path.removeprefix(f"{folder}/")] = after
        signed.append((job, after))
    return signed


def _check_expected(jobs: Sequence[_Job], expected: Mapping[str, str]) -> None:
    """Refuse to sign skills that were not reviewed, and files that differ from the reviewed ones."""
    for job in jobs:
        path = str(job.root.path / (job.skill or job.file.rel_path))
        if job.skill and path not in expected:
            message = f"{job.file.rel_path} is a skill, which is signed with every file in its folder"
            raise ArgumentError("bad-target", message, hint=f"the user runs: rye sign directive:{job.skill}")
        data = write_rows(job.files) if job.skill else job.read.data
        if expected.get(path) != hashlib.sha256(data).hexdigest():
            message = f"{job.file.rel_path} is not what was to be signed"
            raise SigningError("changed-meanwhile", message, hint="look at the files, then sign them", path=path)


def _check_unchanged(job: _Job) -> None:
    """Raise ``changed-meanwhile`` if anything that the signature covers differs from what was read."""
    if job.skill:
        known, present = {file.path for file in job.files}, read_skill(job.root, job.skill).files
        covered = (row for row in present if row.path in known or not is_half_written(_name(row)))  # not the new .sig
        is_same = write_rows(covered) == write_rows(job.files)
    else:
        is_same = read_signed(job.root, job.file.rel_path) == (job.read.data, job.read.detached)
    if not is_same:
        message = f"{job.file.rel_path} was changed while it was being signed; it is left as it is"
        hint = "look at it and sign again; files signed before it stay signed"
        raise ItemError("changed-meanwhile", message, hint=hint, path=job.file.rel_path)


def _write(signed: Sequence[tuple[_Job, bytes | None]], progress: Progress) -> list[SignedItem]:
    """Write the signed files; a file that changed since it was read is left unchanged and raises an error."""
    rows = list[SignedItem]()
    for job, after in _counted(signed, progress, "(writing)"):
        if after is not None and after != job.held:
            done = f"signed {sum(row.changed for row in rows)} of {len(signed)} files"
            try:
                write_atomically(job.root.path / job.path, after, ready=partial(_check_unchanged, job))
            except RyeError as error:
                raise error.preceded(f"{done}, then: ") from None
            except KeyboardInterrupt:
                hint = "the same command signs the rest"
                raise Interrupted(f"interrupted: {done}", hint=hint) from None
        rows.append(job.row(changed=after != job.held))
    return rows
