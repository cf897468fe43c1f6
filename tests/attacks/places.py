"""Attacks: where an item is."""

from __future__ import annotations

import shutil

import pytest

from rye._text import inline
from rye.cli import main
from rye.errors import ItemError, SigningError
from tests.support.attacks import (
    HELLO,
    OTHER,
    TEXT,
    V1,
    Arena,
    Found,
    attack,
)
from tests.support.files import lay
from tests.support.signed import (
    DIRECTIVE,
    FRONT,
    NOTE,
    hashed,
    old_envelope,
)


@attack
def item_renamed(arena: Arena) -> None:
    """A signed file under another name."""
    arena.list_items()
    arena.sim.move("project", HELLO, OTHER)


@attack
def older_item_renamed(arena: Arena) -> None:
    """The same with an older line: what the file says of itself contradicts its path."""
    arena.sim.write("project", "knowledge/demo/hello.md", FRONT + NOTE)
    arena.sim.sign("project", "knowledge/demo/hello.md", form=V1)
    arena.sim.move("project", "knowledge/demo/hello.md", "knowledge/demo/other.md")


@attack
def item_copied(arena: Arena) -> None:
    """A signed file at a second place."""
    arena.list_items()
    arena.sim.copy("project", HELLO, OTHER)


@attack
def older_item_copied(arena: Arena) -> None:
    """A file with an older line that says nothing of itself, at a second place: the list alone tells."""
    _copy_older(arena, listed=True)


@attack
def older_item_copied_without_list(arena: Arena) -> None:
    """The same where no list says what there is: nothing in the file contradicts its new name."""
    _copy_older(arena, listed=False)


def _copy_older(arena: Arena, *, listed: bool) -> None:
    arena.sim.write("project", HELLO, "print(1)\n")
    arena.sim.sign("project", HELLO, form=V1)
    if listed:
        arena.list_items()
    arena.sim.copy("project", HELLO, OTHER)


@attack
def items_swapped(arena: Arena) -> None:
    """Two signed files, each under the other's name."""
    arena.sim.add("project", OTHER, TEXT.replace("hello", "other"))
    arena.list_items()
    _swap(arena)


@attack
def older_items_swapped(arena: Arena) -> None:
    """The same with older lines in files that say nothing of themselves: the list alone tells."""
    for rel, text in ((HELLO, "print(1)\n"), (OTHER, "print(2)\n")):
        arena.sim.write("project", rel, text)
        arena.sim.sign("project", rel, form=V1)
    arena.list_items()
    _swap(arena)


def _swap(arena: Arena) -> None:
    one, other = arena.hello.read_bytes(), arena.sim.path("project", OTHER).read_bytes()
    arena.sim.write("project", HELLO, other)
    arena.sim.write("project", OTHER, one)


@attack
def item_moved_to_another_client(arena: Arena) -> None:
    """A signed directive of ``.ai`` becomes the instructions that clients obey: type and id are the same there."""
    path = arena.sim.add("project", "directives/AGENTS.md", DIRECTIVE.decode())
    path.rename(arena.sim.project / "AGENTS.md")


@attack
def instructions_moved_to_another_folder(arena: Arena) -> None:
    """Signed instructions of a folder with examples become those of the whole project, or a command of all users."""
    (arena.sim.project / ".git").mkdir()
    fixture = arena.sim.project / "tests/fixtures/shop/AGENTS.md"
    lay(fixture.parent, {"AGENTS.md": DIRECTIVE.decode(), ".claude/commands/x.md": DIRECTIVE.decode()})
    assert main(["sign", "--yes", "--all", "--project", str(fixture.parent)]) == 0
    assert arena.verify().codes <= {"ok"}
    command = fixture.parent / ".claude/commands/x.md"
    (arena.sim.project / ".claude/commands").mkdir(parents=True)
    shutil.copy(command, arena.sim.project / ".claude/commands/x.md")
    assert arena.verify().status == 1
    (arena.sim.project / ".claude/commands/x.md").unlink()
    fixture.rename(arena.sim.project / "AGENTS.md")


@attack
def extension_of_another_language(arena: Arena) -> None:
    """A signed YAML tool is called a script in a language whose comments begin otherwise."""
    arena.sim.add("project", "tools/demo/other.yaml", "version: 1.0.0\ndescription: Other\n")
    arena.hello.unlink()
    arena.sim.move("project", "tools/demo/other.yaml", "tools/demo/other.js")


@attack
def extension_with_the_same_mark(arena: Arena) -> None:
    """A Python tool is called a shell script, where a list tells as well."""
    arena.list_items()
    arena.sim.move("project", HELLO, "tools/demo/hello.sh")


@attack
def extension_with_the_same_mark_without_list(arena: Arena) -> None:
    """The same where nothing but the line tells, which says where it was signed."""
    arena.sim.move("project", HELLO, "tools/demo/hello.sh")
    registry = arena.sim.registry()
    (item,) = registry.verify(space="project").items
    assert item.signature.reason.endswith("signed as .ai/tools/demo/hello.py, this is .ai/tools/demo/hello.sh")
    assert registry.search("is:misplaced hello", space="project").total == 1


@attack
def extension_edited_or_stripped(arena: Arena) -> Found:
    """The same, and the path in the line is made to fit, or cut short."""
    arena.sim.move("project", HELLO, "tools/demo/hello.sh")
    moved = arena.hello.with_suffix(".sh")
    signed = moved.read_bytes()
    for line in (b"\n", b"hello.sh\n"):
        moved.write_bytes(signed.replace(b"hello.py\n", line))
        found = arena.verify()
    return found


@attack
def extension_of_an_older_line(arena: Arena) -> None:
    """A line of v1 names no place, so it is good for both."""
    arena.hello.write_bytes(hashed(old_envelope(TEXT.encode())) + TEXT.encode())
    arena.sim.move("project", HELLO, "tools/demo/hello.sh")


@attack
def item_under_two_extensions(arena: Arena) -> None:
    """A copy with the same mark: neither can be asked for."""
    arena.sim.copy("project", HELLO, "tools/demo/hello.sh")
    with pytest.raises(ItemError, match="is in 2 files of project"):
        arena.sim.registry().get("tool:demo/hello")


@attack
def item_under_two_spellings(arena: Arena) -> Found:
    """The name of a folder composed and decomposed: one signature is good for both."""
    arena.sim.add("project", "tools/d\u00e9mo/hello.py", TEXT.replace("demo", "d\u00e9mo"))
    arena.sim.copy("project", "tools/d\u00e9mo/hello.py", "tools/de\u0301mo/hello.py")
    return arena.verify("tool:d*mo/hello")


@attack
def link_out_of_the_space(arena: Arena) -> None:
    """A link to a file elsewhere, in the place of an item."""
    outside = arena.sim.folder / "outside.py"
    outside.write_bytes(arena.hello.read_bytes())
    arena.hello.unlink()
    arena.hello.symlink_to(outside)
    arena.sim.add("project", OTHER, TEXT)


@attack
def name_that_looks_like_another(arena: Arena) -> None:
    """Its name has a character that shows nothing: nobody signs it by mistake, and it is seen wherever named."""
    for char in ("\u3164", "\ufe0f", "\U000e0100", "\u2800"):
        path = arena.sim.write("project", f"tools/demo/hello{char}.py", TEXT)
        (hit,) = (
            hit for hit in arena.sim.registry().search("hello", space="project").results if hit.id != "demo/hello"
        )
        assert ascii(char)[1:-1] in inline(hit.id)
        with pytest.raises(SigningError) as raised:
            arena.sim.registry().sign(f"tool:{hit.id}")
        assert "shows nothing" in raised.value.details["problems"][0]
        path.unlink()
    arena.sim.write("project", "tools/demo/hello\u3164.py", TEXT)
