"""What a path in the folder of a client of agents stands for."""

from __future__ import annotations

from datetime import date

import pytest

from rye.items.clients import FIXED_FILES, FORMATS, OF_PROJECTS, OF_USERS, SKILLS, TABLE, ClientFolder, is_obeyed
from rye.items.model import ItemType

PLACES = {each.place: each for each in (*OF_PROJECTS, *OF_USERS)}
D, T, K = ItemType.DIRECTIVE, ItemType.TOOL, ItemType.KNOWLEDGE


@pytest.mark.parametrize(
    ("place", "path", "expected"),
    [
        (".claude/skills", "pdf/SKILL.md", (D, "pdf", ".md")),
        (".claude/skills", "office/pdf/SKILL.md", (D, "office/pdf", ".md")),
        (".claude/skills", "SKILL.md", None),
        (".claude/skills", "README.md", None),
        (".claude/skills", "pdf/forms.md", (K, "pdf/forms", ".md")),
        (".claude/skills", "pdf/scripts/fill.py", (T, "pdf/scripts/fill", ".py")),
        (".claude/skills", "pdf/scripts/_helper.py", None),
        (".claude/skills", "pdf/assets/table.json", None),
        (".claude/skills", "pdf/LICENSE.txt", None),
        (".claude/commands", "fe/review.md", (D, "commands/fe/review", ".md")),
        (".claude/commands", "review.txt", None),
        (".claude/agents", "tester.md", (D, "agents/tester", ".md")),
        (".cursor/rules", "ts.mdc", (D, "rules/ts", ".md")),
        (".cursor/rules", "ts.md", (D, "rules/ts", ".md")),
        (".cursor/rules", "ts.txt", None),
        (".github/prompts", "new.prompt.md", (D, "prompts/new", ".md")),
        (".github/prompts", "new.md", None),
        (".github/instructions", "py.instructions.md", (D, "instructions/py", ".md")),
        ("", "AGENTS.md", (D, "AGENTS", ".md")),
        ("", "packages/x/CLAUDE.md", (D, "packages/x/CLAUDE", ".md")),
        ("", ".github/copilot-instructions.md", (D, "copilot-instructions", ".md")),
        ("", ".mcp.json", (T, "mcp", ".json")),
        ("", "packages/x/.mcp.json", (T, "packages/x/mcp", ".json")),
        ("", ".claude/CLAUDE.md", (D, "claude/CLAUDE", ".md")),
        ("", "packages/x/.claude/CLAUDE.md", (D, "packages/x/claude/CLAUDE", ".md")),
        ("", ".claude/AGENTS.md", None),
        ("", "AGENTS.override.md", (D, "AGENTS.override", ".md")),
        ("", "GEMINI.md", (D, "GEMINI", ".md")),
        ("", ".cursor/mcp.json", (T, "cursor/mcp", ".json")),
        (".claude/rules", "ts/style.md", (D, "rules/ts/style", ".md")),
        (".github/chatmodes", "plan.chatmode.md", (D, "chatmodes/plan", ".md")),
        (".clinerules", "style.md", (D, "clinerules/style", ".md")),
        ("", "CRUSH.md", (D, "CRUSH", ".md")),
        ("", "packages/x/WARP.md", (D, "packages/x/WARP", ".md")),
        ("", "replit.md", (D, "replit", ".md")),
        ("", ".hermes.md", (D, "hermes", ".md")),
        ("", ".idx/airules.md", (D, "idx/airules", ".md")),
        ("", ".kilocode/mcp.json", (T, "kilocode/mcp", ".json")),
        (".factory/droids", "reviewer.md", (D, "droids/reviewer", ".md")),
        (".firebender/rules", "kotlin.mdc", (D, "rules/kotlin", ".md")),
        (".tabnine/guidelines", "style.md", (D, "guidelines/style", ".md")),
        ("", "CONVENTIONS.md", None),
        ("", "llms.txt", None),
        ("", "README.md", None),
    ],
)
def test_a_path_is_one_item_or_none(place: str, path: str, expected: object) -> None:
    """Type, id and extension follow from the path, and the folder of an item from its type and id."""
    folder = PLACES[place]
    assert folder.identify(path) == expected
    if expected is not None and not path.rpartition("/")[2].startswith(".") and "." not in path.partition("/")[0]:
        item_type, item_id, _ = expected
        assert folder.folder_of(item_type, item_id) == path.rpartition("/")[0]


@pytest.mark.parametrize("folder", [*OF_PROJECTS, *OF_USERS, SKILLS], ids=lambda each: each.place or "fixed")
def test_no_two_files_of_a_folder_are_the_same_item_by_chance(folder: ClientFolder) -> None:
    """A script and a page of the same name differ in type; a command and a skill of the same name differ in id."""
    paths = [
        "a/SKILL.md",
        "a/a.md",
        "a/a.py",
        "a.md",
        "b.mdc",  # Cursor reads a.md as well: beside a.mdc it is reported as the same rule
        "a.prompt.md",
        "a.instructions.md",
        "AGENTS.md",
        "CLAUDE.md",
    ]
    found = [item[:2] for path in paths if (item := folder.identify(path))]
    assert len(found) == len(set(found)) > 0


def test_formats_and_clients_of_files_with_a_name_of_their_own() -> None:
    """They lie in one folder, and each says whose it is."""
    said = {path: FIXED_FILES.describe(path) for path in ("AGENTS.md", "x/CLAUDE.md", ".mcp.json")}
    assert said == {
        "AGENTS.md": ("instructions", "agents"),
        "x/CLAUDE.md": ("instructions", "claude"),
        ".mcp.json": ("server", "mcp"),
    }


def test_each_row_of_the_table_says_where_it_was_read() -> None:
    """A place is in the table once for each format, with a source, and the day on which that was last read."""
    places = [(row.path, row.format) for row in TABLE]
    assert len(places) == len(set(places))
    for row in TABLE:
        assert row.format in {*FORMATS, "server", "other"}, row
        assert row.where in {"p", "u", "pu", "b", "pb", "w"}, row
        assert date(2026, 11, 25) <= date.fromisoformat(row.read_on), row
        assert "." in row.source, row


def test_two_files_with_names_of_their_own_differ_on_systems_that_ignore_case() -> None:
    """Else a search could not say which of them a name in other letters is."""
    names = [row.path.casefold() for row in TABLE if not row.is_folder]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["conventions.md", "llms.txt", ".roorules-code", "crushrc", ".goosehints"])
def test_a_client_obeys_a_name(name: str) -> None:
    """Whether the file is an item or not."""
    assert is_obeyed(name)
