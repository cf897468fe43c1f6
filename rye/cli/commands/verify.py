"""``rye verify``: a clear yes or no about items, for people and CI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Place, Refusal, given, json_option, only_one, place_options, refuse, space_option, telling
from rye.cli.terminal import Terminal, note, say, silence

if TYPE_CHECKING:
    from rye.verify.policy import Policy
    from rye.verify.pool import Progress
    from rye.verify.run import Run

__all__ = ["command"]

_PATH = click.Path(path_type=Path)


@click.command("verify")
@click.argument("target", nargs=-1)
@space_option("all", "project, user, system or all.")
@click.option(
    "--require",
    type=click.Choice(["trusted", "signed"]),
    help="trusted: signed by a trusted key; signed: also by a key that is unknown or does not count. By default "
    "trusted, or what --policy says.",
)
@click.option(
    "--signer", "signers", multiple=True, metavar="FP", help="Accept only this key (64 or 16 hex digits); repeatable."
)
@click.option("--policy", type=_PATH, metavar="FILE", help="Demand what this YAML file says.")
@click.option("--changed-since", metavar="REV", help="Only items that differ from this git revision.")
@click.option("--baseline", type=_PATH, metavar="FILE", help="Accept the findings in this file; new ones count.")
@click.option("--write-baseline", is_flag=True, help="Write the findings to the --baseline FILE, to accept them.")
@click.option(
    "--require-manifest",
    is_flag=True,
    help="A project, user space or named bundle without a signed manifest is a finding.",
)
@place_options("project", "bundle", "trust")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "jsonl", "sarif", "junit", "github"]),
    default="text",
    show_default=True,
    help="Form of the answer.",
)
@json_option
@click.option("--verbose", "-v", is_flag=True, help="Also list the items that are well.")
def command(target: tuple[str, ...], **options: Any) -> int:
    """Verify the signature of each TARGET; of every item when none is named.

    A TARGET is a type:id, where the id may hold * and ?; a scope such as tool.demo.*; or a path, also of a bundle or
    project outside the spaces. A folder with a .ai is a project: its keys count once endorsed, or named with --trust.
    Projects below a folder are verified with it.
    The signed manifest of each space of which everything is named is checked too, where it has one: by no TARGET, *,
    or the folder of a project or bundle, or one around it.

    Exit status: 0 all meet what is demanded, 1 some do not, 2 some could not be checked or nothing was there to check.
    """
    only_one("as_json", "form")
    only_one("as_json", "verbose")
    form = "json" if options.pop("as_json") else options.pop("form")
    if form != "text":
        refuse("verbose", because="with --format other than text")
    if options["write_baseline"] and not given("baseline"):
        raise Refusal("--write-baseline needs a file", hint="name it with --baseline FILE")
    if options["write_baseline"]:
        refuse("changed_since", "form", "as_json", because="with --write-baseline, which takes all findings down")
    place = Place.take(options)
    with telling("verifying") as progress:
        return _answer(_run(place, target, options, progress), options, form)


def _run(place: Place, target: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Run:
    from rye.verify.run import start_run

    return start_run(
        target,
        place.layout(),
        space=options["space"],
        named_trust=place.trust,
        policy=_policy(options),
        baseline=None if options["write_baseline"] else options["baseline"],
        changed_since=options["changed_since"],
        require_manifest=options["require_manifest"],
        processes=None,
        progress=progress,
    )


def _answer(run: Run, options: dict[str, Any], form: str) -> int:
    """Verify, write the answer while it comes, and return the exit status."""
    if options["write_baseline"]:
        return _write_baseline(run, options["baseline"])
    if form == "text":
        from rye.cli.render.verify import render_text

        lines = render_text(run, Terminal.of(sys.stdout), verbose=options["verbose"], complain=note)
    else:
        from rye.cli.render.machine import FORMATS

        lines = FORMATS[form](run)
    try:
        for line in lines:
            say(line)
    except BrokenPipeError:  # whoever reads the first lines only must not take them for all
        silence(sys.stdout)
        note("not verified to the end: nobody reads standard output any more")
        return 2
    return run.status


def _policy(options: dict[str, Any]) -> Policy:
    """Return the policy of the file, and on top of it what the command line demands."""
    from dataclasses import replace

    from rye.verify.policy import Demand, Policy, check_signers, load_policy

    mine = Demand(options["require"] or "trusted", check_signers(options["signers"]))
    if options["policy"] is None:
        return Policy(mine)
    policy = load_policy(options["policy"])
    if options["require"] is None and not mine.signers:
        return policy
    return replace(policy, also=mine if options["require"] else replace(mine, require="signed"))


def _write_baseline(run: Run, path: Path) -> int:
    """Write the findings, unless something could not be checked: then they are not all known."""
    from rye.cli.render.verify import render_text
    from rye.verify.run import Baseline, Finding

    findings: list[Finding] = []
    for line in render_text(run, Terminal.of(sys.stdout), verbose=False, complain=note, keep=findings.append):
        say(line)
    if run.status == 2:
        note("the baseline was not written: something could not be checked, or there was nothing to check")
        return 2
    Baseline.save(path, findings)
    say(f"from now on these findings are known: {len(findings)}")
    return 0
