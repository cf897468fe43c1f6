"""The command ``rye doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rye.cli.options import ask, command, only_one, refuse
from rye.cli.params import PATH, argument, json_flag, option, places, take_where
from rye.cli.terminal import answer, say


@command("doctor")
@argument("folder", required=False, type=PATH)
@option(
    "form",
    "--format",
    type=click.Choice(("text", "json", "sarif")),
    default="text",
    metavar="FORM",
    help="`text`, `json` or `sarif`",
)
@places("project", "bundles", "trust", "audience", "clients")
@json_flag
def doctor(folder: Path | None, **options: Any) -> int:
    """Report what an agent can find among the skills of FOLDER (by default this project) and of your home folder.

    For each client, it shows the size of its listing of skills, and which skills it cuts. Then it lists what keeps a
    skill from being chosen, and what to do: descriptions that do not say when to use a skill, skills that compete,
    broken references, hidden text, and skills of unknown origin. It needs no key and no network.

    Exit status: 0 reported, 1 there is a finding, 2 error.
    """
    only_one("as_json", "form")
    form = options.pop("form")
    form = "json" if options.pop("as_json") else form
    if folder is not None:
        refuse("project", because="with FOLDER")
        options["project"] = folder
    report = ask(take_where(options), lambda registry: registry.doctor(), doing="examining")
    if form == "sarif":
        from rye.cli.render.doctor import render_sarif

        for line in render_sarif(report):
            say(line)
    else:
        from rye.cli.render.doctor import render_doctor

        answer(report, render_doctor, as_json=form == "json")
    return 1 if report.findings else 0
