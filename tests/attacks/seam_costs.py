"""Attacks on seams: work without bounds."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial

from tests.support.attacks import OTHER, TEXT, Arena
from tests.support.files import lay
from tests.support.seams import (
    EVIL,
    SKILL,
    TRUSTED,
    Answer,
    ask,
    row,
    run,
)
from tests.support.signed import EVE, NOTE, key


def cost(work: Callable[[], object]) -> float:
    """Return the seconds of this process that some work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def is_cheap(arena: Arena, attack: Callable[[], object]) -> bool:
    """Return whether verification takes not much longer after an attack, at least once in three times."""
    ask(arena)
    before = cost(lambda: ask(arena))
    attack()
    return any(cost(lambda: ask(arena)) <= 3 * before + 0.25 for _ in range(3))


@row()
def trust_file_with_one_key_of_many_parts(arena: Arena) -> bool:
    """TOML of 20 KB is one key with 10,000 dots."""
    return is_cheap(arena, lambda: lay(arena.sim.project, {f"{TRUSTED}/x.toml": f"a{'.a' * 10_000} = 1\n"}))


@row()
def trust_files_that_cannot_be_read(arena: Arena) -> bool:
    """Beside many keys lie as many files that cannot be read: each is compared with each."""
    for number in range(400):
        arena.sim.trust(key(str(number)), "project")
    unread = {f"{TRUSTED}/{number:064x}.toml": "x = 1\n" for number in range(400)}
    return is_cheap(arena, lambda: lay(arena.sim.project, unread))


@row()
def trust_files_of_one_key(arena: Arena) -> bool:
    """Each item of a key is judged by each of its files."""
    for number in range(150):
        arena.sim.add("project", f"tools/demo/x{number}.py", TEXT, EVE)
    data = arena.sim.trust(EVE, "project").read_bytes()
    files = {f"{TRUSTED}/x{number}.toml": data + b"# %d\n" % number for number in range(1100)}
    return is_cheap(arena, lambda: lay(arena.sim.project, files))


@row()
def skill_of_many_files_that_changed(arena: Arena) -> bool:
    """Each of its items compares all of its files with the list again."""
    skill = arena.sim.project / ".claude/skills/pdf"
    lay(skill, {"SKILL.md": SKILL} | {f"scripts/x{number}.py": "import json\n" for number in range(1000)})
    assert run("sign", str(skill), "--project", str(arena.sim.project))[0] == 0
    lay(skill, {"evil.txt": EVIL})
    return cost(lambda: arena.sim.registry().verify(space="project")) < 1.5


@row()
def query_with_many_conditions_of_nearness(arena: Arena) -> bool:
    """A query of 32 parts, each of them cheap, on a text of 33 KB."""
    arena.sim.write("project", "knowledge/demo/long.md", f"# Long\n\n{'alpha beta ' * 3000}\n")
    registry, query = arena.sim.registry(), " OR ".join(f"(alpha NEAR/{number} beta)" for number in range(1, 33))
    assert registry.search("alpha NEAR/3 beta", space="project").total == 1
    return cost(lambda: registry.search(query, space="project")) < 1.0


@row()
def commit_of_few_objects_and_many_names(arena: Arena) -> bool:
    """Each tree of a commit names another one ten times: eight objects are 400,000 files."""
    arena.sim.write("project", OTHER, TEXT)
    git = partial(subprocess.run, cwd=arena.sim.project, capture_output=True, check=True, text=True)
    git(["git", "init", "-q"])
    name = git(["git", "hash-object", "-w", "--stdin"], input="x").stdout.strip()
    for kind, count in (("100644 blob", 10), *[("040000 tree", 10)] * 4, ("040000 tree", 4)):
        rows = "".join(f"{kind} {name}\tx{number}\n" for number in range(count))
        name = git(["git", "mktree"], input=rows).stdout.strip()
    name = git(["git", "mktree"], input=f"040000 tree {name}\t.ai\n").stdout.strip()
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", name, "-m", "x"]
    return is_cheap(arena, lambda: git(["git", "update-ref", "HEAD", git(words).stdout.strip()]))


@row()
def text_of_60_kb_that_turns_direction(arena: Arena) -> bool:
    """An unsigned page holds 20,000 embeddings and a Hebrew letter: for each one, its whole line is read."""
    project = str(arena.sim.project)

    def look() -> None:
        ask(arena)
        run("search", "turned", "--project", project)
        run("show", "knowledge:demo/turned", "--project", project)

    arena.sim.write("project", "knowledge/demo/turned.md", "# Turned\n\nKind.\n")
    look()
    arena.sim.write("project", "knowledge/demo/turned.md", "# Turned\n\n" + "\u202a" * 20_000 + "\u05d0\n")
    return cost(look) < 3.0


@row("list-malformed")
def list_that_cannot_be_read_beside_many_items(arena: Arena) -> Answer:
    """Several processes verify the items, and are told of a list that is none."""
    lay(arena.sim.root("project"), {f"knowledge/demo/x{number}.md": NOTE for number in range(1_100)})
    arena.list.write_text("not a list\n")
    return ask(arena)
