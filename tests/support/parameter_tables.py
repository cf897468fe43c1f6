"""The tables of parameters in the bundled documentation, made of the table of parameters.

``poe tables`` writes them into the pages; a test says when they are stale.
A table is found by its page, the heading it stands below and its own first line; the text around it is for people.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import click

from rye import Registry
from rye.cli.commands import COMMANDS
from rye.cli.params import PLACES, Option
from rye.mcp.arguments import TOOLS
from rye.options.model import Parameter, described, parameters_of
from rye.options.search import SearchOptions

PAGES = Path(__file__).resolve().parents[2] / "items" / "knowledge" / "rye"
SIGNATURES = ("search", "sections", "why", "evaluate", "similar", "refs")


def meaning(parameter: Parameter, surface: str) -> str:
    """Return the last cell of a row; choices that its text does not name are listed."""
    text = described(parameter, surface)
    notes = f"; {parameter.notes}" if parameter.notes and not parameter.data else ""
    return f"{text}{notes}".replace("|", "\\|")


def shown(parameter: Parameter, *, python: bool = False) -> str:
    """Return the default as a page writes it."""
    default = parameter.default
    if python:
        return f"`{default!r}`".replace("'", '"') if isinstance(default, (str, tuple)) else f"{default}"
    if parameter.required or parameter.shown or default is None:
        return "required" if parameter.required else parameter.shown
    if isinstance(default, (str, tuple)):
        return f"`{default}`" if default else ""
    if type(default) in {int, float}:
        return f"{default:,g}" if default >= 10_000 else f"{default:g}"
    return json.dumps(default)


def type_words(parameter: Parameter) -> str:
    """Return the type of a parameter in words."""
    words = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "mapping"}
    return words.get(parameter.kind, "sequence of str") + (" or None" if parameter.default is None else "")


def python_rows(parameters: Mapping[str, Parameter]) -> Iterator[list[str]]:
    """Yield the rows of a table of keywords."""
    for name, each in parameters.items():
        yield [f"`{name}`", type_words(each), shown(each, python=True), meaning(each, "py")]


def tool_rows(parameters: Mapping[str, Parameter]) -> Iterator[list[str]]:
    """Yield the rows of a table of arguments."""
    for name, each in parameters.items():
        if name == "options":
            parts = parameters_of(each.parts or dict)
            yield from tool_rows({f"options.{key}": part for key, part in parts.items()})
        else:
            yield [f"`{name}`", shown(each) or "none", meaning(each, "mcp")]


def options_of(command: click.Command) -> list[Option]:
    """Return what a command takes, without ``--color`` and ``--help``."""
    return [param for param in command.params if isinstance(param, Option)]


def flags(option: Option) -> str:
    """Return the names of an option, the long one with its value."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: not name.startswith("--"))
    value = "" if option.is_flag else option.metavar or option.make_metavar(click.Context(click.Command("rye")))
    if len(option.values) == 1 or (isinstance(option.type, click.Choice) and not option.metavar):
        value = str(option.values[0]) if len(option.values) == 1 else option.opts[0].strip("-").upper()
    line = ", ".join(f"`{name} {value}`" if value and name[1] == "-" else f"`{name}`" for name in names)
    return line.replace("|", "\\|")


def option_meaning(option: Option) -> str:
    """Return the last cell of a row; values that its text does not name are listed."""
    text, values = option.text, [f"`{value}`" for value in option.values if isinstance(value, str)]
    if values and not any(value in text for value in values):
        text += f": {', '.join(values)}"
    return f"{text}; {option.notes}".removesuffix("; ").replace("|", "\\|")


def option_default(option: Option) -> str:
    """Return the default as a page writes it."""
    default = option.default
    if isinstance(default, str):
        return f"`{default}`" if default else ""
    if option.is_flag or not isinstance(default, (int, float)):
        return option.default_words
    return f"{default:,g}" if default >= 10_000 else f"{default:g}"


def option_rows(command: click.Command) -> Iterator[list[str]]:
    """Yield the rows of a table of options, without those that say where items, keys and the index are."""
    shared = {option.name: option.text for option in options_of(COMMANDS["search"].command)}
    for option in options_of(command):
        if option.heading != PLACES or option.text != shared.get(option.name):
            yield [flags(option), option_default(option), option_meaning(option)]


def action_rows(group: click.Group) -> Iterator[list[str]]:
    """Yield the rows of a table of the options of all actions of a command; what means the same in several is one."""
    found: dict[tuple[str, str], list[str]] = {}
    for action, command in group.commands.items():
        for names, default, text in option_rows(command):
            by_default = f"; by default {default}" if default and "default" not in text else ""
            found.setdefault((names, text + by_default), []).append(action)
    for (names, text), users in found.items():
        yield [names, "all" if len(users) == len(group.commands) else ", ".join(users), text]


def place_rows() -> Iterator[list[str]]:
    """Yield the rows of the table of options that many commands share."""
    for place in (option for option in options_of(COMMANDS["search"].command) if option.heading == PLACES):
        takers = [
            name
            for name, entry in COMMANDS.items()
            for command in getattr(entry.command, "commands", {name: entry.command}).values()
            if any((option.name, option.text) == (place.name, place.text) for option in options_of(command))
        ]
        yield [flags(place), option_meaning(place), ", ".join(dict.fromkeys(takers))]


OPTIONS = "| Option | Default | Meaning |"
TABLES: Mapping[tuple[str, str, str], Callable[[], Iterable[list[str]]]] = {
    ("python-api", "search", "| Parameter | Type | Default | Meaning |"): lambda: python_rows(
        {
            "query": TOOLS["rye_search"]["query"]._replace(default="", required=False),
            **parameters_of(SearchOptions),
        }
    ),
    ("cli", "What all commands share", "| Option | Meaning | Commands |"): place_rows,
    **{
        ("mcp", tool, "| Argument | Default | Meaning |"): partial(tool_rows, parameters)
        for tool, parameters in TOOLS.items()
    },
    **{
        ("cli", f"rye {name}", OPTIONS): partial(option_rows, entry.command)
        for name, entry in COMMANDS.items()
        if name not in {"index", "completion", "help"} and not isinstance(entry.command, click.Group)
    },
    **{
        ("cli", f"rye {name}", "| Option | Actions | Meaning |"): partial(action_rows, entry.command)
        for name, entry in COMMANDS.items()
        if isinstance(entry.command, click.Group)
    },
}
"""Page, heading and the first line of a table, and what makes its rows."""


def signature(method: str) -> str:
    """Return the arguments of a method as its section shows them."""
    parts: list[str] = []
    for each in inspect.signature(getattr(Registry, method)).parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if each.default is each.empty else "=" + repr(each.default).replace("'", '"')
        parts += [f"{each.name}{default}"] if each.name != "self" else []
    line = ", ".join(parts)
    if len(line) < 80:
        return line
    return "\n" + textwrap.fill(f"{line},", 116, initial_indent="    ", subsequent_indent="    ") + "\n"


def written(page: str, text: str) -> str:
    """Return a page with its tables and signatures as they ought to be."""
    for (name, heading, head), rows in TABLES.items():
        if name == page:
            below = re.search(rf"^##+ {re.escape(heading)}\n", text, re.MULTILINE)
            assert below, f"{page} has no heading {heading!r}"
            table = re.compile(rf"(?<=^{re.escape(head)}\n)(?:\|.*\n)*", re.MULTILINE)
            lines = f"{re.sub('[^|]+', '---', head)}\n"
            lines += "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows())
            text = text[: below.end()] + table.sub(lambda _: lines, text[below.end() :], count=1)  # noqa: B023
    if page == "python-api":
        for method in SIGNATURES:
            text = re.sub(
                rf"(registry\.{method}\()[^)]*?(\([^)]*\)[^)]*?)*?(\) ->)",
                lambda match: f"{match[1]}{signature(method)}{match[3]}",  # noqa: B023
                text,
                count=1,
            )
    return text


def stale() -> dict[Path, str]:
    """Return the pages that ought to be otherwise, and how."""
    found = {}
    for page in {name for name, _, _ in TABLES}:
        path = PAGES / f"{page}.md"
        text = path.read_text(encoding="utf-8")
        if (new := written(page, text)) != text:
            found[path] = new
    return found


if __name__ == "__main__":
    for path, text in stale().items():
        path.write_text(text, encoding="utf-8")
