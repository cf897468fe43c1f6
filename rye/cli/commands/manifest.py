"""``rye manifest``: a signed list of a space's items, written and checked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Place, Refusal, given, json_option, only_one, place_options, refuse, space_option
from rye.cli.terminal import Terminal, note, say, say_json

if TYPE_CHECKING:
    from rye.manifest import Delegation
    from rye.spaces import Root
    from rye.spaces.layout import Layout

__all__ = ["command"]

_PATH = click.Path(path_type=Path)
_LISTING = ("expires", "threshold", "root_key", "delegate", "no_delegates", "new")
_WRITING = ("key", "cosign", *_LISTING)


@click.command("manifest")
@click.argument("action", type=click.Choice(["write", "check"]))
@space_option("project", "The space: project or user; for check also system or all.")
@click.option("--bundle", type=_PATH, metavar="DIR", help="The bundle in this folder instead of a space.")
@place_options("project", "trust")
@click.option(
    "--key",
    multiple=True,
    metavar="NAME|FILE",
    help="With write: sign with this key, by default the user's; repeatable.",
)
@click.option(
    "--expires", type=int, default=90, show_default=True, metavar="DAYS", help="With write: how long it is valid."
)
@click.option(
    "--threshold", type=int, metavar="N", help="With write: how many of the keys, 1 or more, must sign the list."
)
@click.option(
    "--root-key",
    type=_PATH,
    multiple=True,
    metavar="FILE",
    help="With write: the manifest's keys from now on, as trust files; enough old ones must sign too; repeatable.",
)
@click.option(
    "--delegate",
    multiple=True,
    metavar="NAMESPACE=[N:]FILE[,FILE]",
    help="With write: items of this namespace are listed by the key of this trust file, or by N of these keys; "
    "repeatable.",
)
@click.option("--no-delegates", is_flag=True, help="With write: nobody else lists any namespace from now on.")
@click.option("--new", is_flag=True, help="With write: begin anew, whatever manifest stands.")
@click.option("--cosign", is_flag=True, help="With write: add a signature to the manifest that stands.")
@click.option("--reset", is_flag=True, help="With check: forget the version last seen and trust the one there is.")
@json_option
def command(action: str, **options: Any) -> int:
    """Write or check the signed list of a space's items, below config/manifest.

    Exit status: 0 written or all well, 1 the check found something, 2 error or some could not be checked.
    """
    if action == "write":
        refuse("reset", because="with write")
        return _write(options)
    refuse(*_WRITING, because="with check")
    return _check(options)


@dataclass(frozen=True, slots=True)
class _Where:
    """The layout, the roots that are meant, and the trust files named."""

    layout: Layout
    roots: tuple[Root, ...]
    trust: tuple[Path, ...]

    @classmethod
    def take(cls, options: dict[str, Any], *, several: bool) -> _Where:
        """Find what the options name; several roots only where ``several``."""
        from rye.keys.manifests import find_root
        from rye.spaces.layout import Layout

        place, bundle, space = Place.take(options), options["bundle"], options["space"]
        if bundle is not None and given("space"):
            raise Refusal("--bundle and --space exclude each other")
        layout = Layout.find(project=place.project, user=None, bundles=None)
        if several and bundle is None and space in {"system", "all"}:
            return cls(layout, layout.in_space(space), place.trust)
        layout, root = find_root(layout, space=space, bundle=bundle)
        return cls(layout, (root,), place.trust)


def _write(options: dict[str, Any]) -> int:
    from rye.cli.secrets import ask_passphrase
    from rye.keys import manifests as inventory

    only_one("delegate", "no_delegates")
    where = _Where.take(options, several=False)
    trust = where.layout.load_trust(where.trust).trust
    signers = inventory.read_signers(where.layout, options["key"], passphrase=ask_passphrase)
    if options["cosign"]:
        refuse(*_LISTING, because="with --cosign")
        report = inventory.cosign_root(where.roots[0], signers=signers, trust=trust)
    else:
        report = inventory.write_root(
            where.roots[0],
            signers=signers,
            trust=trust,
            days=options["expires"],
            root_keys=inventory.read_root_keys(options["root_key"], options["threshold"], signers),
            delegations=_delegations(options),
            new=options["new"],
        )
    if options["as_json"]:
        say_json(report.to_dict())
        return 0
    from rye.cli.render.manifest import render_written

    for line in render_written(report, Terminal.of(sys.stdout)):
        say(line)
    return 0


def _delegations(options: dict[str, Any]) -> list[Delegation] | None:
    """Return who lists namespaces from now on; None where that stays as it is."""
    from rye.keys.manifests import read_delegation

    if options["no_delegates"]:
        return []
    return [read_delegation(text) for text in options["delegate"]] or None


def _check(options: dict[str, Any]) -> int:
    from rye import signing
    from rye.keys import manifests as inventory

    where = _Where.take(options, several=True)
    load = where.layout.load_trust(where.trust)
    one = len(where.roots) == 1
    reports = []
    for root in where.roots:
        if options["reset"]:
            inventory.reset_root(root)
        if one or inventory.concerns(root):
            reports.append(inventory.check_root(root, trust=load.trust, now=signing.system_clock()))
    if options["as_json"]:
        say_json({"manifests": [report.to_dict() for report in reports], "warnings": list(load.warnings)})
    else:
        from rye.cli.render.manifest import render_checked, render_hints

        for line in render_checked(reports, Terminal.of(sys.stdout)):
            say(line)
        for line in render_hints(reports, load.warnings, Terminal.of(sys.stderr)):
            note(line)
    if not reports or load.doubts or any(report.problems for report in reports):
        return 2
    return 1 if any(report.errors for report in reports) else 0
