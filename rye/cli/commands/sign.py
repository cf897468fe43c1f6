"""``rye sign``: items with a key of the user, or a bundle with a key that lives for this one run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Place, Refusal, ask, json_option, only_one, place_options, refuse, space_option
from rye.cli.terminal import Terminal, note, say, say_json

if TYPE_CHECKING:
    from rye.keys.sign_items import SignReport

__all__ = ["command"]

_PATH = click.Path(path_type=Path)


@click.command("sign")
@click.argument("target", nargs=-1)
@space_option("project", "The space of the items: project or user.")
@click.option("--all", "every", is_flag=True, help="Every item of the space.")
@click.option("--key", metavar="NAME|FILE", help="The key; by default RYE_SIGNING_KEY, else private_key of the user.")
@click.option(
    "--format", "form", type=click.Choice(["v2", "v1"]), default="v2", show_default=True, help="Form of the line."
)
@click.option("--dry-run", is_flag=True, help="Say what would be signed and change nothing.")
@click.option("--check", is_flag=True, help="Only say what this key has not validly signed; exit 1 if there is any.")
@click.option("--force", is_flag=True, help="Sign again what is validly signed.")
@place_options("project")
@click.option("--bundle", "root", type=_PATH, metavar="DIR", help="Sign what is not validly signed in this bundle.")
@click.option(
    "--new-key", is_flag=True, help="With --bundle: make a key, write its trust file, discard the private half."
)
@click.option(
    "--owner", metavar="NAME", help="With --bundle: the owner in the trust file; by default the folder's name."
)
@json_option
def command(target: tuple[str, ...], root: Path | None, **options: Any) -> int:
    """Sign each TARGET: a type:id, where the id may hold * and ?; a scope such as tool.demo.*; or a path.

    Everything is validated first: if one item is not as it should be, nothing is written.

    Exit status: 0 signed, 1 --check found an item that is not signed, 2 error.
    """
    only_one("dry_run", "check")
    if options["check"]:
        refuse("force", because="with --check, which writes nothing")
    report = _sign_items(target, options) if root is None else _sign_bundle(root, options)
    if options["as_json"]:
        say_json(report.to_dict())
        return _status(report, options)
    from rye.cli.render.sign import render_signed
    from rye.cli.text import inline

    unwritten = options["dry_run"] or options["check"]
    for line in render_signed(report, Terminal.of(sys.stdout), dry_run=unwritten):
        say(line)
    for warning in report.warnings:
        note(f"warning: {inline(warning)}")
    return _status(report, options)


def _status(report: SignReport, options: dict[str, Any]) -> int:
    return 1 if options["check"] and any(item.changed for item in report.items) else 0


def _sign_items(target: tuple[str, ...], options: dict[str, Any]) -> SignReport:
    refuse("new_key", "owner", because="without --bundle DIR")
    if options["every"]:
        refuse("target", because="with --all")
        target = ("*",)
    place = Place.take(options)
    from rye.cli.secrets import ask_passphrase

    return ask(
        place,
        lambda registry: registry.sign(
            *target,
            space=options["space"],
            key=options["key"],
            format=options["form"],
            dry_run=options["dry_run"],
            check=options["check"],
            force=options["force"],
            passphrase=ask_passphrase,
        ),
    )


def _sign_bundle(root: Path, options: dict[str, Any]) -> SignReport:
    refuse(
        "target",
        "every",
        "space",
        "key",
        "dry_run",
        "check",
        "project",
        because="with --bundle, which signs all below DIR that needs it",
    )
    if not options["new_key"]:
        raise Refusal("a bundle is signed with a key of its own", hint="add --new-key")
    from rye.keys.sign_items import sign_bundle

    owner = options["owner"] or Path(os.path.realpath(root)).name
    return sign_bundle(root, owner=owner, format=options["form"], force=options["force"])
