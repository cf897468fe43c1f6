"""The setup of a project by ``rye init``: import, write, sign. Every step is listed before anything is changed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rye._files import sweep, write_atomically
from rye._report import Report
from rye._text import quote
from rye.errors import ArgumentError, EnvironmentFault, Interrupted, RyeError, SigningError
from rye.items.clients import SKILL_FILE
from rye.keyring.jobs import Job, notes
from rye.keyring.private import Keyring, Passphrase
from rye.keyring.sign_items import SignMode, carry_out, plan_signing, read_named, refuse_problems
from rye.registry.new_files import (
    LeftOut,
    NewFile,
    WrittenFile,
    check_place,
    plan_import,
    project_folder,
    template,
    write_files,
)
from rye.registry.registry import Registry
from rye.spaces.discover import check_writable, is_published, project_root
from rye.spaces.layout import Layout
from rye.spaces.lists import list_folder
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.nested import look_below
from rye.spaces.snapshot import sweep_below
from rye.trust.list import LIST_FILE, SKILL_SIGNATURE

if TYPE_CHECKING:
    from rye.index.build.refresh import Progress
    from rye.verify.report import VerifiedItem

POLICY = "rye-policy.yaml"
CI_FILES: Mapping[str, str] = {
    "github": ".github/workflows/rye.yml",
    "gitlab": ".gitlab-ci.yml",
    "pre-commit": ".pre-commit-config.yaml",
}
"""Build server → the file that holds its job."""

_SOURCE = re.compile(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40})")
_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, slots=True)
class SetupReport(Report):
    """What was done in a project, or would be.

    Attributes:
        project: The folder of the project.
        found: Source → number of items.
        verdicts: Verdict → number of these items.
        files: Every file that is written, extended, or kept because it already exists.
        key: The fingerprint of the key; empty if it has yet to be made, or nothing is signed.
        new_key: Whether the key is new.
        signs: ``type:id`` of the items that are signed.
        done: Whether the steps were carried out.
        warnings: Sentences on what is left unchanged, and why.
    """

    project: str
    found: Mapping[str, int]
    verdicts: Mapping[str, int]
    files: tuple[WrittenFile, ...]
    key: str
    new_key: bool
    signs: tuple[str, ...]
    done: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing left to do."""
        return not (self.signs or self.new_key or any(file.action != "kept" for file in self.files))


class Setup:
    """The plan for one project, made without changing anything; :meth:`run` carries it out.

    Args:
        layout: The spaces.
        signs: Whether to sign, with a new key if there is none.
        ci: The build servers to write a job for: keys of :data:`CI_FILES`.
        source: Where the job gets rye from: ``OWNER/REPOSITORY@COMMIT``, with all 40 digits.
        passphrase: The passphrase of the key.
        progress: Called with (items done, items to do, source) while items are verified and signed.

    Raises:
        ArgumentError: ``bad-source``.
        ItemError: ``link-escape``: a link would lead a file out of the project.
        EnvironmentFault: The project is not safe to write to.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        signs: bool = True,
        ci: Sequence[str] = (),
        source: str = "",
        passphrase: Passphrase = None,
        progress: Progress | None = None,
    ) -> None:
        self.folder = project_folder(layout)
        check_writable(project_root(self.folder))
        self._base = Root(Space.PROJECT, self.folder)
        self._signs, self._progress = signs, progress
        self._keyring = Keyring(layout, passphrase=passphrase)
        sweep(self.folder)
        sweep_spaces(layout, Space.PROJECT)
        verified = Registry(self.folder, progress=progress).verify(space="project")
        self._warnings = list(verified.problems)
        unsigned = [item for item in verified.items if item.signature.code == "no-envelope"] if signs else []
        with_signature = [item for item in verified.items if signs or item.signature.code != "no-envelope"]
        self._places = [place for item in with_signature if (place := _client_place(item, self.folder))]
        self._layout = layout
        self._dot_names = [os.path.relpath(path, self.folder) for path in look_below(self.folder).dot_names]
        self._to_sign = self._review(unsigned) if unsigned else []
        counts = Counter(item.verdict for item in verified.items if item.verdict not in ("trusted", "unsigned"))
        self._warnings += [f"{count} {verdict}, left as they are: see rye verify" for verdict, count in counts.items()]
        left_out = LeftOut()
        self._imported = [] if verified.items else plan_import([self.folder], left_out, namespace="")
        self._warnings += [*left_out.notes(), *_list_offer(layout)]
        self._jobs = _jobs(ci, source)
        for rel_path in (POLICY, _ATTRIBUTES, *(file.rel_path for file in (*self._imported, *self._jobs))):
            check_place(self._base, rel_path)
        public = self._keyring.default_key() if signs else None
        fingerprint = str(public.fingerprint) if public else ""
        self._warnings += warn_of_policy(layout, fingerprint)
        self.plan = SetupReport(
            str(self.folder),
            Counter(_source(item) for item in verified.items),
            Counter(item.verdict for item in verified.items),
            (*write_files(self._base, self._files(fingerprint), dry_run=True), *self._extend(dry_run=True)),
            fingerprint,
            signs and not fingerprint,
            (*(job.ref for job in self._to_sign), *(file.ref for file in self._imported)) if signs else (),
            warnings=tuple(self._warnings),
        )

    def _review(self, unsigned: Sequence[VerifiedItem]) -> list[Job]:
        """Return the files to sign, a skill with its folder, as they are now.

        Items that lost their signature since the last commit, or whose bytes differ from the list, are not signed
        again.
        """
        from rye.verify.originals import Originals

        originals = Originals(self._layout.in_space(Space.PROJECT))
        known, jobs = {item.path for item in unsigned}, list[Job]()
        places = tuple(map(_place_to_sign, unsigned))
        found, problems, _ = read_named(places, self._layout, space="project", mode=SignMode.DRY_RUN)
        self._warnings += [f"left as it is: {problem}" for problem in problems]
        for job in found:
            path = str(job.root.path / job.file.rel_path)
            why = "" if path in known else "it is signed already"
            if originals.was_signed(job.root, job.file.rel_path, job.read.evidence.content_digest):
                why = "it had a signature in the last commit or on the list: see rye verify"
            if why:
                self._warnings.append(f"left as it is: {path}: {why}")
            else:
                jobs.append(job)
        return jobs

    def _files(self, fingerprint: str) -> list[NewFile]:
        signer = f"signers: [{fingerprint}]\n" if fingerprint else ""
        policy = f"# What rye verify --policy {POLICY} demands; see rye/ci.\nformats: v2\n{signer}"
        if self._dot_names:
            policy += f"ignore: {json.dumps(self._dot_names)}  # hidden files that no client is known to read\n"
        return [*self._imported, NewFile(POLICY, policy.encode()), *self._jobs]

    def _extend(self, *, dry_run: bool) -> tuple[WrittenFile, ...]:
        """Add lines to a repository's ``.gitattributes``: keep line ends, and never merge signed lists by lines."""
        if not any(os.path.lexists(folder / ".git") for folder in (self.folder, *self.folder.parents)):
            return ()
        path = self.folder / _ATTRIBUTES
        if path.is_symlink() or (path.exists() and not path.is_file()):
            message = f"{path} is not a plain file, and is not written"
            raise EnvironmentFault("cannot-write", message, hint="put a file in its place")
        before = path.read_bytes() if path.exists() else b""
        lines = [f"/{FOLDER}/** -text"]
        lines += [f"/{place} -text" for place in self._places]
        lines += [f"{name} -merge" for name in (LIST_FILE, SKILL_SIGNATURE)]  # no line-by-line merge
        known = before.decode("utf-8", "replace").splitlines()
        missing = [line for line in dict.fromkeys(lines) if line not in known]
        if missing and not dry_run:
            end = b"" if before.endswith(b"\n") or not before else b"\n"
            write_atomically(path, before + end + "".join(f"{line}\n" for line in missing).encode())
        return (WrittenFile(str(path), "", ("extended" if before else "written") if missing else "kept"),)

    def run(self, owner: str) -> SetupReport:
        """Carry out the plan; return it with the key.

        Raises:
            SigningError: The key cannot be made or used, or an item is not valid or has changed since the plan was
                made.
            EnvironmentFault: A file cannot be written.
            Interrupted: Ctrl-C.
        """
        try:
            return self._run(owner)
        except KeyboardInterrupt as stop:
            message = stop.message if isinstance(stop, Interrupted) else "interrupted while files were written"
            raise Interrupted(message, hint="rye init goes on from there") from None

    def _run(self, owner: str) -> SetupReport:
        plan = self.plan
        key = plan.key or (self._keyring.generate(owner=owner, trust=True).fingerprint if self._signs else "")
        files = (*write_files(self._base, self._files(key)), *self._extend(dry_run=False))
        jobs = [*self._to_sign, *self._read_imported({file.path for file in files if file.action == "written"})]
        warnings = plan.warnings
        if self._signs and jobs:
            secret = self._keyring.signing_key()
            planned = plan_signing(jobs, secret.public, self._layout)
            warnings += (*notes(jobs), *carry_out(planned, secret, self._keyring, self._progress).warnings)
        return replace(plan, files=files, key=key, done=True, warnings=warnings)

    def _read_imported(self, new: Collection[str]) -> list[Job]:
        """Return the files that were imported, to sign them.

        Raises:
            SigningError: ``changed-meanwhile``: one of them is not what was written.
        """
        written = {str(self._base.path / file.rel_path): file.data for file in self._imported}
        paths = tuple(path for path in written if path in new)
        if not (paths and self._signs):
            return []
        layout = Layout.find(project=self.folder, user=None, bundles=None)
        jobs, problems, _ = read_named(paths, layout, space="project", progress=self._progress)
        refuse_problems(problems)
        for job in jobs:
            if job.read.data != written[str(job.root.path / job.file.rel_path)]:
                message = f"{job.file.rel_path} is not what was written"
                raise SigningError("changed-meanwhile", message, hint="look at it, then sign it")
        return jobs


def sweep_spaces(layout: Layout, *spaces: str) -> None:
    """Remove what killed writers left in folders of items; in a skill it would be a change of the skill."""
    for root in (root for space in spaces for root in layout.in_space(space)):
        if root.has_skills or root.client is None:
            sweep_below(root.path)


def warn_of_policy(layout: Layout, fingerprint: str) -> Iterator[str]:
    """Yield a warning if the project's policy requires signers and the signing key is not among them."""
    from rye.verify.policy import load_policy

    path = None if layout.project is None else layout.project / POLICY
    if fingerprint and path is not None and path.is_file():
        with suppress(RyeError):  # rye verify reports what is wrong with it
            signers = load_policy(path).default.signers
            if signers and fingerprint not in signers:
                yield f"{POLICY} demands other signers than your key: add {fingerprint} to `signers` in it"


def _list_offer(layout: Layout) -> Iterator[str]:
    """Yield advice on signed lists, in a repository of skills or a plugin without one."""
    for root in layout.in_space(Space.PROJECT):
        if root.has_skills and is_published(root) and list_folder(root) is None:
            yield (
                "signatures do not say that a skill was removed; a list of all files does: "
                f"rye sign list {quote(str(root.around))}"
            )
            return


def _source(item: VerifiedItem) -> str:
    client = item.root.client
    return client.place or "files of clients" if client else FOLDER


def _place_to_sign(item: VerifiedItem) -> str:
    """Return the path to sign for an item: the folder of a skill, else its file."""
    path = Path(item.path)
    return str(path.parent if item.root.has_skills and path.name == SKILL_FILE else path)


def _client_place(item: VerifiedItem, folder: Path) -> str:
    """Return the git pattern for the client files around an item; empty for an item in ``.ai``."""
    client = item.root.client
    if client is None:
        return ""
    if client.is_fixed:
        return Path(item.path).relative_to(folder).as_posix()
    return f"{item.root.path.relative_to(folder).as_posix()}/**"


def _jobs(ci: Sequence[str], source: str) -> list[NewFile]:
    """Return the job files of build servers.

    Raises:
        ArgumentError: ``bad-source``.
    """
    if not ci:
        return []
    match = _SOURCE.fullmatch(source)
    if match is None:
        message = f"{source!r} is not OWNER/REPOSITORY@COMMIT" if source else "a job needs to know where rye comes from"
        hint = "give --rye OWNER/REPOSITORY@COMMIT: a repository on GitHub and all 40 digits of a commit you trust"
        raise ArgumentError("bad-source", message, hint=hint)
    jobs = {CI_FILES[server]: template(f"{server}.yml") for server in ci}
    return [
        NewFile(path, job.replace("OWNER/rye", match[1]).replace("COMMIT", match[2]).encode())
        for path, job in jobs.items()
    ]
