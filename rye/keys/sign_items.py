"""Sign many items or none: validate all of them, then write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rye import signing, spaces
from rye._report import Report
from rye.errors import ArgumentError, ItemError, NotFoundError, SigningError
from rye.keys.keyring import Keyring
from rye.keys.trust_changes import unlink, write_trust_file
from rye.keys.validate import faults, link_problems
from rye.parameters import COMMANDS, check
from rye.signing import EnvelopeFormat, PublicKey, SigningKey, TrustEntry, TrustScope, TrustSet, Verdict
from rye.spaces import ItemFile, Root
from rye.spaces.layout import Layout
from rye.spaces.read import ReadItem, read_item
from rye.spaces.targets import read_targets

FORMATS = (str(EnvelopeFormat.V2), str(EnvelopeFormat.V1))


class SignMode(StrEnum):
    """Whether files are written, only reported, or only compared with the key."""

    WRITE = "write"
    DRY_RUN = "dry-run"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class SignedItem(Report):
    """One file that was signed, or would be; ``changed`` is False where it was validly signed already.

    ``code`` is the reason code of how it stood before, judged by the signing key alone; in a bundle that is signed as
    one, by the bundle's own trust files. It is empty where the signature was valid and of the same format.
    """

    type: str
    id: str
    path: str
    changed: bool
    code: str = ""


@dataclass(frozen=True, slots=True)
class SignReport(Report):
    """The result of signing: the key's fingerprint, every file, its trust file, and why it may not count.

    Fingerprint and trust file are empty where a bundle needed no signature; ``removed`` are the trust files that none
    of its items needed any more.
    """

    fingerprint: str
    items: tuple[SignedItem, ...]
    trust_file: str = ""
    warnings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Job:
    """One file to sign, and how it stands: the key and reason code of its signature; no code where that is valid."""

    root: Root
    file: ItemFile
    read: ReadItem
    signer: str = ""
    code: str = ""

    def judge(self, trust: TrustSet, form: EnvelopeFormat) -> None:
        """Judge the signature that the file has."""
        found = signing.judge(self.read.evidence, origin=self.read.origin, trust=trust, now=signing.system_clock())
        is_valid = found.verdict is Verdict.TRUSTED and found.format == form
        self.signer, self.code = found.signer, "" if is_valid else found.code

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
    form: str = "v2",
    mode: SignMode = SignMode.WRITE,
    force: bool = False,
) -> SignReport:
    """Sign the items that the texts name in the project or user space.

    Args:
        texts: ``type:id``, globs of ids, scopes or paths.
        layout: The spaces, with the audience for which a project's items are signed.
        space: ``project`` or ``user``.
        keyring: Where the key is.
        key: Its name or file; None takes the environment's, else the default one.
        form: ``v2`` or ``v1``.
        mode: Whether files are written. Only that needs the private key; a check does not validate metadata.
        force: Whether to sign again what the key has validly signed.

    Raises:
        ArgumentError: ``bad-space``, ``bad-format``, ``bad-target`` or ``nothing-to-sign``.
        SigningError: ``invalid-items`` with every problem of every file; nothing has been written then.
        NotFoundError: There is no key.
        ItemError: ``changed-meanwhile`` when a file was changed after it was read; it is left as it is.
    """
    check(COMMANDS["sign"]["space"], space)
    envelope = _format(form)
    if not texts:
        hint = "name TYPE:ID, a glob such as 'tool:demo/*', or a path; or all of them with --all"
        raise ArgumentError("nothing-to-sign", "no item was named", hint=hint)
    found, missed = _find(texts, layout, space)
    if mode is not SignMode.CHECK:
        for root in dict.fromkeys(root for root, _ in found):
            spaces.check_writable(root)
    jobs = _read_all(found, missed, validate=mode is not SignMode.CHECK)
    secret = keyring.signing_key(key) if mode is SignMode.WRITE else None
    public = secret.public if secret else _public(keyring, key, mode)
    trust = TrustSet(() if public is None else (TrustEntry(public, "", TrustScope.NAMED),), layout.audience)
    audience = layout.audience if space == "project" else ""
    for job in jobs:
        job.judge(trust, envelope)
    fingerprint = str(public.fingerprint) if public else ""
    if secret is None:
        return SignReport(fingerprint, tuple(job.row(changed=force or bool(job.code)) for job in jobs))
    rows = _write(_sign(jobs, secret, envelope, audience=audience, force=force))
    return SignReport(fingerprint, tuple(rows), warnings=_not_counting(jobs, keyring))


def _public(keyring: Keyring, key: str | Path | None, mode: SignMode) -> PublicKey | None:
    """Return the key to compare with; None in a dry run if no key was named or made."""
    try:
        return keyring.public_key(key)
    except NotFoundError:
        if key is None and mode is SignMode.DRY_RUN and not keyring.in_environment:
            return None
        raise


def _find(texts: tuple[str, ...], layout: Layout, space: str) -> tuple[list[tuple[Root, ItemFile]], list[str]]:
    """Return the files that the texts name, each once, and what could not be listed where such files may be."""
    files: dict[tuple[str, str], tuple[Root, ItemFile]] = {}
    problems: dict[str, None] = {}
    for target in read_targets(texts, layout, space):
        found, missed = [], []
        here = [root for root in target.roots if root in layout.roots]
        if not target.roots:
            missed += [problem.message for problem in target.problems]
        for root in here or target.roots:  # what lies below the project is another one's to sign
            listed, faults = spaces.walk(root)
            found += [(root, file) for file in listed if target.accepts(root, file)]
            missed += [fault.message for fault in faults if target.covers(root, str(fault.details["path"]))]
        problems |= dict.fromkeys(missed)
        if not (found or missed):
            message = f"nothing matches {target.text!r} in {space} space"
            raise ArgumentError("nothing-to-sign", message, hint="rye search --ids lists what there is")
        outside = [root.source for root, _ in found if root not in layout.in_space(space)]
        if outside:
            message = f"{target.text!r} lies in {outside[0]}, not in {space} space"
            raise ArgumentError("bad-target", message, hint="name items of the space given by --space")
        files |= {(root.source, file.rel_path): (root, file) for root, file in found}
    return list(files.values()), list(problems)


def sign_bundle(
    root: Path,
    *,
    owner: str,
    format: str = "v2",  # noqa: A002 - the word callers expect
    force: bool = False,
) -> SignReport:
    """Sign each item of a bundle that is not validly signed, with a key made for it and thrown away.

    Signatures that count by the bundle's own trust files stay, and so do these files: items that are edited on two
    branches differ in nothing else. A trust file goes when no item needs it any more, unless it revokes its key or
    cannot be read. Where nothing is to be signed, no key is made.

    Args:
        root: The bundle's root, the folder that holds ``directives``, ``tools`` and ``knowledge``.
        owner: Who the trust file says the key belongs to.
        format: ``v2`` or ``v1``; what is signed in another is signed anew.
        force: Whether to sign every item anew.

    Raises:
        ArgumentError: ``bad-target`` when there is no bundle, ``bad-format``.
        SigningError: ``invalid-items`` or ``not-a-file``; nothing has been written then.
        ItemError: ``changed-meanwhile``.
        EnvironmentFault: ``project-elsewhere`` or ``cannot-write``.
    """
    envelope = _format(format)
    bundle = spaces.named_root(root)
    spaces.check_writable(bundle)
    trusted = bundle.path / signing.TRUSTED_FOLDER
    if signing.leads_out(trusted, bundle.path):
        message = f"{trusted} leads out of {bundle.path}, by a link; nothing is written there"
        raise SigningError("not-a-file", message, hint="put a folder in the place of the link")
    files, missed = spaces.walk(bundle)
    jobs = _read_all([(bundle, file) for file in files], [fault.message for fault in missed])
    if not jobs:
        raise ArgumentError("nothing-to-sign", f"there are no items below {root}", hint="name another folder")
    load = signing.load_trust(bundles={bundle.bundle: bundle.path}, vouching=bundle.path)
    for job in jobs:
        job.judge(load.trust, envelope)
    kept = {job.signer for job in jobs if not (job.code or force)}
    fingerprint = trust_file = ""
    rows = [job.row(changed=False) for job in jobs]
    if force or any(job.code for job in jobs):
        secret = SigningKey.generate()
        entry = signing.write_trust_file(secret.public, owner=owner, short=True)
        signed = _sign(jobs, secret, envelope, force=force)
        # before the items, so that whatever is signed when this is interrupted is trusted too
        trust_file = str(trusted / signing.trust_file_name(secret.public))
        write_trust_file(Path(trust_file), entry, ())
        rows, fingerprint = _write(signed), str(secret.public.fingerprint)
    removed = _remove_unneeded(load.trust, kept)
    return SignReport(fingerprint, tuple(rows), trust_file, load.warnings, removed)


def _remove_unneeded(trust: TrustSet, needed: set[str]) -> tuple[str, ...]:
    """Remove the trust files of a bundle whose keys no item needs, and return their paths.

    Those that revoke a key stay, or what it signed would count again where another file names it; so do those that
    cannot be read, as they may do so. A file that was added since the set was read is none of it.
    """
    unneeded = [entry.source for entry in trust.entries if not entry.bars and entry.fingerprint not in needed]
    for path in unneeded:
        unlink(Path(path))
    return tuple(unneeded)


def _format(name: str) -> EnvelopeFormat:
    if name not in FORMATS:
        message = f"format is {name!r}"
        raise ArgumentError("bad-format", message, hint=f"valid are {', '.join(FORMATS)}", valid=list(FORMATS))
    return EnvelopeFormat(name)


def _read_all(files: Sequence[tuple[Root, ItemFile]], missed: Sequence[str], *, validate: bool = True) -> list[_Job]:
    """Read all files and, unless only their signatures matter, validate them; unlisted files are problems too."""
    jobs: list[_Job] = []
    problems = list(missed)
    for root, file in files:
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            problems.append(f"{file.rel_path}: {error.message.removeprefix(f'{file.rel_path}: ')}")
            continue
        found = (*faults(read), *link_problems(root, file.rel_path)) if validate else ()
        problems += [f"{file.rel_path}: {fault}" for fault in found]
        jobs.append(_Job(root, file, read))
    if problems:
        raise SigningError(
            "invalid-items",
            f"{len(problems)} problem(s) in {len(files) + len(missed)} file(s)",
            hint="fix them and sign again; nothing was written",
            problems=problems,
        )
    return jobs


def _not_counting(jobs: Sequence[_Job], keyring: Keyring) -> tuple[str, ...]:
    """Return, once for each reason, why a signature just made does not count for this user."""
    trust, now = keyring.trust.load().trust, signing.system_clock()
    reasons: dict[str, str] = {}
    for job in jobs:
        try:
            read = read_item(job.root, job.file.rel_path, job.file.item_type, job.file.item_id)
        except ItemError as error:
            reasons.setdefault(error.code, error.message)
            continue
        found = signing.judge(read.evidence, origin=read.origin, trust=trust, now=now)
        if found.verdict is not Verdict.TRUSTED:
            reasons.setdefault(
                found.code, f"{job.file.item_type}:{job.file.item_id} is signed, but {found.verdict}: {found.reason}"
            )
    return tuple(reasons.values())


def _sign(
    jobs: Sequence[_Job], key: SigningKey, form: EnvelopeFormat, *, audience: str = "", force: bool
) -> list[tuple[_Job, bytes]]:
    """Return each file with the bytes it is to have: signed, unless its signature is valid already."""
    now, signed = signing.system_clock(), []
    for job in jobs:
        read, after = job.read, job.read.data
        if force or job.code:
            after = signing.sign_bytes(
                read.data, suffix=read.suffix, origin=read.origin, key=key, form=form, audience=audience, now=now
            )
        signed.append((job, after))
    return signed


def _write(signed: Sequence[tuple[_Job, bytes]]) -> list[SignedItem]:
    """Write the signed files; one that changed since it was read is left as it is."""
    for folder in {(job.root.path / job.file.rel_path).parent for job, _ in signed}:
        signing.sweep(folder)
    rows = []
    for job, after in signed:
        if after != job.read.data:
            if spaces.read_file(job.root, job.file.rel_path) != job.read.data:
                raise ItemError(
                    "changed-meanwhile",
                    f"{job.file.rel_path} was changed while it was being signed; it is left as it is",
                    hint="look at it and sign again; files signed before it stay signed",
                    path=job.file.rel_path,
                )
            signing.write_atomically(job.root.path / job.file.rel_path, after)
        rows.append(job.row(changed=after != job.read.data))
    return rows
