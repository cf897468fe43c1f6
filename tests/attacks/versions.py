"""Attacks: old versions, missing and extra items, and lists."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rye.cli import main
from rye.spaces.contents import files_below
from rye.trust.keys import SigningKey
from rye.trust.list import add_signature, write_list
from tests.support.attacks import (
    DATA,
    DATA_TEXT,
    OTHER,
    TEXT,
    Arena,
    Found,
    attack,
    sign_later,
)
from tests.support.signed import (
    ANN,
    EVE,
    sign,
)


@attack
def item_rolled_back(arena: Arena) -> None:
    """An older signed version put over a newer one."""
    old = arena.hello.read_bytes()
    sign_later(arena)
    arena.list_items()
    arena.hello.write_bytes(old)


@attack
def item_rolled_back_without_list(arena: Arena) -> None:
    """The same where nothing says which version is the newest."""
    old = arena.hello.read_bytes()
    sign_later(arena)
    arena.hello.write_bytes(old)


@attack
def item_removed(arena: Arena) -> None:
    """An item taken away; another one stands."""
    arena.sim.add("project", OTHER, TEXT)
    arena.list_items()
    arena.sim.delete("project", OTHER)


@attack
def extra_item(arena: Arena) -> None:
    """An item that a trusted key signed, but its owner never listed: here one that shadows a bundle's."""
    arena.sim.add("system:shop", OTHER, TEXT)
    arena.list_items()
    arena.sim.add("project", OTHER, TEXT)
    assert arena.sim.registry().get("tool:demo/other").shadows == ("system:shop",)


@attack
def old_list_served_again(arena: Arena) -> None:
    """The whole space as it was, list and all, after the newer one was seen."""
    arena.list_items()
    old_list, old_item = arena.list.read_bytes(), arena.hello.read_bytes()
    sign_later(arena)
    arena.list_items()
    assert arena.verify().status == 0
    arena.list.write_bytes(old_list)
    arena.hello.write_bytes(old_item)


@attack
def old_list_served_to_its_writer(arena: Arena) -> None:
    """The same on the machine that signed the newest list, and looked at nothing since."""
    command = ["sign", "list", "--yes", "--project", str(arena.sim.project)]
    assert main(command) == 0
    old_list, old_item = arena.list.read_bytes(), arena.hello.read_bytes()
    sign_later(arena)
    assert main(command) == 0
    arena.list.write_bytes(old_list)
    arena.hello.write_bytes(old_item)


@attack
def old_space_behind_a_link(arena: Arena) -> None:
    """The same, with a link to a copy of the old state in the place of the space's folder."""
    _link_to_an_old_copy(arena)


@attack
def list_removed_behind_a_link(arena: Arena) -> None:
    """The same, and the list taken out of the copy."""
    (_link_to_an_old_copy(arena) / "rye.list").unlink()


def _link_to_an_old_copy(arena: Arena) -> Path:
    arena.list_items()
    root = arena.sim.root("project")
    copy = shutil.copytree(root, root.with_name("old"))
    sign_later(arena)
    arena.list_items()
    assert arena.verify().status == 0
    shutil.rmtree(root)
    root.symlink_to(copy.name)
    return copy


@attack
def old_list_on_first_use(arena: Arena) -> None:
    """The same to somebody who has seen none: the check says that it trusts what it sees."""
    arena.list_items()
    old_list, old_item = arena.list.read_bytes(), arena.hello.read_bytes()
    sign_later(arena)
    arena.list_items()
    arena.list.write_bytes(old_list)
    arena.hello.write_bytes(old_item)


def _list_data(arena: Arena, *signers: SigningKey, audience: str = "") -> None:
    """Have the list sign a JSON tool that has no signature itself."""
    arena.sim.write("project", DATA, DATA_TEXT)
    arena.list_items(*signers, audience=audience)


def _trusted(arena: Arena) -> set[str]:
    """Return the items that a search and a load find trusted, which must agree."""
    registry = arena.sim.registry()
    hits = {hit.id for hit in registry.search("is:trusted", space="project").results}
    loaded = {
        each for each in ("demo/data", "demo/hello") if registry.get(f"tool:{each}").signature.verdict == "trusted"
    }
    assert hits == loaded
    return hits


@attack
def listed_data_changed(arena: Arena) -> None:
    """JSON that only the list signs: its bytes, or those of another listed file."""
    _list_data(arena)
    assert arena.verify().well == {"ok", "ok-list"}
    assert _trusted(arena) == {"demo/data", "demo/hello"}
    arena.sim.write("project", DATA, DATA_TEXT.replace("Data", "Evil"))
    assert _trusted(arena) == {"demo/hello"}


@attack
def listed_data_swapped(arena: Arena) -> None:
    """The content that is listed for one tool is put into another, or into a file that could hold a line."""
    arena.sim.write("project", "tools/demo/more.json", DATA_TEXT.replace("Data", "More"))
    _list_data(arena)
    shutil.copy(arena.sim.path("project", "tools/demo/more.json"), arena.sim.path("project", DATA))
    arena.sim.path("project", "tools/demo/more.json").rename(arena.sim.path("project", "tools/demo/more.yaml"))


@attack
def list_that_signs_data_expired(arena: Arena) -> None:
    """A list that nobody signs again."""
    arena.sim.write("project", DATA, DATA_TEXT)
    _list_in_the_past(arena)
    assert _trusted(arena) == {"demo/hello"}


def _list_in_the_past(arena: Arena) -> None:
    """Put a list of the files as they are, which has expired, into the project."""
    past = datetime(2026, 1, 1, tzinfo=UTC)
    folder, root = arena.sim.root("project"), arena.root()[1]
    body = write_list("project", 1, past, list(files_below(folder, root).files.values()))
    arena.list.write_bytes(add_signature(body, origin=root.list_place, key=ANN, now=past))


@attack
def list_that_signs_data_rolled_back(arena: Arena) -> None:
    """What an older list named, with that list, after a newer one was seen."""
    _list_data(arena)
    old = arena.list.read_bytes()
    arena.sim.write("project", DATA, DATA_TEXT.replace("Data", "Fixed"))
    arena.list_items()
    assert arena.verify().status == 0
    arena.list.write_bytes(old)
    arena.sim.write("project", DATA, DATA_TEXT)
    assert _trusted(arena) == {"demo/hello"}


@attack
def list_of_a_stranger_signs_data(arena: Arena) -> None:
    """A list with a key of its own; that of a project's member would be the same."""
    arena.sim.trust(EVE, "project")
    _list_data(arena, EVE)
    assert _trusted(arena) == {"demo/hello"}


@attack
def list_of_another_project_signs_data(arena: Arena) -> Found:
    """A file and the list that names it, from a project with another audience."""
    arena.hello.write_bytes(sign(TEXT.encode(), audience="acme/ops"))
    _list_data(arena, audience="acme/shop")
    assert arena.sim.registry(audience="acme/shop").get("tool:demo/data").signature.code == "ok-list"
    assert arena.sim.registry(audience="acme/ops").get("tool:demo/data").signature.code == "list-name"
    return arena.verify("--audience", "acme/ops")


@attack
def revoked_signature_removed_for_the_list(arena: Arena) -> None:
    """The signature of a revoked key is taken away, so that the list alone would decide, which names the file."""
    arena.sim.trust(EVE)
    arena.sim.add("project", DATA, DATA_TEXT, EVE)
    arena.list_items()
    assert arena.verify().well == {"ok"}
    arena.sim.revoke(EVE)
    assert arena.verify().codes == {"revoked"}
    arena.sim.path("project", f"{DATA}.sig").unlink()
    assert _trusted(arena) == {"demo/hello"}


@attack
def list_of_a_revoked_key_signs_data(arena: Arena) -> None:
    """The key that signed the list is revoked afterwards."""
    arena.sim.trust(EVE)
    _list_data(arena, EVE)
    assert arena.verify().well == {"ok", "ok-list"}
    arena.sim.revoke(EVE)
    assert _trusted(arena) == {"demo/hello"}


@attack
def list_removed(arena: Arena) -> None:
    """The list taken away after it was seen."""
    arena.list_items()
    assert arena.verify().status == 0
    arena.list.unlink()


@attack
def list_removed_before_first_use(arena: Arena) -> Found:
    """The same before: it is demanded."""
    return arena.verify("--require-list")


@attack
def accepted_removal_repeated(arena: Arena) -> Found:
    """A policy accepts that an item is gone; it came back as another version, was listed, and is taken away too."""
    arena.sim.add("project", OTHER, TEXT)
    arena.list_items()
    arena.hello.unlink()
    known = _accept(arena)
    sign_later(arena)
    arena.list_items()
    assert arena.verify("--policy", known).status == 0
    arena.hello.unlink()
    return arena.verify("--policy", known)


@attack
def memory_of_the_list_reset(arena: Arena) -> None:
    """The list is taken away, and a script runs the command that forgets it: without a terminal it needs --yes."""
    arena.list_items()
    assert arena.verify().status == 0
    arena.list.unlink()
    assert main(["sign", "list", "--forget", "--project", str(arena.sim.project)]) == 2


@attack
def accepted_file_turned_into_another(arena: Arena) -> Found:
    """The text stays as it was accepted; a shell script, an executable and a link of that text are not."""
    legacy = arena.sim.write("project", "tools/demo/legacy.py", "#!/bin/sh\necho old\n")
    known = _accept(arena)
    changes: dict[str, Callable[[Path], object]] = {
        ".py": lambda path: path.chmod(0o755),
        ".sh": lambda path: path.rename(path.with_suffix(".sh")),
        ".txt": lambda path: path.symlink_to(path.rename(path.with_suffix(".txt"))),
    }
    for suffix, act in changes.items():
        act(legacy)
        found = arena.verify("--policy", known)
        assert found == Found(1, frozenset({"no-envelope"}), frozenset({"ok"})), suffix
        legacy.unlink(missing_ok=True)
        legacy.with_suffix(suffix).unlink(missing_ok=True)
        arena.sim.write("project", "tools/demo/legacy.py", "#!/bin/sh\necho old\n")
        assert arena.verify("--policy", known).status == 0
    legacy.chmod(0o755)
    return arena.verify("--policy", known)


@attack
def revoked_key_among_the_signers_demanded(arena: Arena) -> Found:
    """Whoever stole the key signs again: to demand this signer does not make up for the revocation."""
    policy = arena.sim.folder / "policy.yaml"
    policy.write_text(f"signers: {ANN.public.fingerprint}\n", encoding="utf-8")
    assert arena.verify("--policy", str(policy)).status == 0
    arena.sim.revoke(ANN)
    return arena.verify("--policy", str(policy))


def _accept(arena: Arena) -> str:
    known = str(arena.sim.project.with_name("known.yaml"))
    words = ["verify", "--space", "project", "--project", str(arena.sim.project), "--policy", known]
    assert main([*words, "--accept"]) == 0
    assert arena.verify("--policy", known).status == 0
    return known


@attack
def updates_withheld(arena: Arena) -> None:
    """A state that was once right, served for ever: its time runs out."""
    _list_in_the_past(arena)


@attack
def signature_added_to_a_planted_list(arena: Arena) -> None:
    """A list that names the attacker's files waits for the owner to add a signature: it is verified first."""
    arena.sim.write("project", OTHER, TEXT)
    for who in (EVE, ANN):
        arena.list_items(who)
        planted = arena.list.read_bytes()
        if who is ANN:
            arena.sim.write("project", OTHER, TEXT + "evil()\n")
        words = ["sign", "list", "--add", "--yes", "--project", str(arena.sim.project)]
        assert main(words) == 2
        assert arena.list.read_bytes() == planted
        shutil.rmtree(arena.sim.folder / "her-state", ignore_errors=True)


@attack
def list_with_marks_of_a_conflict(arena: Arena) -> None:
    """A merge has left both versions of the list in it: neither counts, and the finding says what to do."""
    arena.sim.write("project", DATA, DATA_TEXT)
    arena.list_items()
    good = arena.list.read_bytes()
    arena.list.write_bytes(b"<<<<<<< ours\n" + good + b"=======\n" + good + b">>>>>>> theirs\n")
    assert _trusted(arena) == {"demo/hello"}


@attack
def two_lists_under_one_version(arena: Arena) -> None:
    """A signer who shows one list to some and another one to others."""
    arena.list_items()
    assert arena.verify().status == 0
    sign_later(arena)
    shutil.rmtree(arena.sim.folder / "her-state")
    arena.list.unlink()
    arena.list_items()
