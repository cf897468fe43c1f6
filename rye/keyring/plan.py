"""What is about to be signed: made before anything is written, shown, agreed to, and only then carried out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from rye._files import write_atomically
from rye._report import Report
from rye.errors import Interrupted, RyeError, SigningError
from rye.keyring.changes import write_file
from rye.keyring.jobs import Job, JudgedJob, PlannedFile, Progress, check_unchanged, counted
from rye.keyring.lists import BundleList
from rye.spaces.model import Root, Space
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.list import Skill, compare, read_rows
from rye.trust.model import Place, Verdict, signer_words
from rye.trust.trust_store import system_clock

_CHANGED = frozenset({Verdict.TAMPERED, Verdict.PARTIAL, Verdict.MISPLACED})


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
    its items needed any more, and ``list_file`` is the list that was signed with it, if any.
    """

    fingerprint: str
    items: tuple[SignedItem, ...]
    trust_file: str = ""
    warnings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    list_file: str = ""


@dataclass(frozen=True, slots=True)
class BundleFiles:
    """What a bundle needs beside its items.

    Attributes:
        trust_file: The trust file to write before the items, so that what is signed is trusted after an interruption.
        settings: The ranking settings to sign after the items.
        removed: The trust files that nothing needs any more, removed last.
        list: The list to sign after all that; None if none is to be signed.
    """

    trust_file: tuple[Path, bytes] | None = None
    settings: tuple[Path, bytes, Place] | None = None
    removed: tuple[Path, ...] = ()
    list: BundleList | None = None


@dataclass(frozen=True, slots=True)
class SigningPlan:
    """The files to sign with a key.

    Attributes:
        rows: All files that were named; those with a valid signature stay as they are.
        fingerprint: The fingerprint of the key; empty if there is none yet.
        force: Whether to sign the others too.
        audience: The audience to sign a project's items for.
        warnings: Sentences on what is left as it is.
        bundle: What a bundle needs beside its items.
    """

    rows: tuple[JudgedJob, ...]
    fingerprint: str
    force: bool = False
    audience: str = ""
    warnings: tuple[str, ...] = ()
    bundle: BundleFiles = field(default_factory=BundleFiles)

    @property
    def to_sign(self) -> tuple[JudgedJob, ...]:
        """The files that get a new signature."""
        return tuple(row for row in self.rows if self.force or row.code)

    @property
    def unseen(self) -> tuple[PlannedFile, ...]:
        """The files that the user has to see before they are signed: those not named by themselves."""
        rows = [shown for row in self.to_sign if not row.job.named and (shown := _planned(row, self.fingerprint))]
        if self.bundle.settings:
            path = str(self.bundle.settings[0])
            rows.append(PlannedFile(path, path, "changed"))
        return (*rows, *(self.bundle.list.rows if self.bundle.list else ()))

    def report(self) -> SignReport:
        """Return the plan as a report; nothing has been signed."""
        items = tuple(_item(row, changed=self.force or bool(row.code)) for row in self.rows)
        list_file = self.bundle.list.path if self.bundle.list else ""
        return SignReport(self.fingerprint, items, warnings=self.warnings, list_file=list_file)

    def carry_out(self, key: SigningKey, progress: Progress) -> SignReport:
        """Sign the files, and write what the bundle needs.

        Raises:
            ItemError: ``changed-meanwhile``: a file was changed after it was read; it is left unchanged.
            SigningError: As for :meth:`BundleList.carry_out`.
            EnvironmentFault: ``cannot-write``.
            Interrupted: Ctrl-C.
        """
        report, written = self.report(), dict[Path, bytes | None]()
        if self.bundle.trust_file:
            write_file(*self.bundle.trust_file)
            written |= [self.bundle.trust_file]
        if self.fingerprint:
            signed = _sign(self.rows, key, audience=self.audience, force=self.force)
            report = replace(report, items=_write(signed, progress))
            written |= {row.job.root.path / row.job.path: after for row, after in signed}
        if self.bundle.settings:
            path, data, origin = self.bundle.settings
            written[path] = sign_bytes(data, suffix=path.suffix, origin=origin, key=key, now=system_clock())
            write_file(path, written[path])
        for path in self.bundle.removed:
            write_file(path, None)
            written[path] = None
        if self.bundle.list:
            self.bundle.list.carry_out(key, written)
        trust_file = str(self.bundle.trust_file[0]) if self.bundle.trust_file else ""
        return replace(report, trust_file=trust_file, removed=tuple(map(str, self.bundle.removed)))


Confirm = Callable[[SigningPlan], None]
"""Called with a plan that has unseen files before anything is written; an exception from it prevents the write."""


def _planned(row: JudgedJob, fingerprint: str) -> PlannedFile | None:
    """Return the row that shows a file; None if the key has already signed these very bytes."""
    job, found, why, detail = row.job, row.found, "", ""
    if found.verdict is Verdict.UNSIGNED:
        why = "new"
    elif found.verdict in _CHANGED:
        why = "changed"
    elif found.signer != fingerprint:
        why, detail = "other-key", signer_words(found.signer)
    if job.hidden:
        why, detail = "hidden-text", "; ".join(job.hidden)
    path = str(job.root.path / (job.skill or job.file.rel_path))
    return PlannedFile(job.ref, path, why, detail, _changed_files(job)) if why else None


def _changed_files(job: Job) -> tuple[str, ...]:
    """Return the files of a skill that its present signature does not cover as they are."""
    if not job.skill:
        return ()
    signed, detached = {}, job.read.detached
    if isinstance(detached, Skill) and detached.folder.data:
        with suppress(SigningError, ValueError):
            signed = read_rows(detached.folder.data.partition(b"\n")[2])
    return tuple(change.path for change in compare(signed, {file.path: file for file in job.files}))


def _item(row: JudgedJob, *, changed: bool) -> SignedItem:
    file, path = row.job.file, str(row.job.root.path / row.job.file.rel_path)
    return SignedItem(str(file.item_type), file.item_id, path, changed, row.code)


def _sign(
    rows: Iterable[JudgedJob], key: SigningKey, *, audience: str, force: bool
) -> list[tuple[JudgedJob, bytes | None]]:
    """Return each file with the new bytes of its signature file, unchanged if the signature is valid."""
    now, signed = system_clock(), list[tuple[JudgedJob, bytes | None]]()
    # for each skill: path in it → signature of an inner skill
    inside = defaultdict[tuple[Root, str], dict[str, bytes]](dict)
    for row in rows:
        job = row.job.with_signatures(inside[row.job.root, row.job.skill]) if row.job.skill else row.job
        after = job.held
        if job is not row.job or force or row.code:
            demanded = audience if job.root.space is Space.PROJECT else ""
            after = job.sign(origin=job.read.origin, key=key, audience=demanded, now=now)
        if job.skill and after is not None:
            for folder in PurePosixPath(job.skill).parents:
                inside[job.root, str(folder)][job.path.removeprefix(f"{folder}/")] = after
        signed.append((row._replace(job=job), after))
    return signed


def _write(signed: Sequence[tuple[JudgedJob, bytes | None]], progress: Progress) -> tuple[SignedItem, ...]:
    """Write the signed files; a file that changed since it was read is left unchanged and raises an error."""
    items = list[SignedItem]()
    for row, after in counted(signed, progress, "(writing)"):
        job = row.job
        if after is not None and after != job.held:
            done = f"signed {sum(item.changed for item in items)} of {len(signed)} files"
            try:
                write_atomically(job.root.path / job.path, after, ready=partial(check_unchanged, job))
            except RyeError as error:
                raise error.preceded(f"{done}, then: ") from None
            except KeyboardInterrupt:
                raise Interrupted(f"interrupted: {done}", hint="the same command signs the rest") from None
        items.append(_item(row, changed=after != job.held))
    return tuple(items)
