"""``rye sign``: items with a key of the user, or a bundle with a key that lives for this one run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Place, Refusal, ask, json_option, place_options, refuse, space_option
from rye.cli.terminal import Terminal, say, say_json

if TYPE_CHECKING:
    from rye.reports import SignReport

__all__ = ["command"]

_PATH = click.Path(path_type=Path)


@click.command("sign")
@click.argument("target", nargs=-1)
@space_option("project", "The space of the items: project or user.")
@click.option("--key", type=_PATH, metavar="FILE", help="The private key; by default the user's own.")
@click.option(
    "--format", "form", type=click.Choice(["v2", "v1"]), default="v2", show_default=True, help="Form of the line."
)
@click.option("--dry-run", is_flag=True, help="Say what would be signed and change nothing.")
@place_options("project")
@click.option("--bundle", "root", type=_PATH, metavar="DIR", help="Sign every item below this bundle.")
@click.option(
    "--new-key", is_flag=True, help="With --bundle: make a key, write its trust file, discard the private half."
)
@click.option(
    "--owner", metavar="NAME", help="With --bundle: the owner in the trust file; by default the folder's name."
)
@json_option
def command(target: tuple[str, ...], root: Path | None, **options: Any) -> int:
    """Sign each TARGET: a type:id, where the id may hold * and ?; a scope such as tool.demo.*; or a path.

    Exit status: 0 signed, 2 error.
    """
    report = _sign_items(target, options) if root is None else _sign_bundle(root, options)
    if options["as_json"]:
        say_json(report.to_dict())
        return 0
    from rye.cli.render.sign import render_signed

    for line in render_signed(report, Terminal.of(sys.stdout), dry_run=options["dry_run"]):
        say(line)
    return 0


def _sign_items(target: tuple[str, ...], options: dict[str, Any]) -> SignReport:
    refuse("new_key", "owner", because="without --bundle DIR")
    place = Place.take(options)
    return ask(
        place,
        lambda registry: registry.sign(
            *target,
            space=options["space"],
            key=options["key"],
            format=options["form"],
            dry_run=options["dry_run"],
        ),
    )


def _sign_bundle(root: Path, options: dict[str, Any]) -> SignReport:
    refuse("target", "space", "key", "dry_run", "project", because="with --bundle, which signs all below DIR anew")
    if not options["new_key"]:
        raise Refusal("a bundle is signed with a key of its own", hint="add --new-key")
    from rye.publishing import sign_bundle

    return sign_bundle(root, owner=options["owner"] or root.resolve().name, format=options["form"])
