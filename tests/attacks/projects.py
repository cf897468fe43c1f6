"""Attacks: projects that vouch for themselves, hide, move or are put in place of others."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path

from rye.cli import main
from tests.attacks.keys import of_one_hand
from tests.support.attacks import (
    HELLO,
    OTHER,
    TEXT,
    Arena,
    Found,
    attack,
)
from tests.support.files import bury, lay
from tests.support.signed import (
    EVE,
    PAT,
)


@attack
def project_vouches_for_itself(arena: Arena) -> None:
    """Items, key and trust file of one hand."""
    arena.sim.trust(PAT, "project", owner="pat")
    arena.sim.add("project", HELLO, TEXT, PAT)


@attack
def project_named_by_its_path(arena: Arena) -> Found:
    """Their project is not the one worked in, but named: as it is, by its ``.ai``, and through a link."""
    evil = of_one_hand(arena, "evil/.ai")
    (arena.sim.folder / "link").symlink_to(evil)
    found = {name: arena.verify(str(arena.sim.folder / name)) for name in ("evil", "evil/.ai", "link")}
    assert found["evil"] == found["evil/.ai"] == found["link"]
    return found["evil"]


@attack
def project_hollowed(arena: Arena) -> Found:
    """The items of a project named by its path, with their keys, beside its ``.ai`` instead of in it."""
    folder = of_one_hand(arena, "evil")
    (folder / ".ai").mkdir()
    return arena.verify(str(folder))


@attack
def project_hidden_behind_another(arena: Arena) -> Found:
    """A project is added above one that was altered, where somebody verifies the folder around both."""
    folder = arena.sim.folder / "mono"
    _copy_project(arena, folder / "packages" / "p")
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, folder / "packages" / "q")
    arena.replace(b"Say hullo.", b"Say hello.")
    _copy_project(arena, folder)
    return arena.verify(str(folder))


@attack
def project_below_the_checkout(arena: Arena) -> None:
    """An altered project in a package of the checkout: whoever works there gets its items."""
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, arena.sim.project / "packages" / "x")
    arena.replace(b"Say hullo.", b"Say hello.")
    assert arena.verify("--exclude", str(arena.sim.project / "packages")).status == 0
    assert arena.verify("--exclude", "packages").codes == {"bad-exclude"}
    assert arena.verify(inside=arena.sim.project) == arena.verify(space="all")


@attack
def project_moved_into_a_folder_left_out(arena: Arena) -> Found:
    """An altered project is moved to where none is looked for, and a link put in its place, or in its folder's."""
    folder = arena.sim.project
    leave_out = ("--exclude", str(folder / "tests/data"))
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, folder / "tests/data/x")
    arena.replace(b"Say hullo.", b"Say hello.")
    link = folder / "packages"
    for to in ("tests/data", "tests/data/x"):
        link.symlink_to(to)
        assert arena.verify(*leave_out) == Found(1, frozenset({"digest"}), frozenset({"ok"}))
        link.unlink()
    for to in (".", "..", "tests"):
        link.symlink_to(to)
        found = arena.verify(*leave_out)
        assert found == Found(2, frozenset({"link-escape"}), frozenset({"ok"}))
        assert arena.verify(*leave_out, "--exclude", str(link)).status == 0
        link.unlink()
    return found


@attack
def project_below_a_checkout_that_is_none(arena: Arena) -> Found:
    """The same, where the checkout itself has no ``.ai``."""
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, arena.sim.folder / "mono" / "packages" / "x")
    return arena.verify(inside=arena.sim.folder / "mono")


@attack
def project_moved_behind_a_link(arena: Arena) -> Found:
    """An altered project is moved to a hidden folder, and a link put in its place."""
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, arena.sim.folder / "mono" / ".store" / "p")
    (arena.sim.folder / "mono" / "p").symlink_to(".store/p")
    return arena.verify(str(arena.sim.folder / "mono"))


@attack
def project_moved_into_another(arena: Arena) -> Found:
    """An altered project is moved into the ``.ai`` of one that is well, and a link put in its place."""
    folder = arena.sim.folder / "mono"
    _copy_project(arena, folder / "q")
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, folder / "q" / ".ai" / "p")
    (folder / "p").symlink_to("q/.ai/p")
    return arena.verify(str(folder))


@attack
def project_moved_out_of_sight(arena: Arena) -> Found:
    """The same with a link to a place outside the folder that is verified; what is in it is well."""
    _copy_project(arena, arena.sim.folder / "mono" / "q")
    _copy_project(arena, arena.sim.folder / "far")
    (arena.sim.folder / "mono" / "p").symlink_to("../far")
    return arena.verify(str(arena.sim.folder / "mono"))


@attack
def project_moved_out_of_sight_with_its_folder(arena: Arena) -> Found:
    """The folder around an altered project is moved out, so that what the link leads to is not a project itself."""
    _copy_project(arena, arena.sim.folder / "mono" / "q")
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, arena.sim.folder / "other" / "p")
    (arena.sim.folder / "mono" / "g").symlink_to("../other")
    return arena.verify(str(arena.sim.folder / "mono"))


@attack
def project_put_deeper(arena: Arena) -> Found:
    """An altered project is moved many folders down."""
    _copy_project(arena, arena.sim.folder / "mono" / "q")
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, (arena.sim.folder / "mono").joinpath(*"abcdefghijk"))
    return arena.verify(str(arena.sim.folder / "mono"))


@attack
def project_put_out_of_reach(arena: Arena) -> Found:
    """It is moved so far down that its path is longer than the system takes."""
    folder = arena.sim.folder / "mono"
    _copy_project(arena, folder / "q")
    arena.replace(b"Say hello.", b"Say hullo.")
    _copy_project(arena, folder / "p")
    bury(folder / "p", folder)
    return arena.verify(str(folder))


@attack
def project_put_where_nobody_looks(arena: Arena) -> Found:
    """It is moved to a folder with a name that is left out; it is reported as missing to whoever names each project."""
    folder = arena.sim.folder / "mono"
    _copy_project(arena, folder / "q")
    arena.replace(b"Say hello.", b"Say hullo.")
    well = arena.verify(str(folder))
    for place in (".store", "node_modules", "__pycache__", "x.dist-info", "x.egg-info", ".claude", ".github/a"):
        _copy_project(arena, folder / place / "p")
        found = arena.verify(str(folder))
        assert found == Found(1, frozenset({"digest"}), well.well)
        shutil.rmtree(folder / place / "p")
    assert arena.verify(str(folder / "q"), str(folder / "p")).status == 2
    return found


@attack
def project_that_may_not_be_entered(arena: Arena) -> Found:
    """An altered project below the checkout ends the verification of the rest, or hides, by the mode of its ``.ai``."""
    for mode in (0o000, 0o111, 0o444):
        inner = arena.sim.project / f"packages/{mode:o}/.ai"
        (inner / "tools").mkdir(parents=True)
        inner.chmod(mode)
    arena.replace(b"Say hello.", b"Say hullo.")
    found = arena.verify_unprivileged()
    for folder in (arena.sim.project / "packages").iterdir():
        (folder / ".ai").chmod(0o755)
    return found


@attack
def folder_that_may_not_be_read(arena: Arena) -> Found:
    """Nobody knows what a folder of trust files or compiled code holds that may only be entered, or not even that."""
    arena.list_items()
    assert arena.verify_unprivileged("--strict") == Found(0, frozenset(), frozenset({"ok"}))
    for rel in ("config/keys/trusted", "tools/demo/__pycache__"):
        for mode in (0o000, 0o111):
            folder = arena.sim.root("project") / rel
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(mode)
            found = arena.verify_unprivileged("--strict")
            assert found == arena.verify_unprivileged("--require-list")
            folder.chmod(0o755)
            assert found == Found(2, frozenset({"unreadable"}), frozenset({"ok"}))
            folder.rmdir()
    return found


@attack
def project_in_capitals(arena: Arena) -> Found:
    """``.AI`` is not a project here, and one where case is ignored; beside the project it becomes part of that."""
    for name in ("x/.AI", "x/.Ai. ", "x/.a\u200ci"):
        planted = arena.sim.project / "packages" / name
        planted.mkdir(parents=True)
        assert arena.verify(inside=arena.sim.project) == Found(2, frozenset({"bad-name"}), frozenset({"ok"}))
        assert arena.verify("--exclude", str(planted), inside=arena.sim.project).status == 0
        planted.rmdir()
    lay(arena.sim.project, {".AI/tools/demo/evil.py": TEXT})
    return arena.verify(inside=arena.sim.project)


@attack
def folder_in_capitals(arena: Arena) -> Found:
    """``TOOLS`` beside ``tools``: no items here, tools where case is ignored; and so with trust files."""
    for rel in ("Config/keys/trusted/eve.toml", "directives ./x.md", "TOOLS/demo/evil.py"):
        planted = arena.sim.write("project", rel, TEXT)
        assert arena.verify() == Found(2, frozenset({"bad-name"}), frozenset({"ok"}))
        assert any("systems that ignore case" in text for text in arena.sim.registry().search("hello").warnings)
        if "TOOLS" not in rel:
            planted.unlink()
            shutil.rmtree(arena.sim.root("project") / rel.partition("/")[0])
    assert arena.verify("tool:demo/evil").codes == {"bad-name", "no-match"}
    return arena.verify("tool:demo/*")


@attack
def link_to_itself(arena: Arena) -> Found:
    """Links that lead to themselves, where items and what lies beside them are looked for, end no verification."""
    for path in (arena.hello.parent / "loop", arena.hello.parent / "__pycache__", arena.sim.project / ".loop"):
        path.symlink_to(path.name)
    registry = arena.sim.registry()
    assert registry.search("hello").results
    assert registry.get("tool:demo/hello").content
    assert arena.verify(inside=arena.sim.project).status == 0
    arena.replace(b"Say hello.", b"Say hullo.")
    return arena.verify(inside=arena.sim.project)


@attack
def project_broken(arena: Arena) -> Found:
    """The ``.ai`` of the project worked in leads nowhere; the one around it, well as it is, is not verified instead."""
    inner = arena.sim.project / "inner"
    inner.mkdir()
    (inner / ".ai").symlink_to("nowhere")
    return arena.verify(inside=inner)


@attack
def project_linked_to_another(arena: Arena) -> None:
    """A checkout whose ``.ai`` leads to the honest project: what its reader signs or trusts there is not written."""
    one = arena.sim.folder / "one"
    one.mkdir()
    (one / ".ai").symlink_to(arena.sim.root("project"))
    arena.sim.write("project", OTHER, TEXT)
    pem = lay(arena.sim.folder, {"eve.pem": EVE.public.pem}) / "eve.pem"
    with chdir(one):
        assert main(["sign", "--all"]) == main(["trust", "add", str(pem), "--space", "project", "--yes"]) == 2
        assert main(["sign", "list", "--yes"]) == 2
    assert arena.verify().codes == {"no-envelope"}
    arena.sim.delete("project", OTHER)
    assert not (arena.sim.root("project") / "config").exists()


@attack
def bundle_linked_to_another(arena: Arena) -> None:
    """The same checkout, named as a bundle from inside and from above: nothing is signed anew there, nor listed."""
    one = arena.sim.folder / "checkout" / "one"
    one.mkdir(parents=True)
    (one / ".ai").symlink_to(arena.sim.root("project"))
    (one / "items").symlink_to(arena.sim.root("project"))
    for inside, folder in ((one, "."), (one, ".ai"), (one, "items"), (one.parent, "one"), (one.parent, ".")):
        with chdir(inside):
            assert main(["sign", "bundle", "--yes", folder, "--new-key"]) == 2
            assert main(["sign", "list", "--yes", folder]) == 2
            assert main(["sign", "list", "--add", "--yes", folder]) == 2
    assert not (arena.sim.root("project") / "config").exists()


def _copy_project(arena: Arena, folder: Path) -> None:
    shutil.copytree(arena.sim.root("project"), folder / ".ai")
