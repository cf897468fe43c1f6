"""The commands that use private keys: ``rye sign`` and ``rye keys``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rye._text import inline
from rye.cli.options import Refusal, command, only_one, progress_bar, refuse
from rye.cli.params import (
    FILE_OR_DASH,
    PATH,
    argument,
    engine_option,
    flag,
    json_flag,
    limits,
    option,
    places,
    take_where,
    targets,
)
from rye.cli.terminal import (
    Terminal,
    answer,
    ask_new_passphrase,
    ask_passphrase,
    note,
    require_yes,
    say,
    say_json,
    say_raw,
    show,
)
from rye.errors import NotFoundError, SigningError
from rye.options.search import SIGNED_SPACE
from rye.registry.where import Where

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.keyring.jobs import PlannedFile
    from rye.keyring.lists import ListSigned
    from rye.keyring.plan import Confirm, SigningPlan, SignReport
    from rye.keyring.private import Keyring, Passphrase


_MOST_OF_A_POLICY: Final = 1 << 20
_SECTION: Final = re.compile(r"\s*\[\s*(\w+)\s*\]")
_USER_NAME: Final = re.compile(r"\s*name\s*=\s*\"?([^\"#;\n]+)", re.IGNORECASE)
"""A section of git's settings, and the name in its section ``user``."""

_name = argument("name", required=False, completes="key")
owner_option = option(
    "--owner",
    metavar="NAME",
    help="Owner in the trust file; by default `user.name` of your git settings, else your login",
)
_own_trust = flag(
    "--trust/--no-trust",
    default=None,
    help="Also write your trust file for it; by default for the first key, and for a limited one",
)
_replace = flag("--force", help="Replace an existing file; if a key would be lost, show it and ask")
_lose = flag("--yes", "-y", help="With `--force`: do not ask, even if a key is lost")


@command("sign")
@targets
@engine_option(SIGNED_SPACE)
@flag("every", "--all", help="Sign every item of the space")
@option(
    "--key",
    metavar="NAME|FILE",
    help="Key to sign with; by default `RYE_SIGNING_KEY`, else your `private_key`",
    completes="key",
)
@flag("--ssh", help="Sign with `~/.ssh/id_ed25519`, through ssh-keygen; another SSH key is `--key ssh:FILE`")
@option(
    "--audience",
    metavar="NAME",
    help="Sign the project's items for this audience; by default `RYE_AUDIENCE`",
    notes="see `rye/trust`",
)
@flag("--dry-run", help="Say what would be signed, and change nothing")
@flag("--check", help="List what this key has not validly signed, and exit with 1 if there is anything")
@flag("--force", help="Also sign what is validly signed")
@flag("--allow-hidden", help="Also sign files with hidden text")
@option(
    "root",
    "--bundle",
    type=PATH,
    metavar="DIR",
    help="Sign the items and the list of this bundle, and write the trust file of the key into it",
)
@flag("--new-key", help="With `--bundle`: sign with a new key, and discard its private half")
@option(
    "--owner",
    metavar="NAME",
    help="With `--bundle`: owner in the trust file; by default the owner of your key, else the name of the folder",
)
@flag("as_list", "--list", help="Sign the list of all files of the space, or of the `--bundle`")
@flag("--add", help="With `--list`: add your signature to the present list")
@option("--expires", type=int, metavar="DAYS", help="With `--list`: days until it expires; by default 90")
@flag("--forget", help="With `--list`: forget the number of the last list, and sign nothing")
@flag("--yes", "-y", help="Do not ask; you have seen what is new, changed or signed by another key")
@places("project", "trust")
@json_flag
def sign(target: tuple[str, ...], root: Path | None, **options: Any) -> int:
    """Sign each TARGET: a type:id, where the id may contain * and ?; a scope such as tool.demo.*; or a path.

    It validates everything first. If one item is invalid, it writes nothing.

    With --list, rye.list in the root of the space or bundle names every file below it, and is signed. It also covers
    files that can hold no signature.

    Exit status: 0 signed, 1 --check found an item that is not signed, 2 error.
    """
    only_one("dry_run", "check")
    if options.pop("ssh"):
        refuse("key", because="with --ssh, which names the key")
        options["key"] = "ssh:"
    if options.pop("as_list"):
        return _sign_list(root, options)
    refuse("add", "expires", "forget", "trust", because="without --list")
    for name in ("add", "expires", "forget", "trust"):
        del options[name]
    if options["check"]:
        refuse("force", because="with --check, which writes nothing")
    report = _sign_items(target, options) if root is None else _sign_bundle(root, options)
    from rye.cli.render.keys import render_signed

    render = partial(render_signed, dry_run=options["dry_run"] or options["check"])
    answer(report, render, as_json=options["as_json"])
    return 1 if options["check"] and any(item.changed for item in report.items) else 0


def _sign_items(target: tuple[str, ...], options: dict[str, Any]) -> SignReport:
    refuse("new_key", "owner", because="without --bundle DIR")
    if options["every"]:
        refuse("target", because="with --all")
        target = ("*",)
    if options["space"] != "project":
        refuse("audience", because="with --space user: an audience is of a project's items")
    where = take_where(options)
    with progress_bar("signing") as progress:
        done = where.open(progress).sign(
            *target,
            space=options["space"],
            key=options["key"],
            dry_run=options["dry_run"],
            check=options["check"],
            force=options["force"],
            allow_hidden=options["allow_hidden"],
            confirm=_agree(progress, options),
            passphrase=unlock(progress),
        )
    if options["space"] != "project" or not done.fingerprint:
        return done
    from rye.registry.setup import warn_of_policy

    return replace(done, warnings=(*done.warnings, *warn_of_policy(where.layout(), done.fingerprint)))


def _agree(progress: IndexProgress, options: dict[str, Any]) -> Confirm:
    """Return what shows the files that were not named, and asks whether to sign them."""

    def confirm(plan: SigningPlan) -> None:
        if not options["yes"]:
            progress.clear()
            _ask_to_sign(plan.unseen)

    return confirm


def _ask_to_sign(unseen: Sequence[PlannedFile]) -> None:
    """Show files and ask whether to sign them.

    Raises:
        SigningError: ``confirmation-needed``.
    """
    from rye.cli.render.keys import render_unseen
    from rye.keyring.jobs import with_authors

    show((), render_unseen(with_authors(unseen), Terminal.of(sys.stderr)))
    require_yes(
        "You answer for what you sign. Sign them?", hint="read them; then name each one, or: the same with --yes"
    )


_NOT_OF_LISTS = ("target", "every", "check", "force", "new_key", "owner")


def _sign_list(root: Path | None, options: dict[str, Any]) -> int:
    """Sign the list of a space or bundle, and return the exit status."""
    refuse(*_NOT_OF_LISTS, because="with --list, which names every file")
    only_one("add", "expires", "forget")
    if root is not None or options["space"] == "user":
        refuse("audience", because="without --space project: an audience is of a project")
    from rye.cli.render.keys import render_list
    from rye.keyring.lists import find_root, sign_list
    from rye.keyring.private import Keyring
    from rye.spaces.lists import forget_seen, list_folder

    where = take_where(options)
    layout, place = find_root(where.layout(), space=options["space"], bundle=root)
    if options["forget"]:
        folder = list_folder(place) or place.path
        if not options["yes"]:
            hint = "ask the owner of the list whether they began again; then: the same with --yes"
            require_yes(f"Forget the last list that was seen in {inline(str(folder))}?", hint=hint)
        say("forgotten" if forget_seen(folder) else "no list was seen here")
        return 0
    key = Keyring(layout, passphrase=ask_passphrase).signing_key(options["key"])

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


def _sign_bundle(root: Path, options: dict[str, Any]) -> SignReport:
    refuse(
        "target",
        "every",
        "space",
        "check",
        "project",
        "audience",
        because="with --bundle, which signs everything in DIR that is not validly signed",
    )
    if options["new_key"]:
        refuse("key", because="with --new-key, which makes one")
    from rye.keyring.private import Keyring
    from rye.keyring.sign_items import sign_bundle

    owner, key, trust = options["owner"] or Path(os.path.realpath(root)).name, None, None
    with progress_bar("signing") as progress:
        if not options["new_key"]:
            keyring = Keyring(take_where(options).layout(), passphrase=unlock(progress))
            key = keyring.signing_key(options["key"], force=options["force"])
            mine = keyring.own_entry(key.public)
            owner = options["owner"] or (mine.owner if mine else "") or owner
            trust = keyring.trust.load().trust
        return sign_bundle(
            root,
            owner=owner,
            key=key,
            trust=trust,
            force=options["force"],
            allow_hidden=options["allow_hidden"],
            dry_run=options["dry_run"],
            confirm=_agree(progress, options),
            progress=progress,
        )


def unlock(progress: IndexProgress) -> Passphrase:
    """Return what asks for a passphrase, and takes the bar away before."""

    def ask(what: str) -> bytes:
        progress.clear()
        return ask_passphrase(what)

    return ask


@click.group("keys")
def keys() -> None:
    """Make, list, show, export, import and rotate the keys that you sign with. They are kept in your user space.

    Exit status: 0 done, 1 there is no key to list, 2 error.
    """


@keys.command("generate")
@_name
@owner_option
@limits
@_own_trust
@flag(
    "encrypt",
    "--passphrase/--no-passphrase",
    help="Encrypt it with `RYE_KEY_PASSPHRASE`, else ask for a passphrase; by default if the variable is set",
    default=None,
)
@_replace
@_lose
@json_flag
def generate(name: str | None, **options: Any) -> int:
    """Make a key named NAME (by default private_key), and your trust file for it."""
    from rye.cli.render.keys import render_made
    from rye.keyring.key_files import DEFAULT_KEY
    from rye.trust.trust_file import last_moment

    until = options["not_after"]
    _confirm_loss(name or DEFAULT_KEY, options)
    made = _keyring(ask_new_passphrase).generate(
        name or DEFAULT_KEY,
        owner=find_owner() if options["owner"] is None else options["owner"],
        patterns=options["patterns"] or None,
        not_after=None if until is None else last_moment(until),
        trust=options["trust"],
        encrypt=options["encrypt"],
        replace=options["force"],
    )
    answer(made, partial(render_made, done="made", protected_by="--passphrase"), as_json=options["as_json"])
    return 0


@keys.command("list")
@json_flag
def list_keys(*, as_json: bool) -> int:
    """List every key: its fingerprint, whether a passphrase protects it, and whether you trust it yourself."""
    from rye.cli.render.keys import render_keys

    made = _keyring().list()
    if as_json:
        say_json({"keys": [key.to_dict() for key in made]})
    else:
        show(render_keys(made, Terminal.of(sys.stdout)))
        if not made:
            note("there is no key; make one with rye keys generate")
    return 0 if made else 1


@keys.command("show")
@_name
@json_flag
def show_key(name: str | None, *, as_json: bool) -> int:
    """Show one key: its fingerprint, its file and its public half."""
    from rye.cli.render.keys import render_key
    from rye.keyring.key_files import DEFAULT_KEY

    answer(_keyring().show(name or DEFAULT_KEY), render_key, as_json=as_json)
    return 0


@keys.command("export")
@_name
@option(
    "form",
    "--format",
    type=click.Choice(("trust", "pem", "base64")),
    default="trust",
    help="Format of the public half: `trust` (a trust file), `pem`, or `base64` (`ed25519:…`)",
)
@option("--owner", metavar="NAME", help="Owner in the trust file")
@flag("--private", help="Export the private key; never to a terminal")
@option("--output", "-o", type=PATH, metavar="FILE", help="File to write; by default standard output")
@_replace
def export(name: str | None, **options: Any) -> int:
    """Export the public half of a key as a trust file for others, or the private key."""
    output: Path | None = options["output"]
    if options["private"]:
        refuse("form", "owner", because="with --private")
    if output is None:
        refuse("force", because="without --output")
    if options["private"] and output is None and Terminal.of(sys.stdout).width is not None:
        raise Refusal("a private key is not shown on a terminal", hint="write it to a file with --output FILE")
    data = _exported(name, options)
    if output is None:
        say_raw(data)
        return 0
    from rye._files import refuse_links, write_atomically
    from rye.keyring.key_files import write_secret

    refuse_links(output)
    if options["private"]:
        write_secret(output, data, replace=options["force"])
    elif output.exists() and not options["force"]:
        hint = "give another name, or replace it with --force"
        raise SigningError("key-exists", f"{output} exists and is not overwritten", hint=hint)
    else:
        write_atomically(output, data)
    return 0


def _exported(name: str | None, options: dict[str, Any]) -> bytes:
    import base64

    from rye.keyring.key_files import DEFAULT_KEY

    keyring = _keyring(ask_passphrase)
    if options["private"]:
        return keyring.export_private(name or DEFAULT_KEY)
    if options["form"] == "trust":
        return keyring.export_trust_file(name, owner=options["owner"] or "")
    refuse("owner", because="without --format trust")
    public = keyring.public_key(name)
    return (public.pem if options["form"] == "pem" else f"ed25519:{base64.b64encode(public.raw).decode()}\n").encode()


@keys.command("import")
@argument("file", type=FILE_OR_DASH)
@_name
@owner_option
@_own_trust
@_replace
@_lose
@json_flag
def import_key(file: Path, name: str | None, **options: Any) -> int:
    """Import the private key in FILE (PEM; - for standard input) as NAME, with the passphrase that it has."""
    from rye.cli.render.keys import render_made
    from rye.keyring.key_files import DEFAULT_KEY, read_key_file
    from rye.trust.keys import refuse_key_text

    refuse_key_text(str(file))
    _confirm_loss(name or DEFAULT_KEY, options)
    data = _standard_input() if str(file) == "-" else read_key_file(Path(os.path.expanduser(file)))
    made = _keyring(ask_passphrase).import_key(
        data,
        name or DEFAULT_KEY,
        owner=find_owner() if options["owner"] is None else options["owner"],
        trust=options["trust"],
        replace=options["force"],
    )
    answer(made, partial(render_made, done="imported"), as_json=options["as_json"])
    return 0


@keys.command("rotate")
@_name
@option("--reason", default="rotated", metavar="TEXT", help="Reason in one line; verdicts on the old key show it")
@flag("--sign", help="Sign again what the old key validly signed in the project and in your user space")
@flag("--yes", "-y", help="Do not ask")
@json_flag
def rotate(name: str | None, **options: Any) -> int:
    """Replace key NAME with a new key of the same owner and limits, and revoke the old key.

    What the old key signed is no longer trusted until you sign it again. --sign does so before the old key is revoked,
    and changes nothing if it cannot. The old private key is kept as NAME-FINGERPRINT. The new key has a passphrase if
    the old one had, or if RYE_KEY_PASSPHRASE is set. Run it again if it was interrupted.
    """
    from rye.cli.render.keys import render_rotated
    from rye.keyring.key_files import DEFAULT_KEY
    from rye.keyring.private import Keyring
    from rye.keyring.rotate import plan_rotation
    from rye.registry.rotation import SignedBy, find_signed_by, rotate_and_sign

    name, where = name or DEFAULT_KEY, Where()
    keyring = Keyring(where.layout(), passphrase=ask_passphrase)
    rotation = plan_rotation(keyring, name)
    old = rotation.old.fingerprint
    signed = find_signed_by(keyring, old, where) if options["sign"] else SignedBy()
    if not options["yes"]:
        then = (
            "What it signed here is signed again first" if options["sign"] else "Nothing that it signed is then trusted"
        )
        require_yes(f"Replace the key {name} ({old}) and revoke it? {then}.", hint="--yes rotates it without asking")
    done = rotate_and_sign(rotation, signed, where, reason=options["reason"])
    answer(done, render_rotated, as_json=options["as_json"])
    return 0


def _confirm_loss(name: str, options: dict[str, Any]) -> None:
    """Ask before a key is replaced, which nobody gets back.

    Raises:
        SigningError: ``confirmation-needed``.
    """
    if not options["force"]:
        refuse("yes", because="without --force")
        return
    try:
        key = _keyring().show(name)
    except NotFoundError:
        return
    if not options["yes"]:
        which = key.fingerprint or "of unknown fingerprint"
        question = f"Replace the key {name} ({which}) in {key.path}? It will be lost."
        keep = f"rye keys export --private {name} -o FILE keeps it; --yes replaces it without asking"
        require_yes(question, hint=keep)


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise Refusal(
            "a private key is not read from a terminal", hint="redirect its file to standard input, or name it"
        )
    return sys.stdin.buffer.read(1 << 16)


def _keyring(passphrase: Passphrase = None) -> Keyring:
    """Return the user's keyring, without looking for a project."""
    from rye.keyring.private import Keyring

    return Keyring.find(passphrase=passphrase)


def find_owner() -> str:
    """Return the user's name: ``user.name`` of git's settings for the user, else the login; empty if unknown.

    The settings are read as text, without git, which a repository's own settings could make start a program.
    """
    import getpass

    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for path in (Path(os.path.expanduser("~/.gitconfig")), Path(config, "git", "config")):
        section = ""
        try:
            lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        except (OSError, ValueError):
            continue
        for line in lines:
            if heading := _SECTION.match(line):
                section = heading[1].lower()
            elif section == "user" and (name := _USER_NAME.match(line)) and name[1].strip().isprintable():
                return name[1].strip()[:200]
            elif line.lstrip().startswith("["):
                section = ""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""
