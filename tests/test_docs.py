"""The knowledge items say everything there is, and nothing that is not: compared with the tables in the code.

Examples run: a ``query`` fence is parsed line by line, and the commands of a ``console`` fence are run; a line
that is to exit with another status than 0 says so, as in ``$ rye show rye/nothing   # exit 1``. Lines below a command
are what it prints: ``…`` stands for anything, lines may be broken elsewhere, and decimal fractions and percentages may
differ. A fence that begins with ``$ cd shop`` is run in the project of ``tests.support.sample_project``, others in an
empty folder.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import os
import pkgutil
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import rye
from rye import Registry, errors
from rye.cli.app import main
from rye.cli.app import root as command_line
from rye.errors import QueryError, RyeError
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.mcp.clients import CLIENTS
from rye.mcp.tools.table import TOOLS
from rye.mcp.tools.tool import Tool
from rye.parameters import ParameterError, parameters_of
from rye.query import ast as nodes
from rye.query import parse as parse_query
from rye.query.flaws import FLAWS
from rye.search.explain import MISS_REASONS
from rye.search.fields import KEYWORD_FIELDS, STATES, TEXT_FIELDS
from rye.search.results import ClauseTrace, SearchResponse, SearchResult, SectionHit, SectionResponse
from rye.trust.model import Signature, Verdict
from rye.trust.reasons import REASONS
from tests.support.error_codes import read_codes
from tests.support.mcp_server import text_of, with_client
from tests.support.parameter_tables import stale
from tests.support.sample_project import PICTURE, draw, furnish, screen
from tests.support.spacesim import SpaceSim
from tests.test_architecture import LAYERS

ROOT = Path(__file__).resolve().parent.parent
ITEMS = ROOT / "items"
DOCS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ITEMS / "knowledge" / "rye").glob("*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(language: str) -> list[tuple[str, str]]:
    """Return ``(page, content)`` of every fence of that language in the knowledge items and the README."""
    pages = DOCS | {"README": README}
    return [(page, match[2]) for page, text in pages.items() for match in FENCE.finditer(text) if match[1] == language]


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


# The items themselves


def bundled() -> list[tuple[str, str, Path]]:
    """Return type, id and path of every bundled item."""
    return [
        (str(kind), path.relative_to(ITEMS / kind.folder).with_suffix("").as_posix(), path)
        for kind in ItemType
        for path in sorted((ITEMS / kind.folder).rglob("*.*"))
        if "__pycache__" not in path.parts
    ]


@pytest.mark.parametrize(("kind", "item_id", "path"), bundled(), ids=lambda value: str(value).rpartition("/")[2])
def test_every_bundled_item_says_what_it_is(kind: str, item_id: str, path: Path) -> None:
    """Each item parses, has a title or description, and agrees with its path."""
    item = parse(path.read_bytes(), item_type=ItemType(kind), item_id=item_id, suffix=path.suffix)
    assert item.name == item_id.rpartition("/")[2]
    assert item.category == item_id.rpartition("/")[0] == "rye"
    assert item.declared.get("name", item.name) == item.name
    assert item.version
    assert 20 <= len(item.description) <= 200
    assert item.title or kind == "tool"


def test_there_are_enough_items_of_each_type() -> None:
    """The bundle documents rye in knowledge, and brings directives and tools to work with it."""
    kinds = [kind for kind, _, _ in bundled()]
    assert kinds.count("knowledge") >= 14
    assert kinds.count("directive") >= 5
    assert kinds.count("tool") >= 4


def test_readme_links_lead_somewhere() -> None:
    """Every relative link in the README is a file of the project, and one is the page that lists all others."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)\)", README) if "://" not in link]
    assert len(links) >= 5
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert "items/knowledge/rye/introduction.md" in links


def test_the_introduction_links_every_other_page() -> None:
    """Whoever reads on from there reaches every page, and no link leads to a page that is gone."""
    links = re.findall(r"\]\(([\w-]+)\.md\)", section("introduction", "Where to read on"))
    assert sorted([*links, "introduction"]) == sorted(DOCS)


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


def parameters(command: click.Command) -> list[click.Parameter]:
    """Return the parameters of a command and of its actions."""
    actions = command.commands.values() if isinstance(command, click.Group) else ()
    return [*command.params, *(param for action in actions for param in action.params)]


@pytest.mark.parametrize("name", commands())
def test_every_option_of_every_command_is_documented(name: str) -> None:
    """Each command has a section that names all its options, long and short, and no other."""
    text = section("cli", f"rye {name}")
    documented = {word.rstrip(",") for code in ticked(text) for word in code.split() if word.startswith("-")}
    shared = {word for code in ticked(section("cli", "What all commands share")) for word in code.split()}
    options = [param for param in parameters(commands()[name]) if isinstance(param, click.Option)]
    expected = {option for param in options for option in (*param.opts, *param.secondary_opts)} - {"--help", "-h"}
    assert expected - documented - shared == set()
    own = {
        word for line in re.findall(r"^\| `(-.*?) \|", text, re.MULTILINE) for word in re.findall(r"--?[\w-]+", line)
    }
    assert own - expected == set()
    places = {
        row[0].strip("`").split()[0]: row[-1].split(", ") for row in rows("cli") if "search" in row[-1].split(", ")
    }
    assert len(places) >= 4
    for option, users in places.items():
        assert (name in users) == (option in expected - own), f"{option} of {name}"


def test_the_page_of_the_command_line_lists_exactly_the_commands() -> None:
    """No command is left out, none is made up."""
    sections = re.findall(r"^## rye (\w+)$", DOCS["cli"], re.MULTILINE)
    assert sorted(sections) == sorted(commands())
    assert "verify" in sections


def test_every_environment_variable_is_documented() -> None:
    """Each variable that rye reads has a row."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "rye").rglob("*.py"))
    read = set(re.findall(r"\"(RYE_[A-Z_]+|USER_SPACE|NO_COLOR|FORCE_COLOR)\"", source))
    assert read >= {"RYE_CACHE_DIR", "RYE_BUNDLES", "RYE_SIGNING_KEY", "USER_SPACE"}
    table = {name for row in rows("cli") for name in ticked(row[0]) if name.isupper()}
    assert read - table == set()


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


def test_the_page_of_the_server_names_every_tool_and_client() -> None:
    """A section for each tool, a line of the table for each client."""
    assert set(re.findall(r"^### (rye_\w+)$", DOCS["mcp"], re.MULTILINE)) == set(TOOLS)
    assert set(re.findall(r"^\$ rye mcp --print-config (\w+)$", DOCS["mcp"], re.MULTILINE)) == set(CLIENTS)


# Fields, states, weights


def test_every_field_is_documented_with_its_alias() -> None:
    """Each text and keyword field, its aliases and its level stand in the table, and no other does."""
    table = [row for row in rows("fields-and-filters") if len(row) in {3, 4} and row[0].startswith("`")]
    documented = {row[0].strip("`"): row for row in table if len(row) == 4 or row[0].strip("`") in KEYWORD_FIELDS}
    assert set(documented) == {*TEXT_FIELDS, *KEYWORD_FIELDS}
    aliases = {name: entry.aliases for name, entry in TEXT_FIELDS.items()}
    aliases |= {name: entry.aliases for name, entry in KEYWORD_FIELDS.items()}
    for name, others in aliases.items():
        assert ticked(documented[name][1]) == set(others), name
    for name, entry in TEXT_FIELDS.items():
        assert documented[name][3] == str(entry.level), name


def test_the_documented_weights_are_those_in_force() -> None:
    """The table of weights is that of the code."""
    weights = [row for row in rows("scoring") if len(row) == 4 and row[0].strip("`") in TEXT_FIELDS]
    table = {name.strip("`"): tuple(map(float, numbers)) for name, *numbers in weights}
    assert table == {name: (entry.action_weight, entry.weight, entry.b) for name, entry in TEXT_FIELDS.items()}


def test_every_state_is_documented() -> None:
    """``is:`` takes exactly the documented states."""
    assert set(re.findall(r"`is:(\w+)`", section("fields-and-filters", "States"))) == set(STATES)


# Verdicts, reasons, errors, limits


def test_every_verdict_and_reason_code_is_documented() -> None:
    """Each code stands in the table beside its verdict; the table has no other."""
    table = {row[0].strip("`"): row[1] for row in rows("signing") if len(row) == 4 and row[0][0] == "`"}
    assert table == {code: str(reason.verdict) for code, reason in REASONS.items()}
    six = {row[0].strip("`") for row in rows("signing") if len(row) == 2}
    assert six >= set(map(str, Verdict))


def test_every_reason_for_which_an_item_is_no_hit_is_documented() -> None:
    """The table on the page has exactly the codes there are."""
    table = {row[0].strip("`") for row in rows("looking-around") if len(row) == 2 and row[0].startswith("`")}
    assert table == set(MISS_REASONS)


def documented_codes() -> set[tuple[str, str]]:
    """Return ``(code, class)`` of every row on the page of errors; one row may stand for several codes."""
    table = [row for row in rows("errors") if row[0].startswith("`") and len(row) == 4]
    return {(code, row[1].strip("`")) for row in table for code in ticked(row[0])}


def test_every_error_code_is_documented() -> None:
    """The page on errors has a row for each code that can be raised, and for no other."""
    families = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, RyeError)}
    families |= {ParameterError.__name__}
    found = read_codes((ROOT / "rye").rglob("*.py"), families)
    assert found.unknown == {"flaws.py"}, "the codes there are the table FLAWS; all others must be readable"
    literal = found.literal | set(FLAWS)
    assert len(literal) >= 40
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in literal)
    documented = {code for code, _ in documented_codes()}
    assert literal - documented == set()
    composed = documented - literal
    assert {code for code in composed if not any(re.fullmatch(pattern, code) for pattern in found.composed)} == set()
    assert {pattern for pattern in found.composed if not any(re.fullmatch(pattern, code) for code in composed)} == set()


def test_every_error_code_is_documented_with_a_class_that_exists() -> None:
    """The second column names a family of errors, and for faults of the query's form it is ``QueryError``."""
    assert all(hasattr(errors, family) for _, family in documented_codes())
    assert {(code, "QueryError") for code in FLAWS} - documented_codes() == set()


@pytest.mark.parametrize("code", [code for code, flaw in FLAWS.items() if flaw.example and "\0" not in flaw.example])
def test_the_documented_example_of_a_query_error_raises_it(code: str) -> None:
    """Each example in the table of query errors has just that error, whose suggestion parses."""
    (row,) = [row for row in rows("errors") if row[:2] == [f"`{code}`", "`QueryError`"]]
    with pytest.raises(QueryError) as raised:
        parse_query(row[2].strip("`"))
    assert raised.value.code == code
    assert raised.value.hint
    parse_query(raised.value.suggestion)


def limits() -> dict[str, int]:
    """Return every public ``MAX_…`` constant of the package."""
    found: dict[str, int] = {}
    for info in pkgutil.walk_packages(rye.__path__, "rye."):
        if "_bundled" not in info.name and not info.name.endswith("__main__"):
            module = importlib.import_module(info.name)
            found |= {
                f"{info.name}.{name}": value
                for name, value in vars(module).items()
                if name.startswith("MAX_") and isinstance(value, int)
            }
    return found


def test_every_limit_is_documented() -> None:
    """The value of each limit stands in the table."""
    assert len(limits()) >= 8
    values = {float(number.replace(",", "")) for row in rows("limits") for number in re.findall(r"\d[\d,.]*", row[1])}
    assert {name: value for name, value in limits().items() if value not in values} == {}


# The Python API and its answers


@pytest.mark.parametrize(
    "method", ["search", "list_items", "sections", "why", "similar", "stats", "get", "refs", "verify", "sign"]
)
def test_every_parameter_of_the_registry_is_documented(method: str) -> None:
    """Each method has a section with its signature, parameter for parameter, and its defaults."""
    text = section("python-api", method)
    documented = re.search(rf"registry\.{method}\((.*?)\) ->", text, re.DOTALL)
    assert documented
    parameters = [part.strip() for part in documented[1].replace("\n", " ").split(",") if part.strip()]
    assert parameters == signature_of(getattr(Registry, method))
    if method in {"search", "sign"}:
        table = {row[0].strip("`") for row in rows("python-api")}
        assert {part.strip("*").partition("=")[0] for part in parameters} - {""} <= table


def test_the_constructor_of_the_registry_is_documented() -> None:
    """The signature on the page is that of the code."""
    documented = re.search(r"^Registry\((.*?)\)$", DOCS["python-api"], re.MULTILINE)
    assert documented
    # a default may be an empty tuple, whose comma-less form has no blank to split at
    assert [part.strip() for part in documented[1].split(",")] == signature_of(Registry)


def signature_of(function: object) -> list[str]:
    """Return the parameters as a page writes them: without annotations and ``self``."""
    assert callable(function)
    parts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else "=" + repr(parameter.default).replace("'", '"')
        if parameter.name != "self":
            parts.append(f"{star}{parameter.name}{default}")
    return parts


@pytest.mark.parametrize(
    ("heading", "kind"), [("The response", SearchResponse), ("A hit", SearchResult), ("A signature", Signature)]
)
def test_every_field_of_an_answer_is_documented(heading: str, kind: type) -> None:
    """Each attribute of response, hit and signature has a row in its section."""
    text = section("results", heading)
    named = {name for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in ticked(line)}
    assert named == attributes(kind)
    if kind is SearchResult:
        assert attributes(ClauseTrace) <= ticked(text)


def test_every_field_of_a_section_is_documented() -> None:
    """Each attribute of a section stands in the table, each of the response in a sentence below it."""
    text = section("sections", "What a section brings")
    table = {name for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in ticked(line)}
    assert table == attributes(SectionHit)
    assert attributes(SectionResponse) <= ticked(text)


def test_the_public_members_of_the_registry_are_documented() -> None:
    """Each public method and property of the registry is named on the page."""
    members = {name for name in vars(Registry) if not name.startswith("_")}
    assert members >= {"search", "get", "verify", "sign", "refresh", "rebuild", "clear", "status", "sources"}
    page = DOCS["python-api"]
    assert [name for name in members if f"`{name}" not in page and f"### {name}" not in page] == []


@pytest.mark.parametrize("page", ["items/knowledge/rye/architecture.md", ".github/CONTRIBUTING.md"])
def test_the_files_that_the_pages_about_the_code_name_exist(page: str) -> None:
    """A walk leads from file to file, and a step says which to touch."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:rye|tests|grammar)/[\w/-]+(?:/|\.\w+))`", text)
    assert len(named) >= 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_architecture_names_every_room() -> None:
    """Each room stands in the drawing, on the line of its layer, and has its line in the table."""
    entries = [path.stem for path in (ROOT / "rye").iterdir() if path.is_dir() or path.suffix == ".py"]
    rooms = {name for name in entries if name != "_bundled" and not name.startswith("__")}
    (drawing,) = [text for page, text in fences("text") if page == "architecture" and "embedding" in text]
    for name in rooms:
        (line,) = re.findall(rf"^ ?(\d) .*\b{name}\b", drawing, re.MULTILINE)
        assert int(line) == LAYERS[name], name
    assert rooms - {row[0].strip("`") for row in rows("architecture")} == set()


# Examples


@pytest.mark.parametrize(
    ("page", "line"),
    [(page, line) for page, text in fences("query") for line in text.splitlines() if line],
)
def test_every_query_example_parses(page: str, line: str) -> None:
    """A documented query is well formed, and its canonical form means the same."""
    tree = parse_query(line).ast
    assert parse_query(str(tree)).ast == tree, page


def test_the_query_examples_show_every_form() -> None:
    """Each kind of node of a query's tree occurs in an example."""
    shown: set[str] = set()
    for _, text in fences("query"):
        for line in text.splitlines():
            shown |= set(re.findall(r"\b([A-Z]\w+)\(", repr(parse_query(line).ast)))
    kinds = {name for name, value in vars(nodes).items() if isinstance(value, type) and name in str(nodes.Node)}
    assert len(kinds) >= 12
    assert kinds - shown - {"Everything"} == set()


def words_of(line: str) -> list[str]:
    """Return the words of a command line as a shell reads them, without a comment; it joins no commands."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    found = list(words)
    assert not [word for word in found if set(word) <= set("();<>|&")], line
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the project that samples are printed from, and the home of its user."""
    return furnish(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def folders(shop: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Return what goes into the sample project, or into an empty folder; there is nobody to ask."""

    def enter(is_sample: bool) -> None:  # noqa: FBT001 - the two folders
        monkeypatch.chdir(shop[0] if is_sample else tmp_path)
        if is_sample:
            monkeypatch.setenv("USER_SPACE", str(shop[1]))

    monkeypatch.setattr("sys.stdin", io.StringIO())
    return enter


def matches(sample: str, answer: str) -> bool:
    """Return whether a sample is what was printed, as far as it goes."""
    wanted, found = (re.sub(r"\d+(\.\d+)?%|\d+\.\d+|\s+", "", text) for text in (sample, answer))
    return re.fullmatch(".*?".join(map(re.escape, wanted.split("…"))), found) is not None


@pytest.mark.parametrize(("page", "text"), fences("console"), ids=lambda value: value.split("\n")[0][:60])
def test_every_console_example_prints_what_it_shows(
    page: str, text: str, folders: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A documented command runs, exits with the status written beside it, and prints what stands below it."""
    rest = text.removeprefix("$ cd shop\n")
    folders(rest != text)
    assert rest.startswith("$ "), f"{page}: no command in a console fence"
    for example in re.split(r"^\$ ", rest, flags=re.MULTILINE)[1:]:
        line, _, sample = example.partition("\n")
        program, *words = words_of(line)
        said = re.search(r"# exit (\d+)$", line)
        assert program == "rye", f"{page}: {line}"
        status = main(words)
        answer = "".join(capsys.readouterr())
        assert status == (int(said[1]) if said else 0), f"{page}: {line}\n{answer}"
        assert answer
        assert not sample.strip() or matches(sample, answer), f"{page}: {line} prints\n{answer}"


def test_the_sample_of_an_answer_to_an_agent_is_one(shop: tuple[Path, Path], tmp_path: Path) -> None:
    """The text of ``rye_search`` in the sample project, with other marks around what items say."""
    sim = SpaceSim(tmp_path, bundles=())
    shutil.copytree(shop[0], sim.project, dirs_exist_ok=True)
    given = {"query": "refund order", "space": "project", "limit": 2}
    text = text_of(with_client(sim, lambda client: client.call_tool("rye_search", given)))
    (sample,) = [sample for page, sample in fences("text") if page == "mcp"]
    assert matches(re.sub(r"\b[0-9a-f]{12}\b", "…", sample), text), text


def test_every_sample_of_an_answer_stands_below_its_command() -> None:
    """JSON on a page is printed by a command, unless it is the input of another one."""
    assert {page for page, _ in fences("json")} <= {"signing"}


def modules_with_examples() -> list[str]:
    """Return the modules of rye whose docstrings hold examples."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "rye").rglob("*.py"))
        if re.search(r">>> (?!.*\+SKIP)", path.read_text(encoding="utf-8")) and "_bundled" not in path.parts
    ]
    assert len(names) >= 10
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_every_docstring_example_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a docstring shows is what happens; ``…`` stands for what is left out."""
    monkeypatch.setattr(doctest, "ELLIPSIS_MARKER", "…")
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert found.failed == 0


def test_python_examples_compile_and_call_what_exists() -> None:
    """Each Python example is valid, and what it imports from rye is there."""
    examples = [(page, text) for page, text in fences("python") if "import" in text]
    assert len(examples) >= 4
    for page, text in examples:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rye":
                module = importlib.import_module(node.module or "")
                assert all(hasattr(module, alias.name) for alias in node.names), page
