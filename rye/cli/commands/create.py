"""The commands that write files of items: ``rye init``, ``new`` and ``import``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye._text import inline, quote
from rye.cli.commands.keys import find_owner, owner_option, unlock
from rye.cli.options import ask, command, own_name, progress_bar, refuse
from rye.cli.params import (
    PATH,
    argument,
    engine_option,
    flag,
    json_flag,
    negated_flag,
    option,
    places,
    take_where,
    words,
)
from rye.cli.terminal import Terminal, answer, folded, require_yes, say_json, show, warning_lines
from rye.options.search import space_of
from rye.registry.where import Where
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.registry.new_files import NewFiles
    from rye.registry.setup import Setup, SetupReport

_ON_LINES = 12
"""Most names that are shown on a line each; more are shown as running text."""

_DOES = {"written": "write", "extended": "add to", "kept": "keep"}

_space = engine_option(
    space_of("`project` or `user`", *("project", "user"), hint="a bundle's items are its publisher's")
)


@command("init")
@flag("--yes", "-y", help="Do not ask")
@flag("--dry-run", help="Say what would be done, and change nothing")
@negated_flag("sign", "--no-sign", help="Sign nothing and make no key")
@owner_option
@option(
    "--ci",
    multiple=True,
    type=click.Choice(("github", "gitlab", "pre-commit")),
    metavar="SERVER",
    help="Write a job that verifies each change: `github`, `gitlab` or `pre-commit`; repeatable",
)
@option(
    "--rye",
    default="",
    metavar="OWNER/REPO@COMMIT",
    help="With `--ci`: the repository and commit (40 digits) that the job installs rye from",
)
@places("project")
@json_flag
def init(**options: Any) -> int:
    """Set up a project: import texts, write a policy, sign the items, and search them.

    It lists everything first, and asks. It overwrites no file and replaces no signature.
    It copies texts into .ai only if the project has no items yet.

    Exit status: 0 done, or nothing to do; 2 error.
    """
    from rye.registry.setup import Setup

    if not (options["dry_run"] or options["yes"]):
        refuse("as_json", because="without --yes or --dry-run, because a question would be part of the answer")
    if not options["sign"]:
        refuse("owner", because="with --no-sign")
    dry_run, as_json = options["dry_run"], options["as_json"]
    with progress_bar("setting up") as progress:
        setup = Setup(
            take_where(options).layout(),
            signs=options["sign"],
            ci=options["ci"],
            source=options["rye"],
            passphrase=unlock(progress),
            progress=progress,
        )
        progress.clear()
        if not as_json:
            show(_plan(setup.plan, Terminal.of(sys.stdout)))
        report = setup.plan
        if not dry_run and not report.is_complete:
            if not options["yes"]:
                require_yes("Do this?", hint="--yes does it without asking, --dry-run only shows it")
            report = setup.run(find_owner() if options["owner"] is None else options["owner"])
    if as_json:
        say_json(report.to_dict())
        return 0
    show((), warning_lines(report.warnings, Terminal.of(sys.stderr)))
    if not dry_run:
        _finish(setup, report)
    return 0


def _plan(plan: SetupReport, terminal: Terminal) -> Iterator[str]:
    """Yield what there is and what would be done."""
    from rye.cli.render.parts import shown_path

    yield f"{terminal.style('project', bold=True)}  {inline(plan.project)}"
    counts = ", ".join(f"{count} in {inline(source)}" for source, count in plan.found.items())
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in plan.verdicts.items())
    about, indent = f"{counts} ({verdicts})" if counts else "none yet", " " * 9
    yield f"items    {folded(about, terminal, first=indent, following=indent)}"
    texts = [file for file in plan.files if file.ref]
    if texts:
        yield f"copy     {plural(len(texts), 'text')} into .ai:"
        yield from _rows([shown_path(file.path) for file in texts], terminal)
    yield from (f"{_DOES[file.action]:<8} {inline(shown_path(file.path))}" for file in plan.files if not file.ref)
    if plan.new_key:
        yield "make     your key, and your trust file for it"
    if plan.signs:
        those = "the copies" if texts else f"{plural(len(plan.signs), 'item')}, skills with all of their files"
        yield f"sign     {those}:"
        yield f"         you answer for their content{'' if texts else ', so read them first:'}"
        yield from () if texts else _rows(plan.signs, terminal)
    if plan.is_complete:
        yield "nothing left to do"


def _rows(names: Sequence[str], terminal: Terminal) -> Iterator[str]:
    """Yield every name, for what is signed must be seen: each on a line, or many in running lines."""
    indent = " " * 11
    if len(names) > _ON_LINES:
        yield indent + folded(", ".join(map(inline, names)), terminal, first=indent, following=indent)
    else:
        yield from (f"{indent}{inline(name)}" for name in names)


def _finish(setup: Setup, report: SetupReport) -> None:
    """Say what was done, and show that it works by a search for one of the items."""
    from rye.cli.render.search import render_notes, render_search

    terminal = Terminal.of(sys.stdout)
    if report.done:
        signed = f", {plural(len(report.signs), 'item')} signed with key {report.key[:16]}" if report.signs else ""
        written = sum(file.action != "kept" for file in report.files)
        show([f"done: {plural(written, 'file')} written{signed}", ""])
    where = Where(project=setup.folder)
    listed = ask(where, lambda registry: registry.list_items(space="project", limit=1)).results
    if not listed:
        show([
            "There is nothing to search yet. To begin:",
            f"  {own_name()} new knowledge NAME     writes the frame of an entry to fill in",
            f"  {own_name()} import FILE…           copies texts and scripts from elsewhere",
        ])  # fmt: skip
        return
    query = listed[0].title or listed[0].name
    show([terminal.style(f"$ {own_name()} search {quote(query)} --space project --limit 3", bold=True)])
    response = ask(where, lambda registry: registry.search(query, space="project", limit=3))
    answer(response, render_search, render_notes, as_json=False)
    if report.done:
        show(["", *_next_steps(report)])


def _next_steps(report: SetupReport) -> Iterator[str]:
    """Yield what the user has to do so that others trust the signatures."""
    from rye.cli.render.parts import shown_path
    from rye.keyring.private import Keyring
    from rye.registry.setup import CI_FILES

    key = next((key for key in Keyring(Where().layout()).list() if key.fingerprint == report.key), None)
    yield "next:"
    yield "  commit       the new files; signatures are in the files or beside them"
    if key is not None:
        yield f"  your key     {inline(shown_path(key.path))}"
        yield from (
            ()
            if key.encrypted
            else [f"               without a passphrase; {own_name()} keys rotate --help says how to set one"]
        )
    yield f"  a colleague  gets FILE of {own_name()} keys export > FILE, and runs {own_name()} trust add FILE"
    has_job = any(Path(file.path).as_posix().endswith(place) for file in report.files for place in CI_FILES.values())
    needs = (
        "set its variable TRUSTED_KEY to that file" if has_job else "needs that file too, where no change can reach it"
    )
    yield f"  CI           {needs}: {own_name()} help ci"


@command("new")
@argument("kind", type=click.Choice(("directive", "tool", "knowledge", "skill")))
@argument("name")
@option("--title", default="", metavar="TEXT", help="Title; by default made from NAME")
@option("--description", default="", metavar="TEXT", help="What it is for, in one sentence")
@_space
@flag("--dry-run", help="Say what would be written, and change nothing")
@places("project")
@json_flag
def new(kind: str, name: str, **options: Any) -> int:
    """Create an item from a template. KIND is directive, tool, knowledge or skill, and NAME its id.

    NAME may have folders (ops/rollback). The name of a tool may have an extension, such as .sh or .js.

    Exit status: 0 written, 2 error.
    """
    from rye.registry.new_files import new_item

    as_json, layout = options.pop("as_json"), take_where(options).layout()
    made = new_item(layout, kind, name, **options)
    answer(made, partial(_written, dry_run=options["dry_run"]), as_json=as_json)
    return 0


@command("import")
@words("source", required=True, type=PATH)
@option(
    "as_type",
    "--as",
    type=click.Choice(("directive", "knowledge")),
    help="Import all texts as `directive` or `knowledge`; by default depends on name and content",
)
@option("--namespace", metavar="NAME", help="Folder of the new ids; by default the name of the source folder")
@_space
@flag("--dry-run", help="Say what would be copied, and change nothing")
@places("project")
@json_flag
def import_command(source: tuple[Path, ...], **options: Any) -> int:
    """Copy each SOURCE, a file or all files of a folder, into .ai: texts as knowledge or directives, scripts as tools.

    A text without metadata gets its title and description from its own words. Existing files are kept.

    Exit status: 0 copied, or already there; 2 error.
    """
    from rye.registry.new_files import import_files

    as_json, layout = options.pop("as_json"), take_where(options).layout()
    made = import_files(layout, source, **options)
    answer(made, partial(_written, dry_run=options["dry_run"]), as_json=as_json)
    return 0


def _written(made: NewFiles, _terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    """Yield a line for each file, and what to do next."""
    from rye.cli.render.parts import shown_path

    words = {"written": "would write" if dry_run else "written", "kept": "kept, as it is there already"}
    words["extended"] = "would add to" if dry_run else "added to"
    for file in made.files:
        yield f"{words[file.action]}  {inline(shown_path(file.path))}  {inline(file.ref)}"
    new = [file for file in made.files if file.action != "kept"]
    if new and not dry_run:
        yield f"then read what is there, and: rye sign {quote(new[0].ref) if len(new) == 1 else '--all'}"
