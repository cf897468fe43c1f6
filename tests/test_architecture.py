"""The shape of the house: imports point down, third parties have one room, files are small, names mean one thing.

Everything is read with :mod:`ast`, so imports inside functions and under ``TYPE_CHECKING`` count too. Each rule is a
function from sources to findings; one test applies it to rye, another shows that it finds what it is for.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).resolve().parent.parent

LAYERS: Mapping[str, int] = {
    "errors": 0,
    "_files": 1,
    "_process": 1,
    "_report": 1,
    "_resources": 1,
    "_text": 1,
    "parameters": 1,
    "embedding": 2,
    "items": 2,
    "query": 2,
    "trust": 2,
    "spaces": 3,
    "index": 4,
    "keyring": 5,
    "search": 5,
    "verify": 6,
    "cluster": 6,
    "registry": 7,
    "__init__": 7,
    "surface": 8,
    "cli": 9,
    "mcp": 9,
    "web": 9,
    "__main__": 10,
}
"""Each room and its layer; a room imports itself and rooms of lower layers."""

STANDING = frozenset(LAYERS) - {"__main__", "__init__"}
"""The rooms that exist; the others have their place in the order and may be built."""

THIRD_PARTIES: Mapping[str, frozenset[str]] = {
    "Stemmer": frozenset({"index"}),
    "anyio": frozenset({"mcp", "surface", "web"}),
    "click": frozenset({"cli"}),
    "cryptography": frozenset({"trust"}),
    "jinja2": frozenset({"web"}),
    "lark": frozenset({"query"}),
    "markdown_it": frozenset({"web"}),
    "markupsafe": frozenset({"web"}),
    "mcp": frozenset({"mcp"}),
    "numpy": frozenset({"cluster", "embedding", "index", "search"}),
    "opensearchpy": frozenset({"cluster"}),
    "platformdirs": frozenset({"spaces"}),
    "pygments": frozenset({"web"}),
    "pyromark": frozenset({"items"}),
    "rapidfuzz": frozenset({"cluster", "search"}),
    "safetensors": frozenset({"embedding"}),
    "starlette": frozenset({"web"}),
    "tokenizers": frozenset({"embedding"}),
    "tree_sitter": frozenset({"items"}),
    "tree_sitter_bash": frozenset({"items"}),
    "tree_sitter_javascript": frozenset({"items"}),
    "tree_sitter_python": frozenset({"items"}),
    "tree_sitter_typescript": frozenset({"items"}),
    "uvicorn": frozenset({"surface"}),
    "watchfiles": frozenset({"registry"}),
    "whoosh": frozenset({"index"}),
    "yaml": frozenset({"items"}),
}
"""Import name of every third party and the rooms that may import it."""

IMPORT_NAMES: Mapping[str, str] = {
    "markdown-it-py": "markdown_it",
    "opensearch-py": "opensearchpy",
    "pystemmer": "Stemmer",
    "pyyaml": "yaml",
    "tree-sitter-bash": "tree_sitter_bash",
    "tree-sitter-javascript": "tree_sitter_javascript",
    "tree-sitter-python": "tree_sitter_python",
    "tree-sitter-typescript": "tree_sitter_typescript",
    "tree-sitter": "tree_sitter",
    "whoosh-reloaded": "whoosh",
}
"""Distributions whose import name differs."""

READ_ONLY = frozenset({"wordllama"})
"""Distributions whose files are read and whose code is not run."""

EXECUTING = frozenset(
    {"code", "codeop", "ctypes", "imp", "marshal", "multiprocessing", "pickle", "runpy", "shelve", "subprocess"}
)
"""Modules that can run what they read; rye reads strangers' files, so it imports none of them."""

EXCUSED: Mapping[tuple[str, str], str] = {
    ("rye/verify/git.py", "subprocess"): "asks git what the last commit holds; no shell, no word of a file",
    ("rye/_process.py", "ctypes"): "asks the C library of this process to give free memory back; loads no file",
    ("rye/_process.py", "multiprocessing"): "copies this process; nothing is sent that way",
    ("rye/cli/programs.py", "subprocess"): "starts the user's own editor and pager; no shell, no program of a checkout",
    ("rye/_process.py", "subprocess"): "starts this very Python on rye itself, to work on every core",
    ("rye/_process.py", "pickle"): "to and from helpers of its own; all that is sent is rye's own",
}
"""File and module of :data:`EXECUTING` that may be used there, and why."""

DYNAMIC_IMPORTS: Mapping[str, str] = {
    "rye/__init__.py": "the public names are loaded when first used",
    "rye/cli/commands/__init__.py": "a command is loaded when it is used",
    "rye/cli/commands/service.py": "rooms on one layer do not know each other; the server is loaded when it is started",
    "rye/mcp/tools/tool.py": "the class of an answer is loaded when the tools are listed",
}
"""Where importlib may be used, and why."""


Sources: TypeAlias = Mapping[str, ast.Module]
Rule: TypeAlias = Callable[[Sources], list[str]]


def read_sources() -> dict[str, ast.Module]:
    """Parse every Python file of the package, by its path from the root."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"), str(path))
        for path in sorted((ROOT / "rye").rglob("*.py"))
        if "_bundled" not in path.parts
    }


SOURCES = read_sources()
TOOLS = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"), str(path))
    for path in sorted((ROOT / "items" / "tools").rglob("*.py"))
}


def module_name(path: str) -> str:
    """Return the dotted name of the module at ``path``."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room that a module of rye belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(path: str, tree: ast.Module, known: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield every module that a file imports, and the line; ``from a import b`` is ``a.b`` where that is a module."""
    name = module_name(path)
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1] + ([base] if base else []))
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield (inner if inner in known else base), node.lineno


def edges(sources: Sources) -> list[tuple[str, str, str]]:
    """Return ``(place, importing module, imported module)`` for every import in the sources."""
    known = frozenset(map(module_name, sources))
    return [
        (f"{path}:{line}", module_name(path), target)
        for path, tree in sources.items()
        for target, line in imported(path, tree, known)
    ]


def upward(sources: Sources) -> list[str]:
    """Find imports of a room of the same or a higher layer, and rooms that have no layer."""
    found = []
    for place, source, target in edges(sources):
        if target.split(".")[0] != "rye" or source == "rye":
            continue  # the package's own face loads each public name from its room
        here, there = room_of(source), room_of(target)
        if here not in LAYERS or there not in LAYERS:
            found.append(f"{place}: no layer is set for {here if here not in LAYERS else there}")
        elif here != there and LAYERS[here] <= LAYERS[there]:
            found.append(f"{place}: {here} imports {there}")
    return found


def strangers(sources: Sources) -> list[str]:
    """Find third parties outside their room, and modules that can run what they read."""
    found = []
    for place, source, target in edges(sources):
        top = target.split(".")[0]
        if (place.partition(":")[0], top) in EXCUSED:
            continue
        if top in EXECUTING:
            found.append(f"{place}: {top} can run what it reads")
        elif top not in sys.stdlib_module_names | {"rye"} and room_of(source) not in THIRD_PARTIES.get(top, ()):
            found.append(f"{place}: {room_of(source)} imports {top}")
    return found


def cycles(sources: Sources) -> list[str]:
    """Find import cycles: what is left once, again and again, whatever imports or is imported by none of it is gone."""
    known = frozenset(map(module_name, sources))
    left = {(source, target) for _, source, target in edges(sources) if target in known and target != source}
    before = 0
    while before != len(left):
        before = len(left)
        importing, imported_ = {source for source, _ in left}, {target for _, target in left}
        left = {(source, target) for source, target in left if source in imported_ and target in importing}
    return sorted(f"{source} -> {target}" for source, target in left)


def prying(sources: Sources) -> list[str]:
    """Find imports of another room's private modules."""
    return [
        f"{place}: {target} is private to {room_of(target)}"
        for place, source, target in edges(sources)
        if target.startswith("rye.") and room_of(source) != room_of(target)
        if any(part.startswith("_") for part in target.split(".")[2:])
    ]


def called(node: ast.Call) -> str:
    """Return the dotted name of what is called, as far as it is plain."""
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def prints(sources: Sources) -> list[str]:
    """Find writing to a standard stream outside ``cli`` and the entry point, which speaks where ``cli`` cannot."""
    return [
        f"{path}:{node.lineno}"
        for path, tree in sources.items()
        if room_of(module_name(path)) not in {"cli", "__main__"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and called(node) in {"print", "sys.stdout.write", "sys.stderr.write", "sys.__stdout__.write"}
    ]


def executions(sources: Sources) -> list[str]:
    """Find calls that run text as code, start a process, or import by a name in a string."""
    running = re.compile(r"(builtins\.)?(eval|exec|compile|__import__)|os\.(system|popen|exec\w*|spawn\w*|startfile)")
    dynamic = re.compile(r"(importlib\.)?(import_module|reload)|importlib\.util\.\w+|.*\.(exec_module|load_module)")
    found = []
    for path, tree in sources.items():
        excused = any(path.startswith(place) for place in DYNAMIC_IMPORTS)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found += [
            f"{path}:{call.lineno}: {called(call)}"
            for call in calls
            if running.fullmatch(called(call)) or (dynamic.fullmatch(called(call)) and not excused)
        ]
    return found


BAD: Mapping[str, tuple[Rule, Mapping[str, str]]] = {
    "upward": (upward, {"rye/items/a.py": "from rye.index import build"}),
    "upward, in a function": (upward, {"rye/query/a.py": "def f():\n    import rye.search.score"}),
    "upward, for types only": (
        upward,
        {"rye/spaces/a.py": "if TYPE_CHECKING:\n    from rye.registry.registry import Registry"},
    ),
    "upward, relative": (upward, {"rye/items/a.py": "from ..index import build"}),
    "upward, the package's face": (upward, {"rye/search/a.py": "from rye import Registry"}),
    "sideways": (upward, {"rye/items/a.py": "from rye.trust.model import Verdict"}),
    "sideways on top": (upward, {"rye/cli/a.py": "import rye.mcp"}),
    "no layer": (upward, {"rye/attic/a.py": "import rye.errors"}),
    "third party": (strangers, {"rye/search/a.py": "import whoosh.index"}),
    "unknown third party": (strangers, {"rye/index/a.py": "from elsewhere import thing"}),
    "pickle": (strangers, {"rye/index/a.py": "def f():\n    import pickle"}),
    "cycle of two": (cycles, {"rye/items/a.py": "from rye.items.b import x", "rye/items/b.py": "from . import a"}),
    "cycle through a package": (
        cycles,
        {"rye/items/__init__.py": "from .a import x", "rye/items/a.py": "import rye.items"},
    ),
    "private": (prying, {"rye/search/a.py": "from rye.index._codec import Codec", "rye/index/_codec.py": ""}),
    "print": (prints, {"rye/registry/registry.py": "print('x')"}),
    "stdout": (prints, {"rye/index/a.py": "sys.stdout.write('x')"}),
    "eval": (executions, {"rye/items/a.py": "eval('1')"}),
    "shell": (executions, {"rye/spaces/a.py": "os.system('true')"}),
    "import by name": (executions, {"rye/items/a.py": "importlib.import_module(name)"}),
    "loading a file": (executions, {"rye/index/a.py": "spec.loader.exec_module(module)"}),
}


@pytest.mark.parametrize("name", BAD)
def test_each_rule_finds_what_it_is_for(name: str) -> None:
    """A made-up file that breaks a rule is found, so a rule that finds nothing in rye has looked."""
    rule, texts = BAD[name]
    assert rule({path: ast.parse(text) for path, text in texts.items()})


def test_the_sources_read_are_the_whole_package() -> None:
    """Every room that stands was read, and what it imports was seen."""
    rooms = {room_of(module_name(path)) for path in SOURCES}
    assert rooms >= STANDING
    folders = {path.name for path in (ROOT / "rye").iterdir() if path.is_dir()} - {"__pycache__", "_bundled"}
    assert folders <= LAYERS.keys()
    assert folders <= {path.name for path in (ROOT / "tests" / "unit").iterdir()}, "a room has no tests of its own"
    pairs = {(room_of(source), room_of(target)) for _, source, target in edges(SOURCES) if target.startswith("rye.")}
    assert pairs >= {
        ("items", "errors"),
        ("query", "errors"),
        ("trust", "errors"),
        ("index", "items"),
        ("search", "index"),
        ("search", "query"),
        ("registry", "search"),
        ("cli", "registry"),
        ("mcp", "registry"),
    }


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _ in BAD.values()), ids=lambda rule: rule.__name__)
def test_rye_breaks_no_rule(rule: Rule) -> None:
    """Imports point down and make no cycle, third parties stay in their room, names say one thing, and the rest."""
    assert rule(SOURCES) == []


def test_every_dependency_has_a_room_and_every_room_uses_it() -> None:
    """The table of third parties is the list of dependencies, and none is there for nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["semantic"]
    declared += project["optional-dependencies"]["cluster"]
    names = [re.split(r"[<>=~!\[ ;]", line)[0].lower() for line in declared]
    assert {IMPORT_NAMES.get(name, name) for name in names} == set(THIRD_PARTIES) | READ_ONLY
    used = {target.split(".")[0] for _, _, target in edges(SOURCES)}
    assert set(THIRD_PARTIES) - used == set()


def test_only_a_room_lists_what_it_exports() -> None:
    """``__all__`` stands in the ``__init__`` of a room; elsewhere the underscore alone says what is private."""
    listing = [
        path
        for path, tree in SOURCES.items()
        if any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" for node in tree.body)
    ]
    assert [path for path in listing if not path.endswith("__init__.py")] == []


def test_every_room_has_a_charter_with_an_example() -> None:
    """The docstring of each room says what it is for and shows it once."""
    inits = {path: tree for room in LAYERS if (tree := SOURCES.get(path := f"rye/{room}/__init__.py"))}
    assert len(inits) >= 6
    for path, tree in inits.items():
        charter = ast.get_docstring(tree) or ""
        assert re.search(r">>> |::\n\n    ", charter), f"{path} shows no example"


def test_the_package_shows_at_most_a_dozen_names() -> None:
    """``rye`` itself exports few names."""
    import rye

    assert 1 <= len(rye.__all__) <= 12
    assert all(hasattr(rye, name) for name in rye.__all__)


def test_importing_rye_is_cheap() -> None:
    """``import rye`` loads no third party: what a name needs is loaded when the name is used."""
    code = "import sys, rye; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(THIRD_PARTIES) == set()
    assert "rye" in done.stdout.split()


def test_tools_among_the_items_need_only_python_and_rye() -> None:
    """A bundled tool imports the standard library and rye's public face, nothing else."""
    assert len(TOOLS) >= 4
    public = {"rye", "rye.errors", "rye.query", "rye.verify.report"}
    for path, tree in TOOLS.items():
        for target, line in imported(path, tree, frozenset()):
            top = target.split(".")[0]
            assert target in public if top == "rye" else top in sys.stdlib_module_names, f"{path}:{line}: {target}"


def test_the_top_level_holds_nothing_else() -> None:
    """The root of the project holds exactly its few entries, apart from dot-files and what a build leaves."""
    left = {"__pycache__", "build", "dist", "htmlcov", "venv"}
    entries = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} - left
    assert entries == {"LICENSE", "README.md", "grammar", "items", "pyproject.toml", "rye", "tests"}
