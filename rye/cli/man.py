"""Manual pages, made of the help of the commands, in the macros of man(7).

click-man renders neither sections of options nor examples, so that its pages say less than ``--help``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from rye.cli.options import HELP_SETTINGS, sections_of
from rye.surface.text import installed_version


def pages(root: click.Group) -> Iterator[tuple[str, str]]:
    """Yield the name of the file and the text of a page for each command, those of groups among them."""
    yield from _pages(click.Context(root, info_name="rye", **HELP_SETTINGS))


def _pages(ctx: click.Context) -> Iterator[tuple[str, str]]:
    yield f"{_name(ctx)}.1", "".join(f"{line}\n" for line in _page(ctx))
    for child in _children(ctx):
        yield from _pages(child)


def _children(ctx: click.Context) -> list[click.Context]:
    if not isinstance(ctx.command, click.Group):
        return []
    commands = (ctx.command.get_command(ctx, name) for name in ctx.command.list_commands(ctx))
    return [click.Context(each, info_name=each.name, parent=ctx) for each in commands if each is not None]


def _name(ctx: click.Context) -> str:
    return ctx.command_path.replace(" ", "-")


def _page(ctx: click.Context) -> Iterator[str]:
    command = ctx.command
    yield f'.TH "{_text(_name(ctx).upper())}" 1 "" "rye {installed_version()}" "rye"'
    yield from (".SH NAME", f"{_text(_name(ctx))} \\- {_text(command.get_short_help_str(200).rstrip('.'))}")
    usage = " ".join(map(_text, command.collect_usage_pieces(ctx)))
    yield from (".SH SYNOPSIS", f"\\fB{_text(ctx.command_path)}\\fR {usage}")
    yield from (".SH DESCRIPTION", *_paragraphs(command.help or ""))
    for heading, records in sections_of(command, ctx).items():
        if records:
            yield f".SH {_text(heading.upper())}"
            for option, meaning in records:
                yield from (".TP", f"\\fB{_text(option)}\\fR", _line(meaning))
    children = _children(ctx)
    if children:
        yield ".SH COMMANDS"
        for child in children:
            summary = child.command.get_short_help_str(200)
            yield from (".TP", f"\\fB{_text(_name(child))}\\fR(1)", _line(summary))
    yield from _epilog(command.epilog or "")
    around = [f"\\fB{_text(_name(ctx.parent))}\\fR(1)"] if ctx.parent else ["\\fBrye\\-help\\fR(1)"]
    yield from (".SH SEE ALSO", ", ".join(around))


def _epilog(text: str) -> Iterator[str]:
    """Yield the examples, each below what it does; other text as it is."""
    head, found, lines = text.partition("\b\nExamples:\n")
    if not found:
        yield from (".SH NOTES", *_paragraphs(head)) if head else ()
        return
    yield ".SH EXAMPLES"
    meaning = ""
    for line in lines.splitlines():
        example, _, beside = line.partition("  # ")
        if line.startswith("# "):
            meaning = line[2:]
        else:
            yield from (".TP", _line(beside or meaning), f"\\fB{_text(example.strip())}\\fR")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", _line(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Return text in which nothing is a request of roff, and ``-`` and quotes are those of ASCII."""
    for char, escape in {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}.items():
        text = text.replace(char, escape)
    return text.replace('"', "\\(dq")


def _line(text: str) -> str:
    """Return text that may begin a line; what stands in backticks is bold."""
    parts = (f"\\fB{_text(part)}\\fR" if at % 2 else _text(part) for at, part in enumerate(text.split("`")))
    return f"\\&{''.join(parts)}"
