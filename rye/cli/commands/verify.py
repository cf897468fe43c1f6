"""``rye verify``: a clear yes or no about items, for people and CI."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Place, ask, json_option, only_one, place_options, space_option
from rye.cli.terminal import Terminal, note, say, say_json

if TYPE_CHECKING:
    from rye.inventory import ManifestReport
    from rye.registry import Registry
    from rye.reports import VerifyReport

__all__ = ["WELL", "command"]

WELL = {"trusted": frozenset({"trusted"}), "signed": frozenset({"trusted", "untrusted"})}
"""What ``--require`` asks → the verdicts that meet it."""


@click.command("verify")
@click.argument("target", nargs=-1)
@space_option("all", "project, user, system or all.")
@click.option(
    "--require",
    type=click.Choice(list(WELL)),
    default="trusted",
    show_default=True,
    help="trusted: signed by a trusted key; signed: also by a key that is unknown or does not count.",
)
@click.option("--require-manifest", is_flag=True, help="A space without a signed manifest is a finding.")
@place_options("project", "bundle", "trust")
@json_option
@click.option("--verbose", "-v", is_flag=True, help="Also list the items that are well.")
def command(target: tuple[str, ...], **options: Any) -> int:
    """Verify the signature of each TARGET; of every item when none is named.

    A TARGET is a type:id, where the id may hold * and ?; a scope such as tool.demo.*; or a path, also of a bundle or
    project outside the spaces.

    Each space's signed manifest is checked too, where it has one.

    Exit status: 0 all meet --require, 1 some do not, 2 some could not be checked or nothing was there to check.
    """
    only_one("as_json", "verbose")
    place = Place.take(options)
    require = options["require"]
    space, needed = options["space"], options["require_manifest"]

    def question(registry: Registry) -> tuple[VerifyReport, tuple[ManifestReport, ...]]:
        report = registry.verify(*target, space=space)
        return report, registry.check_manifests(space, require=needed) if needed or not target else ()

    report, manifests = ask(place, question)
    if options["as_json"]:
        say_json(report.to_dict() | {"manifests": [manifest.to_dict() for manifest in manifests]})
    else:
        from rye.cli.render.verify import render_problems, render_verified

        shown = Terminal.of(sys.stdout)
        for line in render_verified(report, WELL[require], shown, verbose=options["verbose"]):
            say(line)
        for line in render_problems(report, WELL[require], Terminal.of(sys.stderr)):
            note(line)
        _show_manifests(manifests)
    status = _status(report, require)
    return status or int(any(manifest.errors for manifest in manifests))


def _show_manifests(manifests: tuple[ManifestReport, ...]) -> None:
    if manifests:
        from rye.cli.render.manifest import render_checked, render_hints

        for line in render_checked(manifests, Terminal.of(sys.stdout)):
            say(line)
        for line in render_hints(manifests, (), Terminal.of(sys.stderr)):
            note(line)


def _status(report: VerifyReport, require: str) -> int:
    if report.problems or not report.items:
        return 2
    return 0 if all(str(item.signature.verdict) in WELL[require] for item in report.items) else 1
