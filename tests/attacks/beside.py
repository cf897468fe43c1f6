"""Attacks: what lies beside items."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

from rye.errors import SigningError
from rye.verify.run import start_verification
from tests.support.attacks import (
    HELLO,
    TEXT,
    Arena,
    Found,
    attack,
)
from tests.support.files import lay

_BESIDE = (
    "tools/demo/json/__init__.py",
    "tools/demo/_helper.py",
    "tools/demo/evil.rb",
    "tools/demo/node_modules/lodash/index.js",
    "node_modules/lodash/index.js",
)


def _write_beside(arena: Arena) -> None:
    for rel in _BESIDE:
        arena.sim.write("project", rel, "do evil\n")


@attack
def module_beside_a_tool(arena: Arena) -> Found:
    """What a signed tool imports or requires from beside it: named wherever the tool is looked at, if not a finding."""
    _write_beside(arena)
    registry = arena.sim.registry()
    run = registry.verify(space="project")
    assert run.items
    for warnings in (run.warnings, registry.search("hello").warnings, registry.get("tool:demo/hello").warnings):
        assert all(rel.partition("lodash")[0] in "".join(warnings) for rel in _BESIDE)
    assert arena.verify().status == 0
    return arena.verify("--strict")


@attack
def module_beside_a_tool_and_a_list(arena: Arena) -> Found:
    """The same after the list was signed, where one is demanded."""
    arena.list_items()
    assert arena.verify("--require-list").status == 0
    _write_beside(arena)
    return arena.verify("--require-list")


@attack
def listed_module_edited(arena: Arena) -> None:
    """A helper of a tool that the list names is edited; nothing but the default is asked for."""
    _write_beside(arena)
    arena.list_items()
    assert arena.verify("--require-list").status == 0
    arena.sim.write("project", "tools/demo/_helper.py", "do more evil\n")


@attack
def listed_file_made_executable_or_a_link(arena: Arena) -> None:
    """Its mode changes, or a link in its place leads to the same content; of an item, too."""
    data = arena.sim.write("project", "tools/demo/data.txt", "data\n")
    other = arena.sim.write("project", "other.txt", "data\n")
    arena.list_items()
    for path in (data, arena.hello):
        path.chmod(0o755)
        assert arena.verify().codes == {"file-mode"}
        path.chmod(0o644)
        assert arena.verify().status == 0
    data.unlink()
    data.symlink_to(other)


@attack
def cached_code_that_nobody_checks(arena: Arena) -> Found:
    """A compiled module that tells Python not to compare it with its source, which is signed."""
    code = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    arena.sim.write("project", "tools/demo/__pycache__/hello.cpython-311.pyc", code)
    assert any("__pycache__" in text for text in arena.sim.registry().get("tool:demo/hello").warnings)
    return arena.verify("--strict")


def _verify_code_cache(arena: Arena) -> Found:
    """Verify strictly; search, load and verify also name the code cache in a warning."""
    registry = arena.sim.registry()
    run = registry.verify(space="project")
    assert run.items
    for warnings in (run.warnings, registry.search("hello").warnings, registry.get("tool:demo/hello").warnings):
        assert "__pycache__" in "".join(warnings)
    return arena.verify("--strict")


@attack
def fifo_in_the_code_cache(arena: Arena) -> Found:
    """A pipe where Python keeps compiled code; whoever opened it would wait for ever."""
    folder = arena.hello.parent / "__pycache__"
    folder.mkdir()
    os.mkfifo(folder / "hello.cpython-311.pyc")
    return _verify_code_cache(arena)


@attack
def code_cache_that_is_a_link(arena: Arena) -> Found:
    """The folder of compiled code lies elsewhere, and what is in it says that it is compared with its source."""
    code = importlib.util.MAGIC_NUMBER + bytes(12)
    lay(arena.sim.folder, {"evil/hello.cpython-311.pyc": code})
    (arena.hello.parent / "__pycache__").symlink_to(arena.sim.folder / "evil")
    return _verify_code_cache(arena)


@attack
def files_where_rye_keeps_its_own(arena: Arena) -> Found:
    """Beside the private keys, named as half written, below ``.git``, or a link named as an item."""
    inner = ".config.0123456789abcdef.tmp/evil.py"
    laid = (
        "config/keys/signing/evil.pem",
        f"config/{inner}",
    )
    rels = (*laid, "tools/demo/.hello.py.0123456789abcdef.tmp", "tools/demo/.git/hooks/evil")
    arena.list_items()
    assert arena.verify("--strict").codes == arena.verify("--require-list").codes == frozenset()
    (arena.sim.root("project") / "evil").mkdir()
    (arena.hello.parent / "evil.py").symlink_to("../../evil")
    for rel in rels:
        arena.sim.write("project", rel, "do evil\n")
    expected = sorted([*rels[:-1], "tools/demo/.git", "tools/demo/evil.py"])
    for strict in (True, False):
        run = start_verification((), arena.root()[0], space="project", strict=strict, require_list=not strict)
        found = run.complete().found
        base = f"{arena.sim.root('project')}/"
        assert sorted(each.item.path.removeprefix(base) for each in found) == expected
    with pytest.raises(SigningError) as caught:
        arena.list_items()
    assert caught.value.code == "unlistable"
    return arena.verify("--require-list")


@attack
def file_among_the_private_keys(arena: Arena) -> Found:
    """Code, or a key with code around it, in the folder of the user's keys, which no list names."""
    arena.sim.add("user", HELLO, TEXT)
    keys = arena.sim.root("user") / "config/keys/signing"
    assert arena.verify("--strict", space="user").status == 0
    for name, data in (
        ("evil.py", TEXT.encode()),
        ("evil.pem", b"do evil\n" + (keys / "private_key.pem").read_bytes()),
    ):
        (keys / name).write_bytes(data)
        assert arena.verify("--strict", space="user") == Found(1, frozenset({"uncovered"}), frozenset({"ok"}))
        (keys / name).unlink()
    (keys / "evil").mkdir()
    shutil.copy(keys / "private_key.pem", keys / "evil")
    return arena.verify("--strict", space="user")
