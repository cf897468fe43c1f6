"""Links between the files that agents obey: one item with several names, and links out of the project."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from tests.unit.cli.workshop import Workshop, lay

TEXT = "# Agents\n\nAlways test.\n"


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """A project with instructions and commands under several names, and a user with a key."""
    shop = lay(tmp_path)
    project = shop.project
    for path in (".claude/commands", ".github", "sub"):
        (project / path).mkdir(parents=True)
    (project / "AGENTS.md").write_text(TEXT)
    (project / ".claude/commands/a.md").write_text("# A\n\nDo it.\n")
    for link, target in LINKS.items():
        (project / link).symlink_to(target)
    assert shop.run("keys", "generate").status == 0
    assert shop.run("init", "--yes").status == 0
    return shop


LINKS = {
    "CLAUDE.md": "AGENTS.md",
    ".github/copilot-instructions.md": "../AGENTS.md",
}
ELSEWHERE = {
    "sub/AGENTS.md": "../AGENTS.md",
    "GEMINI.md": "sub/AGENTS.md",
    ".claude/commands/b.md": "a.md",
    ".ai/knowledge/demo/page.md": "guide.md",
}
NAMES = ("directive:CLAUDE", "directive:copilot-instructions", "directive:AGENTS")


def test_an_item_with_several_names_is_signed_and_found_once(shop: Workshop) -> None:
    """It passes under its own path, and no link to it is an item."""
    assert shop.run("verify", "--space", "project").status == 0
    assert "uncovered" not in shop.run("verify", "--strict", "--space", "project").out
    found = shop.run("search", "always test", "--space", "project", "--format=ids").out.split()
    assert found == ["directive:AGENTS"]
    assert shop.run("sign", "--yes", "--all").out.count("unchanged") >= 1


@pytest.mark.parametrize("name", NAMES)
def test_each_name_shows_and_verifies_the_item(shop: Workshop, name: str) -> None:
    """``show`` and ``verify`` take the name of a link, as they take the item's own."""
    assert shop.run("show", name).out.startswith("directive:AGENTS")
    done = shop.run("verify", name)
    assert (done.status, "1 item: 1 trusted" in done.out) == (0, True)


@pytest.mark.parametrize("link", ["CLAUDE.md", ".github/copilot-instructions.md"])
def test_the_path_of_a_link_names_the_item(shop: Workshop, link: str) -> None:
    """``rye sign`` and ``rye verify`` with the path of a link are about the file that it leads to."""
    (shop.project / "AGENTS.md").write_text(TEXT)
    assert shop.run("verify", link).status == 1
    assert shop.run("sign", link).status == 0
    assert shop.run("verify", link).status == 0
    assert (shop.project / link).is_symlink()


@pytest.mark.parametrize("link", ELSEWHERE)
def test_attack_a_link_moves_a_signed_file_to_another_place(shop: Workshop, link: str) -> None:
    """A name that only links to what is signed elsewhere is reported, and is not a name of the item."""
    if not link.startswith("sub/"):
        (shop.project / "sub/AGENTS.md").write_text(TEXT)
    assert shop.run("sign", "--yes", "--all").status == 0
    assert shop.run("verify", "--space", "project").status == 0
    (shop.project / link).symlink_to(ELSEWHERE[link])
    done = shop.run("verify", "--space", "project")
    assert (done.status, "which is signed for its own place" in done.err, Path(link).name in done.err) == (
        2,
        True,
        True,
    )


def test_a_link_out_of_the_project_is_named_and_the_rest_is_signed(shop: Workshop, tmp_path: Path) -> None:
    """Such a link is never followed: a warning names it, and it blocks nothing."""
    (tmp_path / "outside.md").write_text("# Outside\n")
    (shop.project / ".claude/commands/out.md").symlink_to(tmp_path / "outside.md")
    (shop.project / ".claude/commands/new.md").write_text("# New\n\nText.\n")
    done = shop.run("sign", "--yes", "--all")
    assert done.status == 0
    assert "directive:commands/new" in done.out
    assert "out.md" in done.err
    assert (tmp_path / "outside.md").read_text() == "# Outside\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A skill in a folder with sources."""
    folder = tmp_path / "src" / "crane"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: crane\ndescription: Fold origami cranes.\n---\n\n# Crane\n\nFold.\n")
    return folder


def test_a_skill_that_the_user_linked_is_found(shop: Workshop, source: Path) -> None:
    """In the user space a link is the user's own: the skill behind it is found, signed and verified."""
    skills = Path(shop.env["HOME"]) / ".claude/skills"
    skills.mkdir(parents=True)
    (skills / "crane").symlink_to(source)
    assert shop.run("search", "origami", "--format=ids").out.split()[0] == "directive:crane"
    assert shop.run("sign", "--space", "user", "directive:crane").status == 0
    assert shop.run("verify", "--space", "user").status == 0
    (source / "notes.txt").write_text("new")
    assert shop.run("verify", "--space", "user").status == 1


def test_a_skill_that_a_project_links_is_skipped(shop: Workshop, source: Path) -> None:
    """In a project the same link leads out: it is named, and not followed."""
    skills = shop.project / ".claude/skills"
    skills.mkdir(parents=True)
    (skills / "crane").symlink_to(source)
    done = shop.run("search", "origami", "--space", "project")
    assert done.out == "0 results\n"
    assert "crane: the link leads out" in done.err


def test_attack_a_file_that_instructions_import_is_changed(shop: Workshop) -> None:
    """What ``CLAUDE.md`` imports is a relation of it, and a strict verification names it unless it is an item."""
    project = shop.project
    (project / "CLAUDE.md").unlink()
    (project / "CLAUDE.md").write_text(
        "# Claude\n\nFollow @docs/style.md, @AGENTS.md and @.ai/knowledge/demo/guide.md.\n"
    )
    (project / "docs").mkdir()
    (project / "docs/style.md").write_text("# Style\n\nShort lines.\n")
    assert shop.run("sign", "--yes", "--all").status == 0
    done = shop.run("verify", "--strict", "--space", "project")
    assert (done.status, "docs/style.md" in done.out, "guide.md" in done.out) == (1, True, False)
    assert "directive:AGENTS" in shop.run("refs", "directive:CLAUDE").out


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_is_one_however_its_letters_are_composed(shop: Workshop, form: Literal["NFC", "NFD"]) -> None:
    """As a file system of macOS keeps it, or as a keyboard types it: every command takes both."""
    on_disk = unicodedata.normalize("NFD" if form == "NFC" else "NFC", "gr\u00f6\u00dfe")
    typed = unicodedata.normalize(form, "gr\u00f6\u00dfe")
    (shop.project / f".ai/knowledge/{on_disk}.md").write_text("# Sizes\n\nLarge.\n")
    assert shop.run("sign", f"knowledge:{typed}").status == 0
    for name in (f"knowledge:{typed}", f".ai/knowledge/{typed}.md"):
        assert "1 item: 1 trusted" in shop.run("verify", name).out
        assert "Sizes" in shop.run("show", name).out
    assert shop.run("search", typed, "--space", "project", "--format=ids").status == 0
