"""Plans the signing of many items: all of them are validated, and nothing is written if one is not valid."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from rye._files import real_path
from rye._text import composed
from rye.errors import ArgumentError, ItemError, SigningError
from rye.keyring.jobs import Job, JudgedJob, Progress, counted, notes, read_jobs, refuse_others, sweep_beside
from rye.keyring.lists import BundleList, plan_list
from rye.keyring.plan import BundleFiles, Confirm, SigningPlan, SignReport
from rye.keyring.private import Keyring
from rye.options.model import check
from rye.options.search import SIGNED_SPACE
from rye.spaces.bundles import named_bundle
from rye.spaces.layout import Layout
from rye.spaces.lists import keys_of_list, list_folder
from rye.spaces.model import Root
from rye.spaces.signed import read_item
from rye.spaces.state import MAX_SETTINGS, SETTINGS, judge_settings, settings_place
from rye.spaces.targets import files_to_sign, whole_skills
from rye.spaces.walk import list_items_of
from rye.trust.judge import judge
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.model import OMS, Verdict, signer_words
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER, leads_out, load_trust, read_trust_bytes, system_clock

_NAMED = 5


class SignMode(StrEnum):
    """Whether files are written, only reported, or only compared with the key."""

    WRITE = "write"
    DRY_RUN = "dry-run"
    CHECK = "check"


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
    confirm: Confirm | None = None,
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
        confirm: As :data:`Confirm`; None leaves out what a key signed that the user does not trust, unless it is named
            by itself.
        progress: Called during the work.

    Raises:
        ArgumentError: ``bad-space``, ``bad-target`` or ``nothing-to-sign``.
        SigningError: ``invalid-items`` with every problem of every file; nothing has been written then.
        NotFoundError: There is no key.
        ItemError: ``changed-meanwhile``: a file was changed after it was read; it is left unchanged.
    """
    jobs, problems, skipped = read_named(
        texts, layout, space=space, mode=mode, allow_hidden=allow_hidden, progress=progress
    )
    refuse_problems(problems)
    if mode is not SignMode.CHECK:
        refuse_others(jobs)
    secret = keyring.signing_key(key, force=force) if mode is SignMode.WRITE else None
    may_lack = key is None and mode is SignMode.DRY_RUN
    public = secret.public if secret else keyring.default_key() if may_lack else keyring.public_key(key)
    others = None if mode is SignMode.CHECK else keyring.trust.load().trust
    plan = plan_signing(jobs, public, layout, others=None if key is not None else others, force=force)
    if confirm is None and others is not None:
        plan = _without_foreign(plan, others)
    plan = replace(plan, warnings=(*skipped, *notes([row.job for row in plan.rows]), *plan.warnings))
    if secret is None:
        return plan.report()
    if confirm is not None and plan.unseen:
        confirm(plan)
    return carry_out(plan, secret, keyring, progress)


def carry_out(plan: SigningPlan, secret: SigningKey, keyring: Keyring, progress: Progress) -> SignReport:
    """Carry out a plan, and warn of signatures that the user's own trust files do not accept."""
    report = plan.carry_out(secret, progress)
    rejections = _rejections(counted(plan.rows, progress, "(checking)"), keyring)
    return replace(report, warnings=(*report.warnings, *rejections))


def read_named(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str,
    mode: SignMode = SignMode.WRITE,
    allow_hidden: bool = False,
    progress: Progress = None,
) -> tuple[list[Job], list[str], list[str]]:
    """Return the files that texts name and that can be signed, problems of others, and messages about skipped links.

    Arguments and errors as for :func:`sign_targets`.
    """
    check(SIGNED_SPACE, space)
    if not texts:
        hint = "name TYPE:ID, a glob such as 'tool:demo/*', or a path; or all of them with --all"
        raise ArgumentError("nothing-to-sign", "no item was named", hint=hint)
    files, missed, skipped = files_to_sign(texts, layout, space)
    if mode is SignMode.WRITE:
        sweep_beside(files)
    jobs, problems = read_jobs(files, progress, validate=mode is not SignMode.CHECK, allow_hidden=allow_hidden)
    named = {composed(text) for text in texts}
    places = {real_path(path) for path in map(os.path.expanduser, texts) if os.path.lexists(path)}
    for at, job in enumerate(jobs):
        is_at = places and not places.isdisjoint(map(real_path, job.paths))
        is_named = bool(is_at) or not named.isdisjoint(map(composed, (job.ref, job.file.item_id)))
        jobs[at] = replace(job, named=is_named)
    return jobs, [*missed, *problems], skipped


def refuse_problems(problems: Sequence[str]) -> None:
    """Refuse to sign anything if there is a problem.

    Raises:
        SigningError: ``invalid-items``.
    """
    if problems:
        files = len({problem.partition(": ")[0] for problem in problems})
        message = f"{len(problems)} problem(s) in {files} file(s)"
        hint = "fix them and sign again; nothing was written"
        raise SigningError("invalid-items", message, hint=hint, problems=list(problems))


def plan_signing(
    jobs: Sequence[Job],
    public: PublicKey | None,
    layout: Layout,
    *,
    others: TrustSet | None = None,
    force: bool = False,
) -> SigningPlan:
    """Return the plan of signing some files, judged by the key, else by other keys of the user.

    Args:
        jobs: The files.
        public: The key; None if there is none yet.
        layout: The spaces, with the audience.
        others: The keys whose valid signatures stay; None to sign what only other keys have signed.
        force: Whether to sign what is validly signed.
    """
    trust = TrustSet(() if public is None else (TrustEntry(public, "", TrustScope.NAMED),), layout.audience)
    rows = tuple(JudgedJob.by(job, trust, *(() if others is None else (others,))) for job in jobs)
    fingerprint = str(public.fingerprint) if public else ""
    kept = _kept(rows, fingerprint, others) if others is not None and not force else ()
    return SigningPlan(rows, fingerprint, force, layout.audience, kept)


def sign_bundle(
    root: Path,
    *,
    owner: str,
    key: SigningKey | None = None,
    trust: TrustSet | None = None,
    force: bool = False,
    allow_hidden: bool = False,
    dry_run: bool = False,
    confirm: Confirm | None = None,
    progress: Progress = None,
) -> SignReport:
    """Sign each item of a bundle that is not validly signed, skills as a whole, its ranking settings, and its list.

    Signatures that the bundle's own trust files accept stay, and so do these trust files. So two branches differ only
    in the items that they edit. A trust file is removed if neither an item nor the list needs it any more, unless it
    revokes its key or cannot be read. If nothing needs signing, no key is made.

    A list is made if the bundle has one, or files that can hold no signature, such as the manifest of a plugin. It is
    valid for :data:`rye.keyring.lists.MAX_DAYS`. A warning says why none could be made.

    Args:
        root: The bundle's root, the folder that holds ``directives``, ``tools`` and ``knowledge``; or one with skills.
        owner: The owner of the key, for its trust file.
        key: The signing key; None makes a key for this call and throws it away.
        trust: The user's keys; items signed by one of them that is revoked or expired are signed again.
        force: Whether to sign every item again.
        allow_hidden: Whether to sign files with text that a reader does not see.
        dry_run: Whether to write nothing.
        confirm: As :data:`Confirm`.
        progress: Called during the work.

    Raises:
        ArgumentError: ``bad-target``: there is no bundle.
        SigningError: ``invalid-items`` or ``not-a-file``; nothing has been written then.
        ItemError: ``changed-meanwhile``.
        EnvironmentFault: ``project-elsewhere``, ``cannot-write``, or ``unreadable`` for the list.
    """
    roots = named_bundle(root)
    home = roots[0].trust_root
    inside = home if roots[0].client is None else roots[0].around
    if leads_out(home / TRUSTED_FOLDER, inside):
        message = f"{home / TRUSTED_FOLDER} leads out of {inside}"
        raise SigningError("not-a-file", message, hint="put a folder there, no link")
    jobs = _jobs_of(roots, sweep=not dry_run, allow_hidden=allow_hidden, progress=progress)
    if not jobs:
        raise ArgumentError("nothing-to-sign", f"there are no items below {root}", hint="name another folder")
    secret = key or SigningKey.generate()
    load = load_trust(bundles={roots[0].bundle: home}, built_in=home)
    rows = [_of_bundle(JudgedJob.by(job, load.trust), trust) for job in jobs]
    mine = TrustSet((TrustEntry(secret.public, owner, TrustScope.NAMED), *(trust.entries if trust else ())))
    listing, warnings = None, load.warnings
    try:
        listing = plan_list(roots[0], rows, own=load.trust, mine=mine, force=force, allow_hidden=allow_hidden)
    except SigningError as error:
        warnings = (*warnings, f"no list can be made, so not every file is covered: {error.message}")
    plan = _plan_bundle(roots[0], rows, load.trust, listing, public=secret.public, owner=owner, force=force)
    plan = replace(plan, warnings=warnings)
    if dry_run:
        return plan.report()
    if confirm is not None and plan.unseen:
        confirm(plan)
    return plan.carry_out(secret, progress)


def _jobs_of(roots: Sequence[Root], *, sweep: bool, allow_hidden: bool, progress: Progress) -> list[Job]:
    """Return the items of a bundle, skills as a whole.

    Raises:
        SigningError: ``invalid-items``.
        EnvironmentFault: As for :func:`refuse_others`.
    """
    files, missed = list_items_of(roots)
    named = whole_skills([(*item, False) for item in files])
    if sweep:
        sweep_beside(named)
    jobs, problems = read_jobs(named, progress, allow_hidden=allow_hidden)
    refuse_problems([*(fault.message for fault in missed), *problems])
    refuse_others(jobs)
    return jobs


def _of_bundle(row: JudgedJob, trust: TrustSet | None) -> JudgedJob:
    """Return the row of a file of a bundle; what a key signed that the user knows as revoked or expired is not kept."""
    if trust is None or row.code:
        return row
    standing = trust.may_sign(row.found.signer, row.job.read.origin, system_clock())
    return row._replace(code=standing.code if standing.code in {"revoked", "expired"} else "")


def _plan_bundle(
    root: Root,
    rows: Sequence[JudgedJob],
    trust: TrustSet,
    listing: BundleList | None,
    *,
    public: PublicKey,
    owner: str,
    force: bool,
) -> SigningPlan:
    """Return the plan of signing a bundle; its fingerprint is empty if nothing needs a signature."""
    bundle, home = root.bundle, root.trust_root
    settings = read_trust_bytes(home / SETTINGS, MAX_SETTINGS) if (home / SETTINGS).is_file() else b""
    if len(settings) > MAX_SETTINGS:
        message = f"{home / SETTINGS} has more than {MAX_SETTINGS:,} bytes"
        raise SigningError("invalid-items", message, hint="shorten it and sign again; nothing was written")
    known = judge_settings(bundle, settings, trust=trust, now=system_clock())
    stale = bool(settings) and (force or known.verdict is not Verdict.TRUSTED)
    is_needed = force or stale or (listing is not None and listing.is_due) or any(row.code for row in rows)
    fingerprint, listing = (str(public.fingerprint), listing) if is_needed else ("", None)
    needed = set() if listing else keys_of_list(list_folder(root) or home)
    kept = (row.found.signer for row in rows if not (row.code or force))
    needed |= {fingerprint, "" if stale else known.signer, *kept}
    trust_file = None
    if is_needed and not trust.named(public.fingerprint):
        path = home / TRUSTED_FOLDER / trust_file_name(public)
        trust_file = (path, trust_file_bytes(public, owner=owner, short=True))
    more = BundleFiles(
        trust_file,
        (home / SETTINGS, settings, settings_place(bundle)) if stale else None,
        tuple(_unneeded(trust, needed)),
        listing,
    )
    return SigningPlan(tuple(rows), fingerprint, force, bundle=more)


def _unneeded(trust: TrustSet, needed: set[str]) -> list[Path]:
    """Return the trust files of a bundle that no key in ``needed`` has, except those that revoke a key.

    Without a file that revokes it, a key's signatures would be valid again if another file names it.
    """
    unneeded = (entry for entry in trust.entries if not entry.revoked and entry.fingerprint not in needed)
    return [Path(entry.source) for entry in unneeded]


def _kept(rows: Sequence[JudgedJob], fingerprint: str, trust: TrustSet) -> tuple[str, ...]:
    """Return warnings about signatures of other keys that were left unchanged."""
    kept = [row.found for row in rows if not row.code and row.found.signer != fingerprint]
    owners = {found.signer: found.owner for found in kept}
    owners |= {signer: entry.owner for signer in owners for entry in trust.named(signer)[:1]}
    return tuple(
        f"left as {owners[signer] or 'their owner'} signed {'it' if count == 1 else f'them: {count:,} items'}, "
        f"with {signer_words(signer)}; --force signs with your key"
        for signer, count in Counter(found.signer for found in kept).items()
    )


def _without_foreign(plan: SigningPlan, trust: TrustSet) -> SigningPlan:
    """Leave out items signed by a key that the user does not know, unless they are named one by one.

    A signer answers for the text, and nobody should answer for a stranger's text in passing.
    """
    known = {plan.fingerprint, *(entry.fingerprint for entry in trust.entries)}
    signed = [row for row in plan.to_sign if row.found.signer or row.job.read.evidence.format == OMS]
    left = {row.job.paths: row.job.ref for row in signed if row.found.signer not in known and not row.job.named}
    if not left:
        return plan
    names = ", ".join([*left.values()][:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    said = f"left as a key signed them that you do not trust: {names}{more}; read them, then name each one to sign it"
    rows = tuple(row for row in plan.rows if row.job.paths not in left)
    return replace(plan, rows=rows, warnings=(*plan.warnings, said))


def _rejections(rows: Iterable[JudgedJob], keyring: Keyring) -> tuple[str, ...]:
    """Return why signatures just made are not valid for this user, once for each reason."""
    trust, now = keyring.trust.load().trust, system_clock()
    reasons: dict[str, str] = {}
    for job, _, _ in rows:
        try:
            read = read_item(job.root, job.file.rel_path, job.file.item_type, job.file.item_id)
        except ItemError as error:
            reasons.setdefault(error.code, error.message)
            continue
        signature = judge(read.evidence, origin=read.origin, trust=trust, now=now)
        if signature.verdict is not Verdict.TRUSTED:
            reasons.setdefault(signature.code, f"{job.ref} is signed, but {signature.verdict}: {signature.reason}")
    return tuple(reasons.values())
