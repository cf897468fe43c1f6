"""Signing many items: all are validated before any is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rye import items, signing, spaces
from rye.errors import ArgumentError, ItemError, SigningError
from rye.index.refresh import ReadItem, read_item
from rye.layout import Layout
from rye.reports import SignedItem, SignReport
from rye.signing import EnvelopeFormat, Scope, SigningKey, TrustEntry, TrustSet, Verdict
from rye.spaces import FileStat, Root
from rye.targets import read_targets

FORMATS = (str(EnvelopeFormat.V2), str(EnvelopeFormat.V1))


@dataclass(frozen=True, slots=True)
class _Job:
    """One file to sign, as it will be written; the same bytes where it stands signed already."""

    root: Root
    file: FileStat
    before: bytes
    after: bytes


def sign_targets(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str,
    key: Path | None = None,
    form: str = "v2",
    dry_run: bool = False,
) -> SignReport:
    """Sign what the texts name in the project or user space.

    Raises:
        ArgumentError: ``bad-space``, ``bad-format``, ``bad-target`` or ``nothing-to-sign``.
        SigningError: ``invalid-items`` with every problem of every file; nothing has been written then.
        NotFoundError: There is no key.
    """
    if space not in ("project", "user"):
        hint = "sign in project or user space; a bundle's items are signed with rye sign --bundle DIR --new-key"
        raise ArgumentError("bad-space", f"space is {space!r}", hint=hint, valid=["project", "user"])
    envelope = _format(form)
    if not texts:
        hint = "name TYPE:ID, a glob such as 'tool:demo/*', or a path"
        raise ArgumentError("nothing-to-sign", "no item was named", hint=hint)
    files: dict[tuple[str, str], tuple[Root, FileStat]] = {}
    for target in read_targets(texts, layout, space):
        found = [(root, file) for root in target.roots for file in spaces.walk(root)[0] if target.accepts(root, file)]
        if not found:
            message = f"nothing matches {target.text!r} in {space} space"
            raise ArgumentError("nothing-to-sign", message, hint="rye search --ids lists what there is")
        outside = [root.source for root, _ in found if root.space != space]
        if outside:
            message = f"{target.text!r} lies in {outside[0]}, not in {space} space"
            raise ArgumentError("bad-target", message, hint="name items of the space given by --space")
        files |= {(root.source, file.rel_path): (root, file) for root, file in found}
    secret = signing.find_signing_key(layout.user) if key is None else signing.load_key_file(key)
    jobs = _prepare(list(files.values()), secret, envelope, signing.system_clock())
    return _write(jobs, secret, dry_run=dry_run)


def sign_bundle(root: Path, *, owner: str, format: str = "v2") -> SignReport:  # noqa: A002 - the word callers expect
    """Sign every item of a bundle with a key made for it and thrown away; its trust file goes into the bundle.

    Trust files of earlier keys are removed: nothing is signed with them any more.

    Args:
        root: The bundle's root, the folder that holds ``directives``, ``tools`` and ``knowledge``.
        owner: Who the trust file says the key belongs to.
        format: ``v2`` or ``v1``.

    Raises:
        ArgumentError: ``bad-target`` when there is no bundle, ``bad-format``.
        SigningError: ``invalid-items``; nothing has been written then.
    """
    envelope = _format(format)
    found, _ = spaces.named_roots([root])
    if len(found) != 1:
        message = f"{root} holds {len(found)} bundles"
        raise ArgumentError("bad-target", message, hint="name a folder with directives, tools or knowledge in it")
    bundle = found[0]
    secret = SigningKey.generate()
    jobs = _prepare([(bundle, file) for file in spaces.walk(bundle)[0]], secret, envelope, signing.system_clock())
    if not jobs:
        raise ArgumentError("nothing-to-sign", f"there are no items below {root}", hint="name another folder")
    trusted = bundle.path / signing.TRUSTED_FOLDER
    trust_file = trusted / signing.trust_file_name(secret.public)
    entry = signing.write_trust_file(secret.public, owner=owner)
    report = _write(jobs, secret, dry_run=False)
    trusted.mkdir(parents=True, exist_ok=True)
    signing.write_atomically(trust_file, entry)
    for old in trusted.glob("*.toml"):
        if old != trust_file:
            old.unlink()
    return SignReport(report.fingerprint, report.items, str(trust_file))


def _format(name: str) -> EnvelopeFormat:
    if name not in FORMATS:
        message = f"format is {name!r}"
        raise ArgumentError("bad-format", message, hint=f"valid are {', '.join(FORMATS)}", valid=list(FORMATS))
    return EnvelopeFormat(name)


def _prepare(
    files: Sequence[tuple[Root, FileStat]], key: SigningKey, form: EnvelopeFormat, now: datetime
) -> list[_Job]:
    """Validate all files and sign them in memory.

    Raises:
        SigningError: ``invalid-items``.
    """
    jobs, problems = [], []
    for root, file in files:
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            problems.append(error.message)
            continue
        faults = _faults(read.item)
        try:
            after = _signed(read, key, form, now)
            faults += _misplaced(read, after)
        except SigningError as error:
            faults.append(error.message)
        if faults:
            problems += [f"{file.rel_path}: {fault}" for fault in faults]
        else:
            jobs.append(_Job(root, file, read.data, after))
    if problems:
        raise SigningError(
            "invalid-items",
            f"{len(problems)} problem(s) in {len(files)} file(s): {'; '.join(problems)}",
            hint="mend them and sign again; nothing was written",
            problems=problems,
        )
    return jobs


def _signed(read: ReadItem, key: SigningKey, form: EnvelopeFormat, now: datetime) -> bytes:
    """Return the signed bytes; the same ones where this key has validly signed them in this format."""
    trust = TrustSet((TrustEntry(key.public, "", Scope.NAMED),))
    standing = signing.judge(read.evidence, origin=read.origin, trust=trust, now=now)
    if standing.verdict is Verdict.TRUSTED and standing.format == form:
        return read.data
    return signing.sign_bytes(read.data, suffix=read.suffix, origin=read.origin, key=key, form=form, now=now)


def _faults(item: items.Item) -> list[str]:
    """Return what an item lacks to be signed."""
    return [f"there is no {name}" for name in ("description", "version") if not getattr(item, name)]


def _misplaced(read: ReadItem, after: bytes) -> list[str]:
    """Return what an item says of its place that its path contradicts: signed, it would be no better than unsigned."""
    words = signing.inspect(after, origin=read.origin, declared=read.item.declared).misplaced
    return [words] if words else []


def _write(jobs: Sequence[_Job], key: SigningKey, *, dry_run: bool) -> SignReport:
    rows = []
    for job in jobs:
        path = job.root.path / job.file.rel_path
        if not dry_run and job.after != job.before:
            signing.write_atomically(path, job.after)
        rows.append(SignedItem(str(job.file.item_type), job.file.item_id, str(path), job.after != job.before))
    return SignReport(str(key.public.fingerprint), tuple(rows))
