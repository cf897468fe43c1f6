"""The tables of parameters in the bundled documentation, made of the table of parameters.

``poe tables`` writes them into the pages; a test says when they are stale.
A table is found by its page, the heading it stands below and its first column; the text around it is for people.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rye import Registry
from rye.parameters import Parameter, SearchOptions, described, parameters_of

PAGES = Path(__file__).resolve().parents[2] / "items" / "knowledge" / "rye"
SIGNATURES = ("search", "sections", "why", "similar", "refs")


def meaning(parameter: Parameter, surface: str) -> str:
    """Return the last cell of a row."""
    return f"{described(parameter, surface)}{'; ' if parameter.notes else ''}{parameter.notes}".replace("|", "\\|")


def shown(parameter: Parameter, *, python: bool = False) -> str:
    """Return the default as a page writes it."""
    default = parameter.default
    if python:
        return f"`{default!r}`".replace("'", '"') if isinstance(default, (str, tuple)) else f"{default}"
    if parameter.required or parameter.shown or default is None:
        return "required" if parameter.required else parameter.shown
    if isinstance(default, str):
        return f"`{default}`" if default else ""
    return f"{default:,g}" if type(default) in {int, float} else json.dumps(default)


def type_words(parameter: Parameter) -> str:
    """Return the type of a parameter in words."""
    words = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "mapping"}
    return words.get(parameter.kind, "sequence of str") + (" or None" if parameter.default is None else "")


def python_rows(parameters: Mapping[str, Parameter]) -> Iterator[list[str]]:
    """Yield the rows of a table of keywords."""
    for name, each in parameters.items():
        yield [f"`{name}`", type_words(each), shown(each, python=True), meaning(each, "py")]


TABLES: Mapping[tuple[str, str, str], Callable[[], list[list[str]]]] = {
    ("python-api", "search", "`scope`"): lambda: list(python_rows(parameters_of(SearchOptions))),
}
"""Page, heading and the cell from which on the rows of a table are made."""


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
    for (name, heading, first), rows in TABLES.items():
        if name == page:
            below = re.search(rf"^##+ {re.escape(heading)}\n", text, re.MULTILINE)
            assert below, f"{page} has no heading {heading!r}"
            table = re.compile(rf"^\| {re.escape(first)} .*\n(?:\|.*\n)*", re.MULTILINE)
            lines = "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows())
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
