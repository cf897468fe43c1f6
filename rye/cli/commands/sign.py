"""The commands that sign: ``rye sign``, ``rye sign list`` and ``rye sign bundle``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye._text import inline
from rye.cli.commands.keys import unlock
from rye.cli.options import command, only_one, progress_bar, refuse
from rye.cli.params import (
    PATH,
    Decorator,
    all_of,
    argument,
    engine_option,
    flag,
    json_flag,
    option,
    places,
    take_where,
    words,
)
from rye.cli.terminal import Terminal, answer, ask_passphrase, require_yes, say, show
from rye.options.search import SIGNED_SPACE

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.keyring.jobs import PlannedFile
    from rye.keyring.lists import ListSigned
    from rye.keyring.plan import Confirm, SigningPlan, SignReport
    from rye.spaces.layout import Layout

_key: Decorator = all_of(
    option(
        "--key",
        metavar="NAME|FILE",
        help="Key to sign with; by default `RYE_SIGNING_KEY`, else your `private_key`",
        completes="key",
    ),
    flag("--ssh", help="Sign with `~/.ssh/id_ed25519`, through ssh-keygen; another SSH key is `--key ssh:FILE`"),
)
_audience = option(
    "--audience",
    metavar="NAME",
    help="Sign for this audience; by default `RYE_AUDIENCE`",
    notes="of the project's items; see `rye/trust`",
)
_checks: Decorator = all_of(
    flag("--dry-run", help="Say what would be signed, and change nothing"),
    flag("--allow-hidden", help="Also sign files with hidden text"),
    flag("--yes", "-y", help="Do not ask; you have seen what is new, changed or signed by another key"),
)
_force = flag("--force", help="Replace valid signatures, too")


def _chosen_key(options: dict[str, Any]) -> str | None:
    """Return the key that ``--key`` or ``--ssh`` names, and remove both options."""
    only_one("ssh", "key")
    ssh, key = options.pop("ssh"), options.pop("key")
    return "ssh:" if ssh else key


@command("sign")
@words("target", completes="signed")
@engine_option(SIGNED_SPACE)
@flag("every", "--all", help="Sign every item of the space")
@_key
@_audience
@flag("--check", help="List what this key has not validly signed, and exit with 1 if there is anything")
@_force
@_checks
@places("project", "trust")
@json_flag
def sign(target: tuple[str, ...], **options: Any) -> int:
    """Sign each TARGET: a type:id, where the id may contain * and ?; a scope such as tool.demo.*; or a path.

    It validates everything first. If one item is invalid, it writes nothing. `rye sign list` signs the list of all
    files of a space, and `rye sign bundle` a folder to publish.

    Exit status: 0 signed, 1 --check found an item that is not signed, 2 error.
    """
    only_one("dry_run", "check")
    if options["check"]:
        refuse("force", because="with --check, which writes nothing")
    if options["every"]:
        refuse("target", because="with --all")
        target = ("*",)
    if options["space"] != "project":
        refuse("audience", because="with --space user: an audience is of a project's items")
    key, where = _chosen_key(options), take_where(options)
    with progress_bar("signing") as progress:
        done = where.open(progress).sign(
            *target,
            space=options["space"],
            key=key,
            dry_run=options["dry_run"],
            check=options["check"],
            force=options["force"],
            allow_hidden=options["allow_hidden"],
            confirm=_agree(progress, options, "name each one, or: "),
            passphrase=unlock(progress),
        )
    if done.fingerprint:
        done = replace(done, warnings=(*done.warnings, *_warnings(where.layout(), done, options)))
    _told(done, options)
    return 1 if options["check"] and any(item.changed for item in done.items) else 0


def _warnings(layout: Layout, done: SignReport, options: dict[str, Any]) -> Iterator[str]:
    """Yield what else is to be done: name the key in the policy, and renew a list that holds other bytes now."""
    from rye.registry.setup import warn_of_policy
    from rye.spaces.lists import has_list

    space = options["space"]
    if space == "project":
        yield from warn_of_policy(layout, done.fingerprint)
    is_written = not (options["dry_run"] or options["check"]) and any(item.changed for item in done.items)
    if is_written and any(has_list(root) for root in layout.in_space(space) if root.client is None):
        command = "rye sign list" if space == "project" else f"rye sign list --space {space}"
        yield f"the signed list of the {space} space no longer fits: {command}"


def _told(done: SignReport, options: dict[str, Any]) -> None:
    from rye.cli.render.keys import render_signed

    render = partial(render_signed, dry_run=options["dry_run"] or options.get("check", False))
    answer(done, render, as_json=options["as_json"])


def _agree(progress: IndexProgress, options: dict[str, Any], instead: str = "") -> Confirm:
    """Return what shows the files that were not named, and asks whether to sign them.

    ``instead`` is what else the user can do where nobody can be asked.
    """

    def confirm(plan: SigningPlan) -> None:
        if not options["yes"]:
            progress.clear()
            _ask_to_sign(plan.unseen, instead)

    return confirm


def _ask_to_sign(unseen: Sequence[PlannedFile], instead: str = "") -> None:
    """Show files and ask whether to sign them.

    Raises:
        SigningError: ``confirmation-needed``.
    """
    from rye.cli.render.keys import render_unseen
    from rye.keyring.jobs import with_authors

    show((), render_unseen(with_authors(unseen), Terminal.of(sys.stderr)))
    require_yes("You answer for what you sign. Sign them?", hint=f"read them; then {instead}the same with --yes")


@command("sign list")
@argument("folder", required=False, type=PATH)
@engine_option(SIGNED_SPACE)
@_key
@_audience
@flag("--add", help="Add your signature to the present list")
@option("--expires", type=int, metavar="DAYS", help="Days until it expires; by default 90")
@flag("--forget", help="Forget the number of the last list, and sign nothing")
@_checks
@places("project", "trust")
@json_flag
def sign_list_command(folder: Path | None, **options: Any) -> int:
    """Write and sign the list of all files of the project, of the user space, or of the bundle in FOLDER.

    rye.list in its root names every file below it. It also covers files that can hold no signature, and says when a
    file was removed.

    Exit status: 0 signed, 2 error.
    """
    only_one("add", "expires", "forget")
    if folder is not None:
        refuse("space", because="with FOLDER")
    if folder is not None or options["space"] == "user":
        refuse("audience", because="without --space project: an audience is of a project")
    if options["forget"]:
        refuse("key", "ssh", "dry_run", because="with --forget, which signs nothing")
    from rye.cli.render.keys import render_list
    from rye.keyring.lists import find_root, sign_list
    from rye.keyring.private import Keyring
    from rye.spaces.lists import forget_seen, list_folder

    chosen, where = _chosen_key(options), take_where(options)
    layout, place = find_root(where.layout(), space=options["space"], bundle=folder)
    if options["forget"]:
        listed = list_folder(place) or place.path
        if not options["yes"]:
            hint = "ask the owner of the list whether they began again; then: the same with --yes"
            require_yes(f"Forget the last list that was seen in {inline(str(listed))}?", hint=hint)
        say("forgotten" if forget_seen(listed) else "no list was seen here")
        return 0
    key = Keyring(layout, passphrase=ask_passphrase).signing_key(chosen)

    def confirm(plan: ListSigned) -> None:
        if options["yes"]:
            return
        if plan.action == "add":
            show((), render_list(plan, Terminal.of(sys.stderr), dry_run=True))
            require_yes("Sign this list?", hint="review the files; then: the same with --yes")
        else:
            _ask_to_sign(plan.unseen)

    trust = layout.load_trust(where.trust).trust
    done = sign_list(
        place,
        key=key,
        trust=trust,
        days=options["expires"],
        add=options["add"],
        allow_hidden=options["allow_hidden"],
        dry_run=options["dry_run"],
        confirm=confirm,
    )
    answer(done, partial(render_list, dry_run=options["dry_run"]), as_json=options["as_json"])
    return 0


@command("sign bundle")
@argument("folder", type=PATH)
@_key
@flag("--new-key", help="Sign with a new key, and discard its private half")
@option(
    "--owner",
    metavar="NAME",
    help="Owner in the trust file; by default the owner of your key, else the name of the folder",
)
@_force
@_checks
@places("trust")
@json_flag
def sign_bundle_command(folder: Path, **options: Any) -> int:
    """Sign what is not validly signed in FOLDER: a bundle, a repository of skills or a plugin.

    It signs every item and writes the trust file of the key into the folder, so that others can decide whether to trust
    it. If files of the folder can hold no signature, it also signs its list.

    Exit status: 0 signed, 2 error.
    """
    if options["new_key"]:
        refuse("key", "ssh", because="with --new-key, which makes one")
    from rye.keyring.private import Keyring
    from rye.keyring.sign_items import sign_bundle

    owner, key, trust = options["owner"] or Path(os.path.realpath(folder)).name, None, None
    chosen = _chosen_key(options)
    with progress_bar("signing") as progress:
        if not options["new_key"]:
            keyring = Keyring(take_where(options).layout(), passphrase=unlock(progress))
            key = keyring.signing_key(chosen, force=options["force"])
            mine = keyring.own_entry(key.public)
            owner = options["owner"] or (mine.owner if mine else "") or owner
            trust = keyring.trust.load().trust
        done = sign_bundle(
            folder,
            owner=owner,
            key=key,
            trust=trust,
            force=options["force"],
            allow_hidden=options["allow_hidden"],
            dry_run=options["dry_run"],
            confirm=_agree(progress, options),
            progress=progress,
        )
    _told(done, options)
    return 0
