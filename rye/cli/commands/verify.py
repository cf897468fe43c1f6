"""The command ``rye verify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Refusal, command, only_one, progress_bar, refuse, take_form
from rye.cli.params import PATH, engine_option, flag, json_flag, option, places, take_where, targets
from rye.cli.terminal import Terminal, note, say
from rye.options.search import VERIFIED_SPACE
from rye.registry.where import Where
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.cli.progress import IndexProgress
    from rye.verify.facts import Progress
    from rye.verify.policy import Policy
    from rye.verify.run import Verification


@command("verify")
@targets
@engine_option(VERIFIED_SPACE)
@option(
    "signers",
    "--signer",
    multiple=True,
    metavar="FP",
    help="Accept only this key (64 hex digits); repeatable",
    completes="trusted",
)
@option(
    "--policy",
    type=PATH,
    metavar="FILE",
    help="Apply this policy, a YAML file",
    notes="see `rye/ci`; `--signer` applies as well",
)
@flag("--accept", help="Accept the present findings: write them into `NAME.accepted.jsonl` beside the `--policy` file")
@flag("--require-list", help="Report a project, user space or named bundle without a signed list")
@option(
    "form",
    "--format",
    type=click.Choice(("text", "json", "jsonl", "sarif", "junit")),
    default="text",
    help="Output format",
)
@flag("--strict", help="Report every file that no signature and no list covers")
@option(
    "--exclude",
    multiple=True,
    metavar="FOLDER",
    help="Without TARGET: skip projects in this folder; repeatable",
)
@flag("--verbose", "-v", help="Also list the items that passed")
@places("project", "bundles", "trust", "audience", "clients")
@json_flag
def verify(target: tuple[str, ...], **options: Any) -> int:
    """Verify the signature of each TARGET, or of every item if none is named.

    A TARGET is a type:id, where the id may contain * and ?; a scope such as tool.demo.*; or a path, also of a bundle or
    project elsewhere. A folder with a .ai is a project; its keys count once you endorse them or name them with --trust.
    Projects below a folder, and below this project, are verified with it; a repository there is counted by itself. If
    all of a space is verified, it is compared
    with its signed list: without TARGET, with *, or with the folder of the project or bundle.

    rye's own items are verified with --space system.

    Exit status: 0 all passed, 1 some failed, 2 some could not be checked, or there was nothing of your own to check.
    """
    only_one("as_json", "verbose")
    form = take_form(options)
    if form != "text":
        refuse("verbose", because="with --format other than text")
    if options["accept"] and options["policy"] is None:
        raise Refusal("--accept needs a policy", hint="name the file with --policy FILE")
    if options["accept"]:
        refuse("form", "as_json", because="with --accept, which writes the findings into a file")
    if target:
        refuse("exclude", because="with a TARGET: name what is to be verified")
    where = take_where(options)
    with progress_bar("verifying") as progress:
        options["identifies"] = options["accept"] or form in {"json", "jsonl", "sarif"}  # these show the key
        return _answer(_run(where, target, options, progress), options, form, progress)


def _run(where: Where, target: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Verification:
    from rye.verify.run import start_verification

    return start_verification(
        target,
        where.layout(),
        space=options["space"],
        named_trust=where.trust,
        without=None if target else [Path(folder) for folder in options["exclude"]],
        policy=_policy(options),
        require_list=options["require_list"],
        strict=options["strict"],
        identifies=options["identifies"],
        processes=None,
        progress=progress,
    )


def _answer(run: Verification, options: dict[str, Any], form: str, progress: IndexProgress) -> int:
    """Verify, write the answer while it comes, and return the exit status."""
    if options["accept"]:
        return _accept(run, options["policy"], progress)

    def complain(text: str) -> None:
        progress.clear()
        note(text)

    if form == "text":
        from rye.cli.render.verify import render_text

        lines = render_text(run, Terminal.of(sys.stdout), verbose=options["verbose"], complain=complain)
    else:
        from rye.cli.render.machine import FORMATS

        lines = FORMATS[form](run)
    for line in lines:
        progress.clear()
        if not say(line):  # a reader of the first lines must not take them for all
            note("not verified to the end: standard output was closed")
            return 2
    return run.status


def _policy(options: dict[str, Any]) -> Policy:
    """Return the policy of the file, with what the command line demands added."""
    from dataclasses import replace

    from rye.verify.policy import EVERY_SPACE, Demand, Policy, check_signers, load_policy

    path, signers = options["policy"], check_signers(options["signers"])
    mine = Demand(signers)
    if path is None or (options["accept"] and not path.exists()):
        return Policy(mine._replace(spaces=EVERY_SPACE))
    return replace(load_policy(path), also=mine)


def _accept(run: Verification, path: Path, progress: IndexProgress) -> int:
    """Write the findings beside the policy, unless something could not be checked: then some may be missing."""
    from rye.cli.render.verify import render_text
    from rye.verify.policy import accept_findings
    from rye.verify.report import Finding

    findings: list[Finding] = []
    for line in render_text(run, Terminal.of(sys.stdout), verbose=False, complain=note, keep=findings.append):
        progress.clear()
        say(line)
    if run.status == 2:
        note("nothing was accepted: something could not be checked, or there was nothing to check")
        return 2
    beside = accept_findings(path, filter(None, (finding.identity for finding in findings)))
    say(f"{plural(len(findings), 'finding')} accepted in {beside}")
    return 0
