"""The pages say everything there is, and nothing that is not: compared with the tables in the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
from pathlib import Path
from typing import Any

import click
import pytest

import rye
from rye import Registry, errors
from rye.cli.app import root as command_line
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.mcp.clients import CLIENTS
from rye.mcp.tools.table import TOOLS
from rye.mcp.tools.tool import Tool
from rye.options.model import parameters_of
from rye.query.flaws import FLAWS
from rye.search.explain import MISS_REASONS
from rye.search.fields import KEYWORD_FIELDS, STATES, TEXT_FIELDS
from rye.search.results import SearchResponse, SearchResult, SectionHit
from rye.trust.model import Signature, Verdict
from rye.trust.reasons import REASONS
from tests.support.parameter_tables import stale
from tests.support.sample_project import PICTURE, draw, screen

ROOT = Path(__file__).resolve().parent.parent
ITEMS = ROOT / "items"
FIELDS: dict[str, Any] = {**TEXT_FIELDS, **KEYWORD_FIELDS}
DOCS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ITEMS / "knowledge" / "rye").glob("*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "rye").rglob("*.py")))


def attributes(kind: type) -> set[str]:
    """Return the names of the attributes of a class and of its bases."""
    return {name for base in kind.__mro__ for name in inspect.get_annotations(base)}


def ticked(text: str) -> set[str]:
    """Return what stands between backticks on a line."""
    return set(re.findall(r"`([^`\n]+)`", text))


def rows(page: str) -> list[list[str]]:
    """Return the cells of all table rows of a page."""
    lines = re.findall(r"^\| (.*) \|$", DOCS[page], re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]


def section(page: str, heading: str) -> str:
    """Return the text below a heading of level 2 or 3, up to the next one of its level or above."""
    match = re.search(rf"^(#{{2,3}}) {re.escape(heading)}\n(.*?)(?=^#{{2}} |\Z)", DOCS[page], re.MULTILINE | re.DOTALL)
    assert match, f"{page} has no section {heading!r}"
    return match[2]


def listed(page: str, heading: str) -> set[str]:
    """Return the names in the first column of the table of a section."""
    lines = re.findall(r"^\| (`.*?) \|", section(page, heading), re.MULTILINE)
    return {name for line in lines for name in ticked(line)}


# Items and links


@pytest.mark.parametrize(
    "path",
    [path for kind in ItemType for path in sorted((ITEMS / kind.folder).rglob("*.*"))],
    ids=lambda path: path.name,
)
def test_every_bundled_item_says_what_it_is(path: Path) -> None:
    """Each item parses, has a description, and agrees with its path."""
    kind = next(kind for kind in ItemType if kind.folder == path.relative_to(ITEMS).parts[0])
    item_id = path.relative_to(ITEMS / kind.folder).with_suffix("").as_posix()
    item = parse(path.read_bytes(), item_type=kind, item_id=item_id, suffix=path.suffix)
    assert (item.category, item.declared.get("name", item.name)) == ("rye", path.stem)
    assert item.version
    assert 20 <= len(item.description) <= 200


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / ".github").rglob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page outside the items is a file of the project."""
    for link in re.findall(r"\]\(([^):#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_picture_of_the_readme_is_what_a_terminal_shows(tmp_path: Path) -> None:
    """Every line, colour and place is as the command prints it, but scores; else draw it anew by ``sample_project``."""
    drawn, shown = (re.sub(r">0\.\d{4}<", "><", text) for text in (PICTURE.read_text("utf-8"), draw(screen(tmp_path))))
    assert drawn == shown
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in README


def test_the_tables_of_parameters_are_those_of_the_code() -> None:
    """Every table is as it is made of the declarations; else ``poe tables`` writes it anew."""
    assert {path.name: "is stale" for path in stale()} == {}


# Commands


def commands() -> dict[str, click.Command]:
    """Return every command by its name."""
    assert isinstance(command_line, click.Group)
    context = click.Context(command_line)
    found = {name: command_line.get_command(context, name) for name in command_line.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


@pytest.mark.parametrize("name", commands())
def test_every_option_of_every_command_is_documented(name: str) -> None:
    """The section of a command names all its options, and its table no other; some stand where all commands share."""
    text = section("cli", f"rye {name}")
    named = {
        word.rstrip(",") for code in ticked(text + section("cli", "What all commands share")) for word in code.split()
    }
    command = commands()[name]
    actions = command.commands.values() if isinstance(command, click.Group) else ()
    params = [*command.params, *(param for action in actions for param in action.params)]
    options = [param for param in params if isinstance(param, click.Option)]
    expected = {option for param in options for option in (*param.opts, *param.secondary_opts)} - {"--help", "-h"}
    assert expected - named == set()
    lines = re.findall(r"^\| `(-.*?) \|", text, re.MULTILINE)
    assert {word for line in lines for word in re.findall(r"--?[\w-]+", line)} - expected == set()


# The MCP server


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_every_argument_of_every_tool_is_documented(tool: Tool) -> None:
    """Each has its row; no other has."""
    text = section("mcp", tool.name)
    table = {
        name: row.split(" | ")[1]
        for row in re.findall(r"^\| (.*) \|$", text.partition("### ")[0], re.MULTILINE)
        for name in ticked(row.split(" | ")[0])
        if len(row.split(" | ")) == 3
    }
    parameters = tool.parameters
    rare = parameters_of(parameters["options"].parts or dict) if "options" in parameters else {}
    assert set(table) == {*parameters, *(f"options.{name}" for name in rare)} - {"options"}


# Names and numbers

_WEIGHTS = [row for row in rows("scoring") if len(row) == 4 and row[0].strip("`") in TEXT_FIELDS]
_FIELDS = {
    row[0].strip("`"): ticked(row[1])
    for row in rows("fields-and-filters")
    if row[0].startswith("`") and (len(row) == 4 or (len(row) == 3 and row[0].strip("`") in KEYWORD_FIELDS))
}
SAME = {
    "pages": (
        re.findall(r"\]\(([\w-]+)\.md\)", section("introduction", "Where to read on")),
        DOCS.keys() - {"introduction"},
    ),
    "commands": (re.findall(r"^## rye (\w+)$", DOCS["cli"], re.MULTILINE), commands()),
    "tools of the server": (re.findall(r"^### (rye_\w+)$", DOCS["mcp"], re.MULTILINE), TOOLS),
    "clients": (re.findall(r"^\$ rye mcp --print-config (\w+)$", DOCS["mcp"], re.MULTILINE), CLIENTS),
    "states": (re.findall(r"`is:(\w+)`", section("fields-and-filters", "States")), STATES),
    "fields": (_FIELDS, TEXT_FIELDS.keys() | KEYWORD_FIELDS.keys()),
    "aliases": (set().union(*_FIELDS.values()), {name for each in FIELDS.values() for name in each.aliases}),
    "weights": (
        [(name.strip("`"), *map(float, numbers)) for name, *numbers in _WEIGHTS],
        [(name, entry.action_weight, entry.weight, entry.b) for name, entry in TEXT_FIELDS.items()],
    ),
    "reasons": (
        [(row[0].strip("`"), row[1]) for row in rows("signing") if len(row) == 4 and row[0][0] == "`"],
        [(code, str(reason.verdict)) for code, reason in REASONS.items()],
    ),
    "reasons for no hit": (
        [row[0].strip("`") for row in rows("looking-around") if len(row) == 2 and row[0].startswith("`")],
        MISS_REASONS,
    ),
    **{
        heading: (listed(page, heading), attributes(kind))
        for page, heading, kind in (
            ("results", "The response", SearchResponse),
            ("results", "A hit", SearchResult),
            ("results", "A signature", Signature),
            ("sections", "What a section brings", SectionHit),
        )
    },
}
"""What is listed → what the pages list, and what the code has."""


@pytest.mark.parametrize("what", SAME)
def test_the_pages_list_exactly_what_there_is(what: str) -> None:
    """Nothing is left out, nothing is made up."""
    documented, real = SAME[what]
    assert len(set(real)) > 2
    assert set(documented) == set(real)


def test_every_verdict_and_environment_variable_is_documented() -> None:
    """Each has its row in a table."""
    assert {row[0].strip("`") for row in rows("signing") if len(row) == 2} >= set(map(str, Verdict))
    read = set(re.findall(r"\"(RYE_[A-Z_]+|USER_SPACE|NO_COLOR|FORCE_COLOR)\"", SOURCE))
    assert {name for row in rows("cli") for name in ticked(row[0])} >= read


def documented_codes() -> set[tuple[str, str]]:
    """Return ``(code, class)`` of every row on the page of errors; one row may stand for several codes."""
    table = [row for row in rows("errors") if row[0].startswith("`") and len(row) == 4]
    return {(code, row[1].strip("`")) for row in table for code in ticked(row[0])}


def test_every_error_code_is_documented() -> None:
    """The page on errors has a row for each code that the source names beside an error, and no made-up one."""
    families = "|".join(name for name in vars(errors) if name.endswith(("Error", "Fault")))
    raised = set(re.findall(rf"\b(?:{families}|ParameterError)\(\s*\"([a-z]+(?:-[a-z]+)*)\"", SOURCE))
    composed = re.findall(r"f\"([a-z-]*(?:\{[^}]+\}[a-z-]*)+)\"", SOURCE)
    made = re.compile("|".join(re.sub(r"\{[^}]+\}", "[a-z-]+", each) for each in composed if "-" in each))
    documented = {code for code, _ in documented_codes()}
    assert len(raised) > 100
    assert (raised | set(FLAWS)) - documented == set()
    assert {code for code in documented if f'"{code}"' not in SOURCE and not made.fullmatch(code)} == set()
    assert all(hasattr(errors, family) for _, family in documented_codes())


def test_every_limit_is_documented() -> None:
    """The value of each public ``MAX_…`` stands in the table."""
    names = [info.name for info in pkgutil.walk_packages(rye.__path__, "rye.")]
    modules = [importlib.import_module(name) for name in names if not re.search("_bundled|__main__", name)]
    limits = [each for module in modules for each in vars(module).items() if each[0].startswith("MAX_")]
    values = {float(number.replace(",", "")) for row in rows("limits") for number in re.findall(r"\d[\d,.]*", row[1])}
    assert {name: value for name, value in limits if isinstance(value, int) and value not in values} == {}


# The Python API and its answers


@pytest.mark.parametrize(
    "method",
    ["search", "list_items", "sections", "why", "evaluate", "similar", "stats", "get", "refs", "verify", "sign"],
)
def test_every_parameter_of_the_registry_is_documented(method: str) -> None:
    """Each method has a section with its signature, parameter for parameter, and its defaults."""
    documented = re.search(rf"registry\.{method}\((.*?)\) ->", section("python-api", method), re.DOTALL)
    assert documented
    made = ast.parse(f"lambda {' '.join(documented[1].split())}: 0", mode="eval").body
    real = inspect.signature(getattr(Registry, method))
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in list(real.parameters.values())[1:]]
    assert isinstance(made, ast.Lambda)
    assert f"({ast.unparse(made.args)})" == str(inspect.Signature(bare))
