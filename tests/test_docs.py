"""The pages say everything there is, and nothing that is not: compared with the tables in the code."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
from pathlib import Path

import pytest

from rye import Registry
from rye.cli.commands import COMMANDS
from rye.items.model import ItemType
from rye.items.reader import parse
from rye.mcp.clients import CLIENTS
from rye.mcp.tools.table import TOOLS
from rye.search.contract.fields import KEYWORD_FIELDS, STATES, TEXT_FIELDS
from rye.trust.model import Verdict
from rye.trust.reasons import POLICY_REMEDIES, REASONS
from tests.support.reference import PAGE, page
from tests.support.sample_project import PICTURE, draw, screen

ROOT = Path(__file__).resolve().parent.parent
ITEMS = ROOT / "items"
DOCS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ITEMS / "knowledge" / "rye").glob("*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "rye").rglob("*.py")))
WORDS = 32_000
"""Words that the pages may have, without the reference, which is made from the code."""


def listed(page: str, heading: str = "") -> set[str]:
    """Return the names in backticks in the first column of the tables of a page, or of one of its sections."""
    text = DOCS[page]
    if heading:
        match = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,3}} |\Z)", text, re.MULTILINE | re.DOTALL)
        assert match, f"{page} has no section {heading!r}"
        text = match[2]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`\n]+)`", cell)}


def test_the_page_on_ci_has_the_jobs_that_init_writes() -> None:
    """Word for word, below the line that says who may change them."""
    for job in sorted((ROOT / "rye" / "registry" / "templates").glob("*.y*ml")):
        head, _, text = job.read_text(encoding="utf-8").partition("\n")
        assert head.startswith("# This job and rye-policy.yaml decide what passes")
        assert f"```yaml\n{text}```\n" in DOCS["ci"], job.name


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


def test_the_reference_is_made_from_the_code() -> None:
    """The page is what ``poe reference`` writes."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_page_is_linked_and_the_manual_stays_short() -> None:
    """The start page links each other page, and the reader can finish them."""
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", DOCS["start"])) == DOCS.keys() - {"start"}
    assert len(DOCS) <= 15
    assert sum(len(text.split()) for name, text in DOCS.items() if name != "reference") <= WORDS
    assert len(README.splitlines()) <= 90


@pytest.mark.parametrize("name", DOCS)
def test_pages_name_only_pages_that_exist(name: str) -> None:
    """``rye/x`` in backticks is an item, and a link with a fragment leads to a heading."""
    items = {path.relative_to(ITEMS).with_suffix("").as_posix().partition("/")[2] for path in ITEMS.rglob("rye/*.*")}
    assert set(re.findall(r"`(rye/[a-z-]+)`", DOCS[name])) - items == set()
    lines = re.findall(r"^#+ (.*)", DOCS[name], re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}
    assert set(re.findall(r"\]\(#([\w-]+)\)", DOCS[name])) - headings == set()


def test_messages_and_docstrings_name_only_pages_that_exist() -> None:
    """``rye help x`` in the source is a topic or a command, and ``rye/x`` in backticks is an item."""
    items = {path.relative_to(ITEMS).with_suffix("").as_posix().partition("/")[2] for path in ITEMS.rglob("rye/*.*")}
    named = set(re.findall(r"`(rye/[a-z-]+)`", SOURCE))
    assert len(named) > 5
    assert named - items - {"rye/core"} == set()  # the example of a pattern
    topics = set(re.findall(r"\brye help ([a-z][a-z-]*)\b(?! the pages)", SOURCE))
    assert {f"rye/{topic}" for topic in topics - set(COMMANDS)} - items == set()


def test_docstrings_refer_only_to_what_exists() -> None:
    """Each full name in a reference, such as of a function that moved, leads to a module, class, function or value."""
    named = set(re.findall(r":(?:attr|class|data|func|meth|mod):`~?(rye\.[\w.]+)`", SOURCE))
    assert len(named) > 40

    def leads_nowhere(name: str) -> bool:
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            return True
        return False

    assert set(filter(leads_nowhere, named)) == set()


# Names


SAME = {
    "tools of the server": (listed("mcp", "Tools"), TOOLS),
    "clients": (re.findall(r"^\$ rye mcp --print-config (\w+)$", DOCS["mcp"], re.MULTILINE), CLIENTS),
    "verdicts": (listed("signing", "Verdicts") & set(map(str, Verdict)), map(str, Verdict)),
    "codes of policies": (listed("ci", "A policy") - {"audience"}, POLICY_REMEDIES),
    "parameters of a registry": (listed("python", "Registry"), list(inspect.signature(Registry).parameters)),
}
"""Names on a page → the names in the code."""


@pytest.mark.parametrize("what", SAME)
def test_the_pages_list_exactly_what_there_is(what: str) -> None:
    """Nothing is left out, nothing is made up."""
    documented, real = SAME[what]
    assert set(documented) == set(real)


def test_names_of_fields_states_and_codes_are_real() -> None:
    """A page names no state, field or reason code that the code does not have."""
    text = "\n".join(DOCS.values())
    assert set(re.findall(r"`-?is:(\w+)`", text)) <= STATES.keys()
    assert set(
        re.findall(r"`(\w+)`", DOCS["query-language"].partition("**Text fields** (")[2].partition(")")[0])
    ) == set(TEXT_FIELDS)
    known = re.findall(r"`([\w-]+)`", DOCS["query-language"].partition("**Keyword fields** (")[2].partition(", and")[0])
    assert set(known) == set(KEYWORD_FIELDS)
    assert {code for code in listed("signing", "Verdicts") if "-" in code} <= REASONS.keys()


def test_every_environment_variable_is_documented() -> None:
    """Each has its row in the reference."""
    read = set(re.findall(r"\"(RYE_[A-Z_]+|USER_SPACE|NO_COLOR|FORCE_COLOR)\"", SOURCE))
    assert listed("reference", "Environment variables") >= read


def test_methods_named_on_the_python_page_exist() -> None:
    """Each name in the first column of its tables is a method or attribute of a registry, or an error class."""
    errors = importlib.import_module("rye.errors")
    names = listed("python") - set(inspect.signature(Registry).parameters)
    assert {
        name for name in names if not hasattr(Registry, name.partition("(")[0]) and not hasattr(errors, name)
    } == set()
