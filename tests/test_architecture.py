"""The shape of the house: imports point down and make no cycle, and each third party has its rooms.

Files are read with :mod:`ast`, so imports inside functions and under ``TYPE_CHECKING`` count too.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LAYERS: Mapping[str, int] = {
    room: layer
    for layer, rooms in enumerate(
        (
            "errors",
            "_files _process _report _resources _text options",
            "embedding items query",
            "trust",
            "spaces",
            "index",
            "keyring search",
            "cluster verify",
            "registry __init__",
            "surface",
            "cli mcp web",
            "__main__",
        )
    )
    for room in rooms.split()
}
"""Each room and its layer; a room imports itself and rooms of lower layers."""

STEPS: Mapping[str, str] = {
    "index": "storage text segment build vectors",
    "search": "contract states matching scoring reading meaning page",
}
"""Room → its folders in the order of the steps; each imports those before it, and the files beside them all."""

THIRD_PARTIES: Mapping[str, str] = {
    "cli": "click",
    "cluster": "numpy opensearchpy rapidfuzz",
    "embedding": "numpy safetensors tokenizers",
    "index": "Stemmer numpy whoosh",
    "items": "pyromark yaml tree_sitter tree_sitter_bash tree_sitter_javascript tree_sitter_python"
    " tree_sitter_typescript",
    "mcp": "anyio mcp starlette",
    "query": "lark",
    "registry": "watchfiles",
    "search": "numpy rapidfuzz",
    "spaces": "platformdirs",
    "surface": "anyio uvicorn",
    "trust": "cryptography",
    "web": "anyio jinja2 markdown_it markupsafe pygments starlette",
}
"""Room → the import names of what it may import."""

RISKY = {"_process": "ctypes multiprocessing pickle subprocess", "cli": "subprocess", "spaces": "subprocess"}
"""Room → modules of the standard library that run or load what they are given, and that it may import all the same."""

RUNNING = {"code", "codeop", "ctypes", "imp", "marshal", "multiprocessing", "pickle", "runpy", "shelve", "subprocess"}
STANDARD = sys.stdlib_module_names - RUNNING

IMPORT_NAMES = {"pystemmer": "Stemmer", "pyyaml": "yaml", "whoosh-reloaded": "whoosh", "opensearch-py": "opensearchpy"}
READ_ONLY = {"wordllama"}
"""Distributions whose files are read and whose code is not run."""


@cache
def sources() -> dict[str, ast.Module]:
    """Return every module of the package by its dotted name; that of a package ends with ``.__init__``."""
    paths = [path for path in (ROOT / "rye").rglob("*.py") if "_bundled" not in path.parts]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in sorted(names.items())}


def imports(modules: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """Yield each module and a module that it imports; ``from a import b`` is ``a.b`` where that is a module."""
    known = {name.removesuffix(".__init__") for name in modules}
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((name, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                parents = name.split(".")[: -node.level] if node.level else []
                base = ".".join([*parents, *([node.module] if node.module else [])])
                inner = (f"{base}.{alias.name}" for alias in node.names)
                yield from ((name, each if each in known else base) for each in inner)


def room(module: str) -> str:
    """Return the room that a module of rye belongs to."""
    return [*module.split("."), "__init__"][1]


def step(module: str) -> int:
    """Return the number of the step in its room that a module belongs to; that of the last for files beside them."""
    folders = STEPS[room(module)].split()
    part = [*module.split("."), ""][2]
    return folders.index(part) if part in folders else len(folders)


def faults(modules: Mapping[str, ast.Module]) -> list[str]:
    """Return imports that point up, leave their room, or close a circle."""
    found, below = [], dict[str, set[str]]()
    for source, target in imports(modules):
        top, here = target.split(".")[0], room(source)
        if top == "rye":
            below.setdefault(source.removesuffix(".__init__"), set()).add(target)
            if source != "rye.__init__" and here != room(target) and LAYERS[here] <= LAYERS[room(target)]:
                found.append(f"{source} imports {target}, which is not below it")
            if here == room(target) and here in STEPS and step(target) > step(source):
                found.append(f"{source} imports {target}, a later step")
        elif top not in {*STANDARD, *THIRD_PARTIES.get(here, "").split(), *RISKY.get(here, "").split()}:
            found.append(f"{source} imports {top}")
    try:
        TopologicalSorter({name: targets - {name} for name, targets in below.items()}).prepare()
    except CycleError as error:
        found.append(" -> ".join(error.args[1]))
    return found


def test_imports_point_down_make_no_cycle_and_third_parties_stay_in_their_rooms() -> None:
    """Nothing in rye breaks a rule."""
    assert len(sources()) > 200
    assert faults(sources()) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("rye.items.a", "def f():\n    from rye.index import build"),
        ("rye.items.a", "from ..trust import model"),
        ("rye.cli.a", "import rye.mcp"),
        ("rye.search.a", "from rye import Registry"),
        ("rye.search.a", "import whoosh.index"),
        ("rye.index.a", "def f():\n    import pickle"),
        ("rye.index.a", "import marshal"),
        ("rye.index.a", "from elsewhere import thing"),
        ("rye.items.a", "import rye.items.b"),
    ],
)
def test_a_module_that_breaks_a_rule_is_reported(module: str, text: str) -> None:
    """Each made-up module breaks one rule, the last with one that imports it."""
    made_up = {module: ast.parse(text), "rye.items.b": ast.parse("import rye.items.a")}
    assert len(faults(made_up)) == 1


def test_every_dependency_has_a_room_and_every_room_uses_it() -> None:
    """The table of third parties is the list of dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["cluster"]
    names = {re.split(r"[<>=~!\[ ;]", line)[0].lower() for line in declared} - READ_ONLY
    allowed = {name for names in THIRD_PARTIES.values() for name in names.split()}
    assert {IMPORT_NAMES.get(name, re.sub("-py$", "", name).replace("-", "_")) for name in names} == allowed
    assert allowed - {target.split(".")[0] for _, target in imports(sources())} == set()
