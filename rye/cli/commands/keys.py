"""The command ``rye keys``, and what the other commands that use private keys share."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rye.cli.options import Refusal, refuse
from rye.cli.params import (
    FILE_OR_DASH,
    PATH,
    argument,
    flag,
    json_flag,
    limits,
    option,
)
from rye.cli.terminal import (
    Terminal,
    answer,
    ask_new_passphrase,
    ask_passphrase,
    note,
    require_yes,
    say_json,
    say_raw,
    show,
)
from rye.errors import NotFoundError, SigningError
from rye.registry.where import Where

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.keyring.private import Keyring, Passphrase


_SECTION: Final = re.compile(r"\s*\[\s*(\w+)\s*\]")
_USER_NAME: Final = re.compile(r"\s*name\s*=\s*\"?([^\"#;\n]+)", re.IGNORECASE)
"""A section of git's settings, and the name in its section ``user``."""

_name = argument("name", required=False, completes="key")
owner_option = option(
    "--owner",
    metavar="NAME",
    help="Owner in the trust file; by default `user.name` of `~/.gitconfig`, else your login",
)
_own_trust = flag(
    *("trust", "--add-trust/--no-trust"),
    default=None,
    help="Also write your trust file for it; by default for the first key, and for a limited one",
)
_replace = flag("--force", help="Replace an existing file; if a key would be lost, show it and ask")
_lose = flag("--yes", "-y", help="Do not ask, even if `--force` loses a key")


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
